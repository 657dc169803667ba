"""The accuracy table: reference data, figures, and reproducibility of what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchsim.accuracy import __main__ as command
from torchsim.accuracy import picture, reference, summary, workloads
from torchsim.accuracy.measure import Measurement, measure
from torchsim.config import load_machine
from torchsim.errors import InvalidInputError

ROOT = Path(__file__).resolve().parents[2]


def made_up(workload: str, cycles: int) -> Measurement:
    (row,) = reference.select(workload)
    return Measurement(row, cycles, 1, 0.5, {"dram": 1}, 0.1)


@pytest.mark.unit
@pytest.mark.req("G-19")
def test_reference_rows_and_what_is_held_out() -> None:
    rows = reference.load()
    assert len(rows) == len({row.workload for row in rows}) == 22
    assert [row.workload for row in rows if not row.held_out] == [f"gemm_{n}x{n}x{n}" for n in (256, 512, 1024, 2048)]
    assert rows[0].others == {"mnpusim": 2426, "timeloop": 512, "maestro": 522, "scalesim_v3": 1020}
    assert next(row for row in rows if row.workload == "softmax_8192x8192").others == {}
    assert sum(workloads.covered(row.workload) for row in rows) == 10


@pytest.mark.unit
def test_rows_are_chosen_by_pattern_and_a_pattern_without_row_is_refused() -> None:
    assert [row.workload for row in reference.select("softmax_512x512, gemm_*512")] == ["gemm_512x512x512", "softmax_512x512"]
    with pytest.raises(InvalidInputError, match="no workload matches 'gem'"):
        reference.select("gem")
    assert command.main(["--rows", "nothing"]) == 2
    assert command.main(["--rows", "resnet18", "--machine", "nothing"]) == 2
    assert command.main(["--rows", "resnet18", "--docs", "."]) == 2


@pytest.mark.unit
@pytest.mark.req("G-19")
def test_errors_are_signed_and_means_are_over_the_rows_with_a_value() -> None:
    found = [made_up("gemm_256x256x256", 6202), made_up("gemm_512x512x512", 4745), made_up("softmax_512x512", 12902)]
    assert [one.error for one in found] == [1.0, -0.5, 0.0]
    assert summary.mean_error(summary.errors_of("torchsim", found)) == pytest.approx(0.5 / 3)
    assert summary.mean_absolute_error(summary.errors_of("torchsim", found)) == pytest.approx(0.5)
    scalesim = [1020 / 3101 - 1, 6128 / 9490 - 1]
    assert summary.errors_of("scalesim_v3", found) == pytest.approx(scalesim)
    lines = summary.text(found).splitlines()
    assert "6,202 (+100.0%)" in lines[1] and "4,745 (-50.0%)" in lines[2]
    assert lines[3].startswith("softmax_512x512 *")
    assert "[2 rows]" in next(line for line in lines if line.startswith("mean absolute error, all rows run (3)"))
    assert all(line.count("|") == 8 for line in summary.markdown(found).splitlines())


@pytest.mark.unit
def test_the_picture_is_the_same_every_time(tmp_path: Path) -> None:
    found = [made_up("gemm_2048x2048x2048", 300_000), made_up("softmax_512x512", 12_000)]
    for name in ("a.svg", "b.svg"):
        picture.draw(tmp_path / name, found, "tpuv3")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.svg").stat().st_size > 10_000


@pytest.mark.system
@pytest.mark.req("G-19")
def test_the_page_says_what_the_simulator_says() -> None:
    """One GEMM, one softmax, one layer norm; all of them with `make accuracy`."""
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| (\w+)(?: \\\*)? \| [\d,]+ \| ([\d,]+) \(", page, re.MULTILINE))
    assert set(shown) == {row.workload for row in reference.load() if workloads.covered(row.workload)}
    machine = load_machine("tpuv3")
    for workload in ("gemm_256x256x256", "softmax_512x512", "layernorm_512x768"):
        one = measure(*reference.select(workload), machine)
        assert shown[workload] == f"{one.cycles:,}", f"{workload}: run make accuracy"


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.req("G-19", "G-23")
def test_another_process_and_hash_seed_give_the_same_figures(tmp_path: Path) -> None:
    found: list[dict[str, object]] = []
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.json"
        environment = dict(os.environ, PYTHONHASHSEED=seed)
        arguments = ["--rows", "gemm_256x256x256,resnet18", "--json", str(out)]
        done = subprocess.run(
            [sys.executable, "-m", "torchsim.accuracy", *arguments], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "not covered by the compiler, not run: resnet18" in done.stdout
        data = json.loads(out.read_text())
        for row in data["rows"]:
            del row["cpu_seconds"]
        found.append(data)
    assert found[0] == found[1]
    assert [row["workload"] for row in found[0]["rows"]] == ["gemm_256x256x256"]  # type: ignore[attr-defined]


@pytest.mark.unit
def test_tpuv3_differs_from_the_128x128_machine_in_what_its_page_explains() -> None:
    tpu, plain = load_machine("tpuv3"), load_machine("128x128")
    different = {key for key, value in tpu.model_dump().items() if value != plain.model_dump()[key]}
    assert different == {"name", "dram_mapper", "core_spad_size_kb", "pipe_issue_width", "pipe_vector_div_cycles_per_element"}
    assert tpu.core_spad_size_kb == plain.vpu_num_lanes * plain.vpu_spad_size_kb_per_lane
