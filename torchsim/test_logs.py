"""Log artifacts (requirement F-3)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from torchsim.errors import ConfigError
from torchsim.logs import configure

_PROGRAM = """
import torch, torchsim
torchsim.set_machine("8x8")
function = lambda x, w: torch.relu((x @ w).view(4, 2, 9) * x[:4, :2, None])
torch.compile(function, backend="torchsim")(torch.randn(12, 8), torch.randn(8, 6))
"""


def _stderr(logs: str, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "TORCHSIM_LOGS": logs}, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.req("F-3")
@pytest.mark.system
def test_declined_fusion_says_why() -> None:
    assert "why_no_fuse" in _stderr("fusion", _PROGRAM)


def test_help_lists_artifacts() -> None:
    assert "fusion" in _stderr("help", "import torchsim")


def test_unknown_artifact_is_named() -> None:
    with pytest.raises(ConfigError, match="fusion"):
        configure("fussion")
