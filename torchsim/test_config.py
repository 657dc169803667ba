"""Machine files: the four that ship, every way in which one can be wrong, and those written for PyTorchSim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from torchsim.config import FUSION_KINDS, Machine, configs_dir, load_machine, machine_from_mapping, machine_names, machine_schema
from torchsim.errors import ConfigError

pytestmark = [pytest.mark.unit, pytest.mark.req("D-4")]

MINIMAL: dict[str, Any] = {
    "num_cores": 1,
    "core_freq_mhz": 940,
    "vpu_num_lanes": 8,
    "vpu_spad_size_kb_per_lane": 32,
    "dram_freq_mhz": 940,
    "dram_channels": 16,
    "icnt_freq_mhz": 940,
}


def refused(changes: dict[Any, Any]) -> str:
    """The message of the ConfigError that the minimal machine with these changes raises."""
    with pytest.raises(ConfigError) as caught:
        machine_from_mapping({**MINIMAL, **changes}, where="some.yaml")
    assert caught.value.where == "some.yaml"
    return str(caught.value)


# ------------------------------------------------------------------------------------------------ machines that ship
@pytest.mark.parametrize(
    ("name", "lanes", "spad_kib", "budget"),
    [("128x128", 128, 128, 65536), ("32x32", 32, 32, 16384), ("8x8", 8, 32, 16384)],
)
def test_the_three_tpu_like_machines(name: str, lanes: int, spad_kib: int, budget: int) -> None:
    machine = load_machine(name)
    assert machine.name == name
    assert machine.lanes == lanes
    assert machine.spad_bytes_per_lane == spad_kib * 1024
    assert machine.dispatch_budget_bytes == budget
    assert (machine.num_cores, machine.num_systolic_array_per_core, machine.sa_weight_buffer_depth) == (1, 2, 2)
    assert (machine.core_freq_mhz, machine.dram_freq_mhz, machine.icnt_freq_mhz) == (940, 940, 940)
    assert (machine.dram_type, machine.dram_channels) == ("hbm2", 16)
    assert (machine.icnt_type, machine.icnt_latency_cycles, machine.icnt_injection_ports_per_core) == ("simple", 10, 16)


def test_the_ddr4_machine() -> None:
    machine = load_machine("8x8_ddr4")
    assert (machine.lanes, machine.dispatch_budget_bytes, machine.num_systolic_array_per_core) == (8, 16384, 1)
    assert (machine.core_freq_mhz, machine.dram_type, machine.dram_channels, machine.dram_req_size_byte) == (800, "ddr4", 1, 64)


def test_every_file_in_the_folder_loads_and_survives_json() -> None:
    assert machine_names() == sorted(path.stem for path in configs_dir().iterdir() if path.suffix == ".yaml")
    assert len(machine_names()) >= 4
    for name in machine_names():
        machine = load_machine(name)
        assert Machine.model_validate_json(machine.model_dump_json()) == machine


# ------------------------------------------------------------------------------------------------ choosing one
def test_spec_may_be_a_machine_a_path_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine("8x8")
    assert load_machine(machine) is machine
    file = tmp_path / "mine.yml"
    file.write_text(yaml.safe_dump(MINIMAL))
    assert load_machine(file).name == "mine"
    assert load_machine(str(file)) == load_machine(file)
    monkeypatch.setenv("TORCHSIM_MACHINE", str(file))
    assert load_machine().name == "mine"
    monkeypatch.delenv("TORCHSIM_MACHINE")
    assert load_machine().name == "128x128"


def test_a_name_in_the_file_wins_over_the_file_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({**MINIMAL, "name": "edge"}))
    assert load_machine(file).name == "edge"


def test_unknown_machine_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown machine '8x9' \(nearest valid: '8x8'\)") as caught:
        load_machine("8x9")
    assert "128x128" in caught.value.expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"num_cores: [1", "is not valid YAML"),
        (b"- 1\n- 2\n", "holds no mapping"),
        (b"", "holds no mapping"),
        (b"num_cores: 1\nnum_cores: 2\n", "not valid YAML.*(\n.*)*key 'num_cores' is given twice"),
        (b"num_cores: 1\n? [1]\n: 2\n", "not valid YAML"),
        (b"num_cores: \xff\n", "cannot be read"),
        (b"!!python/object/apply:os.getcwd []\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_machine(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        load_machine(file)
    assert caught.value.where == str(file)


def test_a_path_to_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no machine file"):
        load_machine(tmp_path / "absent.yaml")


# ------------------------------------------------------------------------------------------------ bad keys and values
def test_an_unknown_key_names_itself_and_the_nearest() -> None:
    assert "unknown key 'dram_chanels' (nearest valid: 'dram_channels')" in refused({"dram_chanels": 4})
    assert "nearest" not in refused({"qqqqqq": 4})


@pytest.mark.parametrize("key", sorted(MINIMAL))
def test_each_required_key_is_missed_by_name(key: str) -> None:
    with pytest.raises(ConfigError, match=f"missing key '{key}'"):
        machine_from_mapping({name: value for name, value in MINIMAL.items() if name != key})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_cores", 0),
        ("num_cores", -1),
        ("num_cores", True),
        ("num_cores", "1"),
        ("num_partition", 0),
        ("num_partition", 2),
        ("partition", {"core_0": 1}),
        ("partition", {"core_1": 0}),
        ("partition", {"core_0": -1}),
        ("partition", [0]),
        ("core_freq_mhz", 940.5),
        ("vpu_num_lanes", 12),
        ("vpu_num_lanes", None),
        ("vpu_spad_size_kb_per_lane", 0),
        ("vpu_vector_length_bits", 512),
        ("sa_weight_buffer_depth", 0),
        ("pipe_branch_taken_cycles", -1),
        ("dram_req_size_byte", 48),
        ("dram_type", "hbm9"),
        ("dram_mapper", "RoCo"),
        ("icnt_type", "torus"),
        ("icnt_virtual_channels", 9),
        ("icnt_router_pipeline_cycles", 1),
        ("icnt_flit_bytes", 0),
        ("pytorchsim_timing_mode", "perhaps"),
        ("codegen_mapping_strategy", "guess"),
        ("codegen_compiler_optimization", 7),
        ("codegen_compiler_optimization", ["all"]),
    ],
)
def test_a_bad_value_names_key_and_value(key: str, value: Any) -> None:
    message = refused({key: value})
    assert f"{key}: " in message
    assert f"found {value!r}" in message


def test_all_faults_of_a_file_are_reported_at_once() -> None:
    message = refused({"vpu_num_lanes": 3, "num_cores": 0, "colour": "red", 7: 8})
    assert all(part in message for part in ("vpu_num_lanes", "num_cores", "'colour'", "7: "))


def test_a_misspelt_fusion_kind_names_the_nearest() -> None:
    assert "unknown entry 'prolog' (nearest valid: 'prologue')" in refused({"codegen_compiler_optimization": ["prolog"]})


@pytest.mark.req("F-8")
def test_each_fusion_kind_can_be_off() -> None:
    everything = machine_from_mapping(MINIMAL)
    nothing = machine_from_mapping({**MINIMAL, "codegen_compiler_optimization": "none"})
    for kind in FUSION_KINDS:
        others = [other for other in FUSION_KINDS if other != kind]
        machine = machine_from_mapping({**MINIMAL, "codegen_compiler_optimization": others})
        assert [machine.optimization_enabled(other) for other in others] == [True] * len(others)
        assert not machine.optimization_enabled(kind)
        assert everything.optimization_enabled(kind)
        assert not nothing.optimization_enabled(kind)


# ------------------------------------------------------------------------------------------------ the object
def test_a_machine_is_immutable_and_hashable() -> None:
    machine = load_machine("8x8")
    with pytest.raises(ValidationError, match="frozen"):
        machine.num_cores = 2
    assert len({machine, load_machine("8x8"), load_machine("32x32")}) == 2


def test_schema_covers_every_key_and_says_what_it_means() -> None:
    schema = machine_schema()
    json.dumps(schema)
    assert set(schema["required"]) == set(MINIMAL)
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(Machine.model_fields)
    assert all(entry["description"] for entry in schema["properties"].values())
