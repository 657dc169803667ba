"""A host that lacks something is told everything at once, before anything is downloaded or half built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def tools_only(tmp_path: Path) -> Path:
    """A folder for PATH that holds cmake, ninja and a shell, and no compiler and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("cmake", "ninja", "sh"):
        program = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        assert program, f"{name} is part of the development set-up"
        (folder / name).symlink_to(program)
    return folder


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run in the repository with nothing but the given environment."""
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_preflight_names_a_python_that_is_new_enough() -> None:
    answer = run(["sh", "tools/preflight.sh"], PATH=os.environ["PATH"], PYTHON=sys.executable)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == sys.executable


def test_preflight_names_all_that_is_missing_and_how_to_get_it(tools_only: Path) -> None:
    answer = run([str(tools_only / "sh"), "tools/preflight.sh"], PATH=str(tools_only))
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert "Python 3.11 to 3.14" in answer.stderr
    assert "a C++20 compiler" in answer.stderr
    assert "apt-get install python3 python3-venv python3-dev g++" in answer.stderr


def test_preflight_refuses_an_old_python_and_a_compiler_that_is_none(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    answer = run(["sh", "tools/preflight.sh"], PATH=os.environ["PATH"], PYTHON=str(old), CXX="no-such-compiler -O2")
    assert answer.returncode == 1
    assert f"tried: {old}" in answer.stderr
    assert "CXX names no-such-compiler, which is no program" in answer.stderr


@pytest.mark.parametrize(
    ("cxx", "found"),
    [("/nonexistent/g++ -O2", "CXX names /nonexistent/g++, which is no program"), ("", "no C++ compiler on PATH")],
)
def test_configuring_without_a_compiler_says_what_to_install(tools_only: Path, tmp_path: Path, cxx: str, found: str) -> None:
    build = tmp_path / "build"
    environment = {"PATH": str(tools_only)} | ({"CXX": cxx} if cxx else {})
    answer = run(["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"], **environment)
    assert answer.returncode != 0
    message = " ".join(answer.stderr.split())
    assert "torchsim needs a C++20 compiler" in message
    assert f"found: {found}" in message
    assert "apt-get install g++ python3-dev" in message
    assert not list(build.glob("**/*.so"))
    assert not (build / "build.ninja").exists()


def test_a_compiler_that_is_too_old_is_named(tools_only: Path, tmp_path: Path) -> None:
    script = tmp_path / "old.cmake"
    compiler = (ROOT / "cmake" / "Compiler.cmake").read_text(encoding="utf-8")
    check = compiler[compiler.index("if((CMAKE_CXX_COMPILER_ID") :]
    check = check[: check.index("endif()") + len("endif()")]
    failure = compiler[compiler.index("function(torchsim_no_compiler") : compiler.index("endfunction()") + len("endfunction()")]
    version = 'set(CMAKE_CXX_COMPILER_ID GNU)\nset(CMAKE_CXX_COMPILER_VERSION 10.2.1)\nset(CMAKE_CXX_COMPILER "/usr/bin/g++-10")'
    script.write_text(f"{failure}\n{version}\n{check}\n")
    answer = run([str(tools_only / "cmake"), "-P", str(script)], PATH=str(tools_only))
    assert answer.returncode != 0
    assert "found: GNU 10.2.1 at /usr/bin/g++-10" in answer.stderr
