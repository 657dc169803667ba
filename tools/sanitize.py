"""Build both native modules with the sanitizers, run their own tests on that build, then fuzz loader, decoder and core.

The sanitized modules never enter the source tree. The packages are copied to build/sanitize/tree, the modules are put
into that copy, and pytest runs there with the sanitizer's runtime loaded first. Leak checking is off: the interpreter
keeps memory until it exits, and that is not what this run looks for.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "sanitize"
TREE = BUILD / "tree"
PACKAGES = ("torchsim/iss", "togsim")
# `pip install -e` puts a finder before everything on sys.path; here the copy has to come first.
HERE_FIRST = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildInplaceFinder"]
"""
PYTEST = HERE_FIRST + "import pytest; raise SystemExit(pytest.main())"
FUZZ = HERE_FIRST + "from fuzz.images import main; raise SystemExit(main())"
COPIED = ("torchsim", "togsim", "oracles", "fuzz", "configs", "docs", "conftest.py", "pyproject.toml")


def build(jobs: int) -> None:
    """Configure and build into build/sanitize."""
    program = Path(sys.executable).parent / "cmake"
    cmake = str(program) if program.exists() else "cmake"
    ninja = Path(sys.executable).parent / "ninja"
    options = ["-DTORCHSIM_SANITIZE=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    if ninja.exists():
        options += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    subprocess.run([cmake, "-S", str(ROOT), "-B", str(BUILD), "--log-level=WARNING", *options], check=True)
    subprocess.run([cmake, "--build", str(BUILD), "--parallel", str(jobs)], check=True)


def stage() -> list[str]:
    """Copy the packages and put the sanitized modules into the copy; the packages that have one."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    unwanted = shutil.ignore_patterns("*.so", "__pycache__")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, TREE / name, ignore=unwanted)
        elif source.exists():
            shutil.copy(source, TREE / name)
    found: list[str] = []
    for package in PACKAGES:
        for module in (BUILD / "modules" / package).glob("_core*.so"):
            shutil.copy(module, TREE / package)
            found.append(package)
    return found


def runtime_libraries() -> str:
    """Value of LD_PRELOAD: the sanitizer runtime, then libstdc++, whose exceptions the runtime must find at start-up."""
    compiler = os.environ.get("CXX", "g++").split()
    paths: list[str] = []
    for name in ("libasan.so", "libstdc++.so.6"):
        answer = subprocess.run([*compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True)
        path = Path(answer.stdout.strip())
        if not path.is_absolute():
            raise SystemExit(f"{compiler[0]} has no {name}: the sanitizer run needs g++ with its sanitizer libraries")
        paths.append(str(path.resolve()))
    return ":".join(paths)


def main() -> int:
    """Exit code of pytest or of the fuzzing, or 1 when a package whose sources exist gave no module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fuzz-seconds", type=float, default=5.0, help="budget of fuzz.images after the tests")
    parser.add_argument("--fuzz-seed", type=int, default=1)
    parser.add_argument("pytest_arguments", nargs="*", help="after --, passed on")
    options = parser.parse_args()
    build(options.jobs)
    built = stage()
    expected = [package for package in PACKAGES if (ROOT / package / "CMakeLists.txt").exists()]
    if built != expected or not built:
        print(f"sanitizer build: expected modules of {expected}, found {built}", file=sys.stderr)
        return 1
    environment = dict(
        os.environ,
        LD_PRELOAD=runtime_libraries(),
        ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:halt_on_error=1",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
        PYTHONPATH=str(TREE),
        PYTHONMALLOC="malloc",
    )
    command = [
        sys.executable,
        "-c",
        PYTEST,
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
        *options.pytest_arguments,
        *built,
    ]
    tests = subprocess.run(command, cwd=TREE, env=environment, check=False).returncode
    if tests:
        return tests
    fuzzing = [sys.executable, "-c", FUZZ, "--seconds", str(options.fuzz_seconds), "--seed", str(options.fuzz_seed)]
    return subprocess.run(fuzzing, cwd=TREE, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
