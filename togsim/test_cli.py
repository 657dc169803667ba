"""``python -m togsim``: saved traces run without torch; damaged ones are refused, and nothing hangs or crashes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import togsim
from togsim import Result, Simulator, TraceError, isolated, saved, timeline
from togsim.records import records_of

pytestmark = pytest.mark.unit

MACHINE: dict[str, Any] = {
    "num_cores": 1, "core_freq_mhz": 940, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 8, "num_systolic_array_per_core": 2,
    "dram_freq_mhz": 940, "dram_channels": 16, "icnt_freq_mhz": 940, "icnt_injection_ports_per_core": 16,
}  # fmt: skip
TABLE = ((40, 0),)
BASES = (4096, 1 << 20)
GOOD = """
#include <stdlib.h>
#include "togsim_runtime.h"
static void tile(togsim_context* ctx, const int64_t* iv, int32_t n) {
  INSIDE;
  const int64_t dims[1] = {256}, one[1] = {1}, zero[1] = {0};
  const togsim_range place = {0, 0, 0, 128};
  ctx->api->dma(ctx, TOGSIM_LOAD, 0, 256 * iv[0], 1, dims, one, zero, dims, 32, 1, 0, 0, 0, &place, 1);
  ctx->api->memory_barrier(ctx, 0, 1);
  ctx->api->compute(ctx, 0, TOGSIM_VECTOR, &place, 1, &place, 1);
  ctx->api->dma(ctx, TOGSIM_STORE, 1, 256 * iv[0], 1, dims, one, zero, dims, 32, 1, 1, &place, 1, 0, 0);
  ctx->api->memory_barrier(ctx, 1, 1);
}
int32_t togsim_abi_version(void) { return VERSION; }
void togsim_kernel(togsim_context* ctx, const int64_t* shape, int32_t n) {
  BEFORE;
  for (int64_t i = 0; i < 6; ++i) ctx->api->dispatch(ctx, tile, &i, 1);
}
"""

INDIRECT = """
const togsim_range parts[2] = {{1, 128, 0, 64}, {2, 192, 0, 64}};
const int64_t extent[1] = {16}, unit[1] = {1}, first[1] = {0};
ctx->api->compute(ctx, 0, TOGSIM_VECTOR, 0, 0, parts, 1);
ctx->api->dma(ctx, TOGSIM_LOAD, 0, 0, 1, extent, unit, first, extent, 32, 0, 0, parts, 1, parts + 1, 1);
ctx->api->dma(ctx, TOGSIM_STORE, 1, 0, 1, extent, unit, first, extent, 32, 0, 0, parts, 2, 0, 0)
""".replace("\n", " ")
"""A gather and a scatter through the same index buffer."""

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile the producer above: ``build(version=.., before=.., inside=..)``."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    compiler = compiler if shutil.which(compiler) else "cc"
    made: dict[tuple[int, str, str], Path] = {}

    def compile_(version: int = togsim.ABI_VERSION, before: str = "(void)shape", inside: str = "(void)n") -> Path:
        key = (version, before, inside)
        if key not in made:
            folder = tmp_path_factory.mktemp("producer")
            (folder / "p.c").write_text(GOOD)
            include = Path(togsim.__file__).parent / "include"
            flags = [f"-I{include}", f"-DVERSION={version}", f"-DBEFORE={before}", f"-DINSIDE={inside}"]
            subprocess.run([compiler, "-shared", "-fPIC", *flags, "-o", "p.so", "p.c"], cwd=folder, check=True)
            made[key] = folder / "p.so"
        return made[key]

    return compile_


def write(folder: Path, library: Path) -> Path:
    saved.save(folder, library.read_bytes(), kernel="scale", origins=("mul",), machine=MACHINE, bases=BASES, cycle_table=TABLE)
    return folder


def simulate(folder: Path) -> Result:
    trace = saved.load(folder)
    return Simulator(trace.machine).run_producer(trace.producer(), trace.bases, trace.cycle_table)


def run(*arguments: str | Path, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *flags, "-m", "togsim", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.req("G-21")
def test_a_saved_trace_runs_without_torch_and_writes_everything(tmp_path: Path, build: Build) -> None:
    trace = write(tmp_path / "t", build())
    outputs = [tmp_path / name for name in ("r.json", "t.json", "log")]
    done = run(trace, "--json", outputs[0], "--timeline", outputs[1], "--trace-log", outputs[2], flags=("-X", "importtime"))
    assert done.returncode == 0, done.stderr
    imported = {line.rsplit("|", 1)[1].strip().split(".")[0] for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "togsim" in imported
    assert not imported & {"torch", "torchsim", "mlir", "llvmlite", "numpy", "matplotlib", "oracles"}
    expected = Simulator(MACHINE).run_producer(saved.load(trace).producer(), BASES, TABLE, trace_log=True)
    assert expected.cycles == simulate(trace).cycles
    assert f"Total execution cycles {expected.cycles:,}" in done.stdout
    assert "scale (mul)" in done.stdout
    written = Result.from_dict(json.loads(outputs[0].read_text()))
    assert (written.cycles, written.cores, written.channels, written.kernel) == (
        expected.cycles,
        expected.cores,
        expected.channels,
        "scale",
    )
    assert outputs[2].read_text() == expected.log
    assert json.loads(outputs[1].read_text()) == timeline.from_log(expected.log)
    rebuilt = tmp_path / "rebuilt.json"
    assert subprocess.run([sys.executable, "-m", "togsim", "timeline", outputs[2], rebuilt], check=False).returncode == 0
    assert rebuilt.read_bytes() == outputs[1].read_bytes()


@pytest.mark.req("G-21")
@pytest.mark.parametrize("form", ["t", "t/trace.json", "t/producer.so"])
def test_a_trace_is_named_by_its_folder_or_a_file_of_it(form: str, tmp_path: Path, build: Build) -> None:
    write(tmp_path / "t", build())
    assert len(records_of(saved.load(tmp_path / form).producer())) == 42


@pytest.mark.req("G-21")
def test_another_machine_may_differ_in_everything_but_the_lanes(tmp_path: Path, build: Build) -> None:
    trace = write(tmp_path / "t", build())
    other = tmp_path / "other.yaml"
    other.write_text(json.dumps({**MACHINE, "num_cores": 2}))
    done = run(trace, "--machine", other)
    assert (done.returncode, "Core 1: 3 work-items" in done.stdout) == (0, True)
    other.write_text(json.dumps({**MACHINE, "vpu_num_lanes": 16}))
    done = run(trace, "--machine", other)
    assert (done.returncode, "another number of lanes" in done.stderr) == (2, True)
    done = run(trace, "--machine", "9x9")
    assert (done.returncode, "unknown machine" in done.stderr) == (2, True)


@pytest.mark.req("G-21")
def test_a_bare_producer_needs_its_table_and_addresses(tmp_path: Path, build: Build) -> None:
    table, machine = tmp_path / "table.tsv", tmp_path / "m.yaml"
    table.write_text("40\t0\n# origins: mul\n")
    machine.write_text(json.dumps(MACHINE))
    bare = ("--cycle-table", table, "--machine", machine)
    done = run(build(), *bare, "--bases", "0x1000,0x100000")
    expected = Simulator(MACHINE).run(*togsim.load_shared_object(build()), [], BASES, TABLE)
    assert done.returncode == 0, done.stderr
    assert f"Total execution cycles {expected.cycles:,}" in done.stdout
    assert "unknown tensor argument" in run(build(), *bare).stderr
    assert "--cycle-table, --bases and --machine" in run(build()).stderr
    table.write_text("40 0 0\n")
    assert f"{table} line 1" in run(build(), *bare).stderr


@pytest.mark.req("G-21", "D-4")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update(abi_version=12), "stale saved trace"),
        (lambda data: data.update(format="togsim-trace 0"), "not the description"),
        (lambda data: data.pop("cycle_table"), "bad description"),
        (lambda data: data.update(cycle_table=[[1]]), "bad description"),
        (lambda data: data.update(cycle_table=[[1, 2.5]]), "bad description"),
        (lambda data: data.update(cycle_table=[[1, 2]]), "impossible entry"),
        (lambda data: data.update(bases=[-1, 0]), "bad description"),
        (lambda data: data.update(bases=[4096]), "unknown tensor argument"),
        (lambda data: data.update(producer="../t/producer.so"), "bad description"),
        (lambda data: data.update(producer="other.so"), "cannot read"),
        (lambda data: data.update(machine={}), "bad description"),
        (lambda data: data["machine"].update(dram_channels=0), "out of range"),
        (lambda data: data["machine"].pop("dram_channels"), "missing machine key"),
    ],
)
def test_a_bad_description_is_refused(change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path, build: Build) -> None:
    trace = write(tmp_path / "t", build())
    description = trace / saved.DESCRIPTION
    data = json.loads(description.read_text())
    change(data)
    description.write_text(json.dumps(data))
    with pytest.raises(togsim.TogsimError, match=message):
        simulate(trace)


@pytest.mark.req("G-21")
def test_a_description_that_is_no_json_and_a_missing_folder(tmp_path: Path, build: Build) -> None:
    trace = write(tmp_path / "t", build())
    text = (trace / saved.DESCRIPTION).read_bytes()
    for size in range(0, len(text) - 2, 37):
        (trace / saved.DESCRIPTION).write_bytes(text[:size])
        with pytest.raises(TraceError, match="no JSON"):
            saved.load(trace)
    assert run(tmp_path / "nothing").returncode == 1
    assert "no saved trace here" in run(tmp_path / "nothing").stderr


@pytest.mark.req("G-21")
def test_every_truncated_or_altered_producer_is_refused_before_it_is_loaded(tmp_path: Path, build: Build) -> None:
    trace = write(tmp_path / "t", build())
    library = trace / saved.PRODUCER
    whole = library.read_bytes()
    for size in range(0, len(whole), 499):
        library.write_bytes(whole[:size])
        with pytest.raises(TraceError, match="truncated or altered"):
            saved.load(trace)
        with pytest.raises(TraceError, match=r"truncated|not a trace producer|damaged"):
            saved.load_checked(library)
    library.write_bytes(whole[:800] + bytes([whole[800] ^ 1]) + whole[801:])
    with pytest.raises(TraceError, match="truncated or altered"):
        saved.load(trace)


@pytest.mark.req("G-21", "L-8")
@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"version": 12}, "stale trace producer"),
        ({"before": "for (;;) {}"}, "did not end in time"),
        ({"inside": "for (;;) {}"}, "did not end in time"),
        ({"before": "*(volatile int*)0 = 1"}, "signal SIG"),
        ({"before": "ctx->api->compute(ctx, 0, 0, 0, 0, 0, 0)"}, "called outside a work-item"),
        ({"before": "for (;;) ctx->api->compute(ctx, 0, 0, 0, 0, 0, 0)"}, "called outside a work-item"),
        ({"before": "for (int64_t i = 0;;) ctx->api->dispatch(ctx, tile, &i, 1)"}, "too many work-items"),
        ({"inside": "for (;;) ctx->api->compute(ctx, 0, TOGSIM_VECTOR, 0, 0, 0, 0)"}, "too many records in a work-item"),
        ({"inside": "for (;;) ctx->api->memory_barrier(ctx, 0, 0)"}, "wait without transfer"),
        ({"before": "exit(0)"}, "ended without a result"),
        ({"inside": "exit(3)"}, "ended without a result"),
    ],
)
def test_a_producer_that_is_stale_hangs_crashes_or_breaks_the_rules(
    choices: dict[str, Any], message: str, tmp_path: Path, build: Build
) -> None:
    """From the command line and from a library, each in a process of its own; the error has all its parts."""
    trace = write(tmp_path / "t", build(**choices))
    limit = 1 if "in time" in message else 60
    done = run(trace, "--timeout", str(limit), "--max-records", "5000")
    assert done.returncode == 1
    assert message in done.stderr
    with pytest.raises(TraceError, match=message) as caught:
        isolated.simulate(trace, timeout_seconds=limit, max_records=5000)
    assert all((caught.value.expected, caught.value.found, caught.value.where, caught.value.hint))


@pytest.mark.req("G-18", "G-21")
def test_a_gather_and_a_scatter_without_index_values_are_announced(tmp_path: Path, build: Build) -> None:
    trace = write(tmp_path / "t", build(inside=INDIRECT))
    done = run(trace, "--json", tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("warning: 12 of 12 indirect transfers have no index values")
    assert "12 indirect transfers: addresses none: timed as dense (approximate)" in done.stdout
    assert "12 of them without index values" in done.stdout
    data = json.loads((tmp_path / "r.json").read_text())
    assert (data["indirect_transfers"], data["unindexed_transfers"], data["approximate"]) == (12, 12, ["indirect"])
    assert run(write(tmp_path / "u", build())).stderr == ""


@pytest.mark.req("G-21")
def test_a_process_of_its_own_gives_the_same_result_and_the_same_errors(tmp_path: Path, build: Build) -> None:
    trace = write(tmp_path / "t", build())
    assert isolated.simulate(trace) == simulate(trace)
    assert isolated.simulate(trace, {**MACHINE, "num_cores": 2}, timeout_seconds=0, max_records=6).cores[1].work_items == 3
    with pytest.raises(TraceError, match="too many work-items"):
        isolated.simulate(trace, max_records=5)
    with pytest.raises(togsim.ConfigError, match="another number of lanes"):
        isolated.simulate(trace, {**MACHINE, "vpu_num_lanes": 16})
    with pytest.raises(TraceError, match="no saved trace here"):
        isolated.simulate(tmp_path / "nothing")


def test_other_shared_objects_and_other_files_are_no_producers(tmp_path: Path) -> None:
    from togsim import _core

    for library in (Path(_core.__file__), Path(__file__), Path(os.devnull)):
        with pytest.raises(TraceError, match="not a trace producer"):
            saved.load_checked(library)
