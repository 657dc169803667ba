"""Which build of the native module runs.

There are two of one set of sources: ``_core`` for every processor of the family, and ``_core_x86_64_v3`` for x86-64 processors of
level 3 (AVX2, BMI: Intel Haswell, AMD Excavator and later). They give the same results; the second is faster, and taken where it is
there and can run. ``TOGSIM_NATIVE=portable`` or ``TOGSIM_NATIVE=x86-64-v3`` decides otherwise, before ``togsim`` is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import sys
from pathlib import Path
from types import ModuleType

from togsim.errors import ConfigError

VARIABLE = "TOGSIM_NATIVE"
PORTABLE = "portable"
LEVEL3 = "x86-64-v3"
_MODULES = {PORTABLE: "togsim._core", LEVEL3: "togsim._core_x86_64_v3"}
# What the level adds to the two below it (System V ABI for x86-64, "Micro-Architecture Levels"), as Linux names it.
_LEVEL3_FLAGS = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})


def processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Features of the first processor; empty where there is no such file."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "flags":
            return frozenset(value.split())
    return frozenset()


def choose(wanted: str, *, machine: str, flags: frozenset[str], level3_built: bool) -> str:
    """The build to load. ``wanted``: value of ``TOGSIM_NATIVE``, empty for the best one. Raises ConfigError if it cannot run here."""
    missing = sorted(_LEVEL3_FLAGS - flags) if machine in ("x86_64", "AMD64") else [f"an x86-64 processor, not {machine}"]
    if wanted == "":
        return LEVEL3 if level3_built and not missing else PORTABLE
    if wanted not in _MODULES:
        raise ConfigError(
            "unknown build of the native module", expected=f"{PORTABLE} or {LEVEL3}", found=wanted, where=VARIABLE,
            hint="leave it unset to get the best one",
        )  # fmt: skip
    if wanted == LEVEL3 and (missing or not level3_built):
        raise ConfigError(
            "the build cannot run here", expected="a processor of that level, and a compiler that knew it",
            found=f"missing: {', '.join(missing) or 'the module; build it again'}", where=VARIABLE,
            hint="leave it unset to get the best one",
        )  # fmt: skip
    return wanted


def load() -> ModuleType:
    """Import the build that this process uses, as ``togsim._core`` from now on."""
    level3_built = importlib.util.find_spec(_MODULES[LEVEL3]) is not None
    build = choose(os.environ.get(VARIABLE, ""), machine=platform.machine(), flags=processor_flags(), level3_built=level3_built)
    module = importlib.import_module(_MODULES[build])
    sys.modules[_MODULES[PORTABLE]] = module
    setattr(sys.modules["togsim"], "_core", module)  # noqa: B010 (not a name that type checkers should see twice)
    return module
