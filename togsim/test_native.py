"""Two builds of the native module: which one is loaded, and that nobody can tell them apart but by the clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from togsim import ConfigError, Simulator, native, synthetic_producer
from togsim.dram_traces import TRANSACTION_BYTES, channel_config, stream
from togsim.synthetic import gemm_trace

LEVEL3_FLAGS = frozenset("fpu avx avx2 bmi1 bmi2 f16c fma abm movbe xsave".split())

MACHINE: dict[str, Any] = {
    "num_cores": 2, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 32, "num_systolic_array_per_core": 2,
    "dram_type": "hbm2", "dram_freq_mhz": 1000, "dram_channels": 4, "icnt_freq_mhz": 1200, "icnt_injection_ports_per_core": 4,
}  # fmt: skip


def choose(wanted: str = "", machine: str = "x86_64", flags: frozenset[str] = LEVEL3_FLAGS, built: bool = True) -> str:
    return native.choose(wanted, machine=machine, flags=flags, level3_built=built)


@pytest.mark.unit
def test_the_best_build_that_can_run_is_taken() -> None:
    assert choose() == native.LEVEL3
    assert choose(built=False) == native.PORTABLE
    assert choose(machine="aarch64") == native.PORTABLE
    for flag in LEVEL3_FLAGS - {"fpu"}:
        assert choose(flags=LEVEL3_FLAGS - {flag}) == native.PORTABLE
    assert choose("portable") == native.PORTABLE
    assert choose("x86-64-v3") == native.LEVEL3


@pytest.mark.unit
def test_what_cannot_run_is_refused() -> None:
    with pytest.raises(ConfigError, match="missing: avx2"):
        choose("x86-64-v3", flags=LEVEL3_FLAGS - {"avx2"})
    with pytest.raises(ConfigError, match="build it again"):
        choose("x86-64-v3", built=False)
    with pytest.raises(ConfigError, match="not aarch64"):
        choose("x86-64-v3", machine="aarch64")
    with pytest.raises(ConfigError, match="portable or x86-64-v3"):
        choose("avx512")


@pytest.mark.unit
def test_processor_flags(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: A: B\nflags\t\t: fpu avx2 bmi1\n\nprocessor\t: 1\nflags\t\t: fpu\n")
    assert native.processor_flags(info) == {"fpu", "avx2", "bmi1"}
    assert native.processor_flags(tmp_path / "none") == frozenset()


def figures() -> dict[str, Any]:
    """What this process' build finds, in every model of DRAM and interconnect."""
    from togsim import _core

    records, table, bases = gemm_trace(128, 32, 8)
    found: dict[str, Any] = {"module": Path(str(_core.__file__)).name}
    for icnt in ("simple", "crossbar", "mesh"):
        for dram in ("hbm2", "ddr4"):
            for cores in (1, 2):
                memory = {"dram_type": dram, "dram_req_size_byte": TRANSACTION_BYTES[dram]}
                machine = {**MACHINE, **memory, "icnt_type": icnt, "num_cores": cores}
                result = Simulator(machine).run_producer(synthetic_producer(records), bases, table)
                found[f"{icnt} {dram} {cores}"] = json.loads(result.to_json())
    for name in ("seq", "rand", "randmix"):
        run = _core.dram_channel_run(channel_config("hbm2", "MOP4CLXOR"), stream(name, 32, 4000), False, 40)
        found[f"channel {name}"] = json.loads(json.dumps(run))
    return found


def figures_of(build: str) -> dict[str, Any]:
    code = "import json, togsim.test_native as t; print(json.dumps(t.figures()))"
    environment = {**os.environ, native.VARIABLE: build}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.mark.req("G-14")
def test_both_builds_find_the_same() -> None:
    """Cycles, counters and every completion, in processes of their own: a process has one build."""
    if native.choose("", machine=native.platform.machine(), flags=native.processor_flags(), level3_built=True) != native.LEVEL3:
        pytest.skip("this processor runs the portable build only")
    if native.importlib.util.find_spec("togsim._core_x86_64_v3") is None:
        pytest.skip("only the portable module was built, as for the sanitizers")
    portable, level3 = figures_of(native.PORTABLE), figures_of(native.LEVEL3)
    assert portable.pop("module").startswith("_core.")
    assert level3.pop("module").startswith("_core_x86_64_v3.")
    assert portable == level3
