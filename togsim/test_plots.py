"""Pictures and the figures in them."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

import togsim
from togsim import ConfigError, Result, Simulator, TogsimError, plots, timeline
from togsim.peaks import array_operations, peaks
from togsim.synthetic import TraceBuilder, gemm_trace
from togsim.timeline_picture import draw_timeline

pytestmark = pytest.mark.unit

MACHINE = {
    "num_cores": 2, "core_freq_mhz": 1000, "vpu_num_lanes": 8, "vpu_spad_size_kb_per_lane": 8, "num_systolic_array_per_core": 2,
    "dram_freq_mhz": 500, "dram_channels": 4, "icnt_freq_mhz": 1000, "icnt_injection_ports_per_core": 16,
}  # fmt: skip


@pytest.fixture(scope="module")
def result() -> Result:
    records, table, bases = gemm_trace(64, 16, 8)
    return Simulator(MACHINE).run_producer(togsim.synthetic_producer(records), bases, table, timeline=True)


@pytest.mark.req("G-17", "G-20")
def test_shares_of_cycles_add_up_and_busy_shares_are_shares(result: Result) -> None:
    shares = plots.cycle_shares(result)
    assert set(shares) == set(plots.CAUSES) == {"issue", "idle", *result.stalls}
    assert sum(shares.values()) == pytest.approx(1)
    assert all(0 < share <= 1 for name, share in plots.busy_shares(result).items() if name != "vector")


def test_peaks_and_operations_by_hand(result: Result) -> None:
    assert peaks(result.machine).gops == 2 * 64 * 4 * 1.0
    assert peaks(result.machine).gbps == 32 * 4 * 0.5
    assert peaks({**result.machine, "dram_type": "ddr4"}).gbps == 16 * 4 * 0.5
    assert peaks({**result.machine, "dram_type": "simple", "dram_req_size_byte": 64}).gbps == 64 * 4 * 0.5
    assert peaks(result.machine).ridge == 8
    # gemm_trace counts `tile` busy cycles for a block of tile rows, so the operations are those of the product, without padding
    assert array_operations(result) == 2 * 64**3


def test_all_pictures_are_written_and_the_same_every_time(result: Result, tmp_path: Path) -> None:
    vector = TraceBuilder().item().vector(0, (), (togsim.Range(0, 0, 0, 64),)).store(togsim.Range(0, 0, 0, 64), 64, tag=0).wait(0)
    other = Simulator(MACHINE).run_producer(vector.producer(), [4096], [(9, 0)])
    results = [dataclasses.replace(result, kernel="gemm"), dataclasses.replace(other, kernel="fill")]
    built = timeline.from_result(result)
    first, second = (plots.write_all(tmp_path / name, results, built, "svg") for name in "ab")
    assert [path.name for path in first] == [f"{name}.svg" for name in ("utilization", "roofline", "timeline")]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
        assert a.stat().st_size > 5_000
    plots.draw_utilization(tmp_path / "a.png", results)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_part_of_a_timeline_and_a_run_without_dram_counters(result: Result, tmp_path: Path) -> None:
    built = timeline.from_result(result)
    draw_timeline(tmp_path / "part.svg", built, 100, 300)
    bare = {"traceEvents": [event for event in built["traceEvents"] if event["ph"] in "MX"]}
    draw_timeline(tmp_path / "bare.svg", bare)
    assert (tmp_path / "part.svg").read_bytes() != (tmp_path / "bare.svg").read_bytes()


def test_what_cannot_be_drawn_is_an_error(result: Result, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="PNG or SVG"):
        plots.draw_utilization(tmp_path / "a.jpg", [result])
    other = dataclasses.replace(result, machine={**result.machine, "dram_channels": 8})
    with pytest.raises(TogsimError, match="one machine"):
        plots.draw_roofline(tmp_path / "a.svg", [result, other])


def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys\nsys.modules['matplotlib'] = None\n"
        "from togsim.plotting import figure\nfrom togsim import ConfigError\n"
        "try:\n    figure(1, 1)\nexcept ConfigError as error:\n    print(error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "pip install 'torchsim[plots]'", done.stderr


def test_a_result_comes_back_from_its_json(result: Result) -> None:
    again = Result.from_dict(result.to_dict())
    assert again.to_json() == result.to_json()
    assert again.table() == result.table()
