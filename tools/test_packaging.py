"""What is shipped: a wheel holds both simulators, the machine files and the ABI header, and no tests or build files."""

from __future__ import annotations

import platform
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from tools import sanitize

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(1200)
def test_a_wheel_has_what_it_needs_and_nothing_else(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("torchsim-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {name.split(".cpython")[0] for name in names if name.endswith(".so")}
    level3 = {"togsim/_core_x86_64_v3"} if platform.machine() in ("x86_64", "AMD64") else set[str]()
    assert modules == {"torchsim/iss/_core", "togsim/_core"} | level3
    assert {f"torchsim/configs/{path.name}" for path in (ROOT / "configs").glob("*.yaml")} <= names
    assert {"togsim/include/togsim_runtime.h", "oracles/plugin.py", "fuzz/__init__.py"} <= names
    unwanted = [name for name in names if "/test_" in name or "/csrc/" in name or "CMake" in name or "__pycache__" in name]
    assert unwanted == []


@pytest.mark.unit
def test_every_dependency_is_pinned_exactly() -> None:
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    for requirement in [*PROJECT["dependencies"], *(item for extra in extras.values() for item in extra)]:
        assert "==" in requirement or requirement.startswith("torchsim["), requirement


@pytest.mark.unit
def test_the_environment_is_the_pinned_one() -> None:
    for requirement in PROJECT["dependencies"]:
        name, pinned = requirement.split("==")
        assert version(name).split("+")[0] == pinned


@pytest.mark.unit
def test_sanitized_modules_go_into_a_copy_of_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, build = tmp_path / "root", tmp_path / "build"
    for name in ("togsim/_core.plain.so", "togsim/model.py", "torchsim/iss/__init__.py", "conftest.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("plain")
    module = build / "modules" / "togsim" / "_core.sanitized.so"
    module.parent.mkdir(parents=True)
    module.write_text("sanitized")
    for name, value in {"ROOT": root, "BUILD": build, "TREE": build / "tree"}.items():
        monkeypatch.setattr(sanitize, name, value)
    assert sanitize.stage() == ["togsim"]
    copied = {str(path.relative_to(build / "tree")) for path in (build / "tree").rglob("*") if path.is_file()}
    assert copied == {"togsim/_core.sanitized.so", "togsim/model.py", "torchsim/iss/__init__.py", "conftest.py"}
    assert not list(root.rglob("*.sanitized.so"))
