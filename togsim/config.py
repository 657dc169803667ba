"""The machine keys that the timing simulator uses, checked before anything is simulated."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, cast

from togsim import _core
from togsim.errors import ConfigError

_OTHER_PREFIXES = ("pipe_", "codegen_", "pytorchsim_", "sa_", "vpu_", "name")
"""Keys of a machine description that belong to the compiler and the functional simulator."""


@dataclass(frozen=True, slots=True)
class SimConfig:
    """One machine as the timing simulator sees it. Same keys, meanings and defaults as the machine files."""

    num_cores: int
    core_freq_mhz: int
    vpu_num_lanes: int
    vpu_spad_size_kb_per_lane: int
    dram_freq_mhz: int
    dram_channels: int
    icnt_freq_mhz: int
    core_spad_size_kb: int = 0
    num_partition: int = 1
    partition: Mapping[str, int] = field(default_factory=dict[str, int])
    """Partition of each core by its name, ``core_0`` and so on; a core that is not named is in partition 0."""
    num_systolic_array_per_core: int = 1
    sa_weight_buffer_depth: int = 2
    dram_type: str = "hbm2"
    dram_req_size_byte: int = 32
    dram_latency: int = 100
    dram_mapper: str = "MOP4CLXOR"
    dram_channel_interleave: str = "xor"
    dram_interleave_bytes: int = 0
    dram_timing_cycles: Mapping[str, int] = field(default_factory=dict[str, int])
    """Figures that replace those of the device (docs/timing-model.md): JEDEC names without the leading t."""
    dram_organization: Mapping[str, int] = field(default_factory=dict[str, int])
    """Likewise: pseudo_channels, bank_groups, banks, row_bits, column_bits, transaction_bytes."""
    dram_command_bus: str = "preset"
    dram_read_queue_entries: int = 32
    dram_write_queue_entries: int = 32
    dram_write_high_percent: int = 80
    dram_write_low_percent: int = 20
    dram_accepts_per_cycle: int = 1
    dram_active_list: bool = True
    dram_precharge: str = "age"
    dram_single_bus_order: str = "column_first"
    dram_refresh: str = "all_bank"
    dram_refresh_scope: str = "pseudo_channel"
    dram_refresh_stagger_cycles: int = 0
    dram_write_forwarding: bool = True
    dram_write_done: str = "issue"
    icnt_type: str = "simple"
    icnt_latency_cycles: int = 10
    icnt_injection_ports_per_core: int = 1
    icnt_flit_bytes: int = 64
    icnt_virtual_channels: int = 4
    icnt_buffer_flits_per_channel: int = 8
    icnt_router_pipeline_cycles: int = 3
    icnt_link_latency_cycles: int = 1
    icnt_injection_queue_packets: int = 8
    icnt_requests_per_dram_channel: int = 128
    dma_queue_depth: int = 32
    """Transfers that may wait in the load queue, and in the store queue, of a core's DMA engine (assumption)."""

    @property
    def spad_bytes_per_lane(self) -> int:
        """Scratchpad of one lane: core_spad_size_kb shared out over the lanes, or vpu_spad_size_kb_per_lane if that is 0."""
        if self.core_spad_size_kb == 0:
            return self.vpu_spad_size_kb_per_lane * 1024
        return self.core_spad_size_kb * 1024 // self.vpu_num_lanes

    def to_core(self) -> dict[str, Any]:
        """The mapping that the native module reads."""
        cores = [self.partition.get(f"core_{core}", 0) for core in range(self.num_cores)] if self.partition else []
        return {**asdict(self), "spad_bytes_per_lane": self.spad_bytes_per_lane, "core_partition": cores}


_FIELDS = {f.name: f for f in fields(SimConfig)}
_REQUIRED = tuple(list(_FIELDS)[:7])
_NAMES = tuple(name for name, f in _FIELDS.items() if f.type == "str")
_FLAGS = tuple(name for name, f in _FIELDS.items() if f.type == "bool")
_FIGURES = ("dram_timing_cycles", "dram_organization")
MAY_BE_ZERO = (
    "core_spad_size_kb", "dram_interleave_bytes", "dram_write_high_percent", "dram_write_low_percent", "dram_refresh_stagger_cycles"
)  # fmt: skip
"""Integer keys whose least value is 0; that of the others is 1."""


def sim_config(mapping: Mapping[str, Any]) -> SimConfig:
    """Check a machine description. Keys of the other tools are passed over.

    Raises:
        ConfigError: unknown or missing key, a value of the wrong type, zero or negative, an unknown DRAM or mapping.
    """
    chosen: dict[str, Any] = {}
    for key, value in mapping.items():
        if key in _FIELDS:
            chosen[key] = _checked(key, value)
        elif not key.startswith(_OTHER_PREFIXES):
            near = difflib.get_close_matches(key, list(_FIELDS), n=1)
            raise ConfigError(
                f"unknown machine key {key!r}", expected=near[0] if near else "a key of docs/togsim.md", where=key, hint="correct the key"
            )
    for key in _REQUIRED:
        if key not in chosen:
            raise ConfigError(f"missing machine key {key!r}", expected="a positive integer", where=key, hint="add it to the machine file")
    config = SimConfig(**chosen)
    _check_partition(config)
    _core.check_config(config.to_core())
    return config


def _check_partition(config: SimConfig) -> None:
    for name in config.partition:
        number = name.removeprefix("core_")
        if name == number or not number.isdecimal() or str(int(number)) != number or int(number) >= config.num_cores:
            raise ConfigError(
                "partition names a core that does not exist",
                expected=f"core_0 to core_{config.num_cores - 1}",
                found=name,
                where="partition",
                hint="correct the machine file",
            )


def _checked(key: str, value: Any) -> Any:
    if key == "partition":
        if not isinstance(value, Mapping) or not all(isinstance(name, str) and _whole(number, 0) for name, number in value.items()):
            raise ConfigError(
                "partition must map cores to partitions", expected="{core_0: 0, core_1: 1}", found=repr(value), where=key, hint="correct it"
            )
        return dict(value)
    if key in _NAMES:
        if not isinstance(value, str):
            raise ConfigError(f"{key} must be a name", expected="a string", found=repr(value), where=key)
        return value
    if key in _FLAGS:
        if not isinstance(value, bool):
            raise ConfigError(f"{key} must be true or false", expected="a boolean", found=repr(value), where=key)
        return value
    if key in _FIGURES:
        return _figures(key, value)
    low = 0 if key in MAY_BE_ZERO else 1
    if not _whole(value, low):
        raise ConfigError(
            f"{key} out of range", expected=f"an integer >= {low}", found=repr(value), where=key, hint="correct the machine file"
        )
    return value


def _figures(key: str, value: Any) -> dict[str, int]:
    """Figures by name; a figure that is None keeps the device's value. Names and ranges are checked with the device."""
    given: Any = value
    if not isinstance(given, Mapping):
        raise ConfigError(f"{key} must be a mapping", expected="figures by name", found=repr(given), where=key)
    figures: dict[str, int] = {}
    for name, figure in cast("Mapping[Any, Any]", given).items():
        if figure is None:
            continue
        if not isinstance(name, str) or not _whole(figure, 0):
            raise ConfigError(f"{key}: {name} out of range", expected="an integer >= 0", found=repr(figure), where=key)
        figures[name] = figure
    return figures


def _whole(value: Any, low: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value < 2**31
