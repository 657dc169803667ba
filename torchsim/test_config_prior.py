"""Machine files written for PyTorchSim: what loads, what is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from torchsim.config import Machine, load_machine, machine_from_mapping
from torchsim.config_prior import PRIOR_KEYS, RENAMED, translate
from torchsim.errors import ConfigError
from torchsim.test_config import MINIMAL

pytestmark = [pytest.mark.unit, pytest.mark.req("D-4")]

# Every key that a single-core file of PyTorchSim may carry, with values that ask for nothing beyond a plain core.
TPU_LIKE: dict[str, Any] = {
    "num_cores": 1,
    "core_type": ["ws_mesh"],
    "core_freq_mhz": 940,
    "core_stats_print_period_cycles": 10000,
    "num_systolic_array_per_core": 2,
    "core_spad_size_kb": 16384,
    "sa_weight_buffer_depth": 2,
    "tpu_systolic_queue_entries": 128,
    "num_stonne_per_core": 1,
    "num_stonne_port": 1,
    "vpu_num_lanes": 128,
    "vpu_spad_size_kb_per_lane": 128,
    "vpu_vector_length_bits": 256,
    "dram_type": "ramulator2",
    "dram_freq_mhz": 940,
    "dram_channels": 16,
    "dram_num_burst_length": 2,
    "dram_num_partitions": 1,
    "dram_stats_print_period_cycles": 10000,
    "ramulator_config_path": "ramulator/HBM2_somewhere.yaml",
    "icnt_type": "simple",
    "icnt_latency_cycles": 10,
    "icnt_freq_mhz": 940,
    "icnt_injection_ports_per_core": 16,
    "icnt_stats_print_period_cycles": 0,
    "l2d_type": "nocache",
    "l2d_hit_latency": 1,
    "scheduler": "simple",
    "num_partition": 1,
    "partition": {"core_0": 0},
    "pytorchsim_functional_mode": 1,
    "pytorchsim_timing_mode": 0,
    "pytorchsim_functional_verify_per_kernel": 0,
    "codegen_mapping_strategy": "heuristic",
    "codegen_external_mapping_file": "",
    "codegen_autotune_max_retry": 10,
    "codegen_autotune_template_topk": 4,
    "codegen_autotune_wall_slack_sec": 15,
    "codegen_compiler_optimization": ["fusion", "prologue", "single_batch_conv", "multi_tile_conv"],
}


def test_a_full_file_loads(tmp_path: Path) -> None:
    file = tmp_path / "tpu.yml"
    file.write_text(yaml.safe_dump(TPU_LIKE))
    machine = load_machine(file)
    assert (machine.lanes, machine.core_spad_size_kb, machine.sa_queue_rows) == (128, 16384, 128)
    assert (machine.dram_type, machine.dram_req_size_byte) == ("hbm2", 32)
    assert (machine.pytorchsim_functional_mode, machine.pytorchsim_timing_mode) == (True, False)
    assert machine.codegen_compiler_optimization == ("fusion", "prologue")


@pytest.mark.req("G-2", "D-4")
def test_partitions_load() -> None:
    machine = machine_from_mapping({**TPU_LIKE, "num_cores": 2, "num_partition": 2, "partition": {"core_0": 0, "core_1": 1}})
    assert (machine.num_partition, machine.partition) == (2, {"core_0": 0, "core_1": 1})


def test_tables_and_fields_do_not_overlap() -> None:
    assert not set(PRIOR_KEYS) & set(Machine.model_fields)
    assert not set(RENAMED) & set(Machine.model_fields)
    assert set(RENAMED.values()) <= set(Machine.model_fields)


def test_a_file_in_torchsims_own_keys_is_left_alone() -> None:
    assert translate(MINIMAL) == MINIMAL


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core_type", ["ws_mesh", "stonne"]),
        ("dram_num_partitions", 2),
        ("dram_bandwidth_gbps_per_channel", 32),
        ("dram_bandwidth_gbps_total", 900),
        ("icnt_type", "booksim2"),
        ("l2d_type", "datacache"),
        ("scheduler", "time_multiplex"),
        ("codegen_mapping_strategy", "autotune"),
        ("codegen_external_mapping_file", "tiles.json"),
    ],
)
def test_what_torchsim_lacks_is_refused_by_name(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match="is not supported yet") as caught:
        machine_from_mapping({**TPU_LIKE, key: value})
    assert str(caught.value).startswith(f"{key}: {value!r}")


def test_two_names_of_one_key_are_refused() -> None:
    with pytest.raises(ConfigError, match="two names of one key"):
        machine_from_mapping({**TPU_LIKE, "sa_queue_rows": 256})


# ------------------------------------------------------------------------------------------------ the Ramulator file
@pytest.mark.parametrize(
    ("content", "dram_type", "granule", "mapper"),
    [
        ({"MemorySystem": {"DRAM": {"impl": "DDR4"}, "AddrMapper": {"impl": "RoBaRaCoCh"}}}, "ddr4", 64, "RoBaRaCoCh"),
        ({"memory_system": {"controllers": [{"addr_mapper": {"impl": "MOP4CLXOR"}, "dram": {"impl": "HBM2"}}]}}, "hbm2", 32, "MOP4CLXOR"),
    ],
)
def test_standard_and_mapper_come_from_the_file(tmp_path: Path, content: Any, dram_type: str, granule: int, mapper: str) -> None:
    (tmp_path / "memory.yaml").write_text(yaml.safe_dump(content))
    keys = {**MINIMAL, "dram_type": "ramulator2", "ramulator_config_path": "memory.yaml"}
    machine = machine_from_mapping(keys, where=str(tmp_path / "machine.yaml"))
    assert (machine.dram_type, machine.dram_req_size_byte, machine.dram_mapper) == (dram_type, granule, mapper)


def test_keys_of_the_machine_file_win_over_the_ramulator_file() -> None:
    keys = {**MINIMAL, "dram_type": "ramulator2", "ramulator_config_path": "HBM2.yaml", "dram_req_size_byte": 64}
    assert machine_from_mapping(keys).dram_req_size_byte == 64


@pytest.mark.parametrize(
    ("path", "message"),
    [(None, "without ramulator_config_path"), ("LPDDR5X.yaml", "LPDDR5X.yaml: DRAM standard unknown is not supported yet")],
)
def test_a_standard_that_cannot_be_told(path: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        machine_from_mapping({**MINIMAL, "dram_type": "ramulator2", "ramulator_config_path": path})
    assert "hbm2 or ddr4" in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [("{", "cannot be read"), ("DRAM: {impl: HBM3}", "DRAM standard HBM3 is not supported yet")])
def test_a_ramulator_file_of_no_use(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "HBM2.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        machine_from_mapping({**MINIMAL, "dram_type": "ramulator2", "ramulator_config_path": "HBM2.yaml"}, where=str(tmp_path / "m.yaml"))
