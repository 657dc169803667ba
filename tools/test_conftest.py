"""The Hypothesis profiles and --examples-factor of the repository's conftest.py, run as a user would."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import pytest
from hypothesis import given, settings, strategies as st

drawn = []

class TestInClass:
    @pytest.mark.parametrize("twice", [1, 2])
    @settings(max_examples=7, deadline=None)
    @given(value=st.integers())
    def test_draw(self, twice, value):
        drawn.append(value)

def test_show():
    print("DRAWN", len(drawn), drawn)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one property test with this repository's conftest.py and pytest settings."""
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "test_it.py").write_text(PROGRAM)
    return tmp_path


def drawn(project: Path, *options: str) -> str:
    """What the property test drew."""
    command = [sys.executable, "-m", "pytest", "-s", "-q", "-p", "no:oracles.plugin", "-p", "no:xdist", *options, "test_it.py"]
    answer = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return next(line[line.index("DRAWN") :] for line in answer.stdout.splitlines() if "DRAWN" in line)


def test_the_default_profile_draws_the_same_examples_every_time(project: Path) -> None:
    first = drawn(project)
    assert first.startswith("DRAWN 14 ")
    assert drawn(project) == first


def test_the_factor_multiplies_each_test_once(project: Path) -> None:
    assert drawn(project, "--examples-factor=3").startswith("DRAWN 42 ")


def test_the_nightly_profile_draws_fresh_examples(project: Path) -> None:
    nightly = "--hypothesis-profile=nightly"
    assert drawn(project, nightly) != drawn(project, nightly)
