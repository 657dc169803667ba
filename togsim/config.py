"""The machine keys that the timing simulator uses, checked before anything is simulated."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

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
    num_systolic_array_per_core: int = 1
    sa_weight_buffer_depth: int = 2
    dram_type: str = "hbm2"
    dram_req_size_byte: int = 32
    dram_latency: int = 100
    dram_mapper: str = "MOP4CLXOR"
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
        return {**asdict(self), "spad_bytes_per_lane": self.spad_bytes_per_lane}


_FIELDS = {f.name: f for f in fields(SimConfig)}
_REQUIRED = tuple(list(_FIELDS)[:7])


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
    _core.check_config(config.to_core())
    return config


def _checked(key: str, value: Any) -> Any:
    if key in ("dram_type", "dram_mapper", "icnt_type"):
        if not isinstance(value, str):
            raise ConfigError(f"{key} must be a name", expected="a string", found=repr(value), where=key)
        return value
    low = 0 if key == "core_spad_size_kb" else 1
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**31:
        raise ConfigError(
            f"{key} out of range", expected=f"an integer >= {low}", found=repr(value), where=key, hint="correct the machine file"
        )
    return value
