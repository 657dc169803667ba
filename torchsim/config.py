"""Machine description: one YAML file, one validated object, read by compiler and simulators alike.

Keys keep the names of PyTorchSim's YAML files where the meaning is the same, so those files load (config_prior.py);
new keys carry their unit in the name. Figures of the in-order pipeline model are assumptions unless a source is named.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from torchsim import config_prior
from torchsim.errors import ConfigError

Positive = Annotated[int, Field(gt=0, strict=True)]
NonNegative = Annotated[int, Field(ge=0, strict=True)]

FUSION_KINDS = ("fusion", "prologue", "reduction_reduction", "reduction_epilogue", "subtile")

QueueEntries = Annotated[int, Field(gt=0, le=48, strict=True)]
Percent = Annotated[int, Field(ge=0, le=100, strict=True)]
Figure = Annotated[int, Field(ge=0, strict=True)] | None


class DramTiming(BaseModel):
    """Timing figures in memory cycles, by their JEDEC names without the leading t; absent: the device's own (docs/timing-model.md)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    CL: Figure = None
    CWL: Figure = None
    BL: Figure = None
    RCDRD: Figure = None
    RCDWR: Figure = None
    RP: Figure = None
    RAS: Figure = None
    RC: Figure = None
    WR: Figure = None
    RTP: Figure = None
    CCDS: Figure = None
    CCDL: Figure = None
    RRDS: Figure = None
    RRDL: Figure = None
    WTRS: Figure = None
    WTRL: Figure = None
    FAW: Figure = None
    RFC: Figure = None
    REFI: Figure = None
    ACT: Figure = None
    TURN: Figure = None


class DramOrganization(BaseModel):
    """Organisation of a memory channel; absent: the device's own. Powers of two, at most 32 banks in all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pseudo_channels: Figure = None
    bank_groups: Figure = None
    banks: Figure = None
    row_bits: Figure = None
    column_bits: Figure = None
    transaction_bytes: Figure = None


class Machine(BaseModel):
    """One NPU. Frozen; ``model_dump_json()`` is the canonical text used in cache keys and saved beside results."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="", description="name in reports; the file's name when absent")
    # cores
    num_cores: Positive = Field(description="NPU cores")
    core_freq_mhz: Positive = Field(description="clock of a core")
    num_partition: Positive = Field(default=1, description="groups of cores; each runs its own program, all share the memory")
    partition: dict[str, int] = Field(
        default={}, validate_default=True, description="partition of each core, core_0: 0 and so on; cores that are not named are in 0"
    )
    core_spad_size_kb: NonNegative = Field(default=0, description="scratchpad of a core that loads may fill; 0 = lanes x spad per lane")
    num_systolic_array_per_core: Positive = Field(default=1, description="systolic arrays that share a core's work in timing")
    sa_weight_buffer_depth: Positive = Field(default=2, description="weight slots of an array: weight tiles preloaded ahead of use")
    sa_queue_rows: Positive = Field(default=256, description="input queue and output queue of an array, in rows")
    # vector unit
    vpu_num_lanes: Positive = Field(description="vector lanes = side of the systolic array; a power of two")
    vpu_spad_size_kb_per_lane: Positive = Field(description="scratchpad bank of one lane; a work-item may use half of it")
    vpu_vector_length_bits: Literal[256] = Field(default=256, description="VLEN of one lane")
    # in-order pipeline of a core, in core cycles (assumptions; docs/timing-model.md)
    pipe_issue_width: Positive = Field(default=1, description="instructions issued in a cycle")
    pipe_scalar_latency: Positive = Field(default=1, description="result latency of scalar ALU operations")
    pipe_scalar_mul_latency: Positive = Field(default=3, description="result latency of scalar multiplication")
    pipe_scalar_div_latency: Positive = Field(default=20, description="result latency of scalar division")
    pipe_scalar_load_latency: Positive = Field(default=3, description="result latency of scalar loads")
    pipe_branch_taken_cycles: NonNegative = Field(default=1, description="cycles lost by a taken branch")
    pipe_vector_latency: Positive = Field(default=4, description="result latency of vector ALU operations")
    pipe_vector_bits_per_cycle: Positive = Field(default=256, description="datapath of one lane")
    pipe_vector_div_cycles_per_element: Positive = Field(default=4, description="cycles of a vector division or square root for an element")
    pipe_vector_load_latency: Positive = Field(default=4, description="result latency of vector loads from scratchpad and stack")
    pipe_special_function_latency: Positive = Field(default=10, description="result latency of exp, tanh, erf, sin, cos, log and atan")
    pipe_sa_push_rows_per_cycle: Positive = Field(default=1, description="rows that enter or leave a systolic array in a cycle")
    # DRAM
    dram_type: Literal["hbm2", "ddr4", "simple"] = Field(default="hbm2", description="memory model; simple has a fixed latency")
    dram_freq_mhz: Positive = Field(description="command clock of the memory")
    dram_channels: Positive = Field(description="independent channels")
    dram_req_size_byte: Positive = Field(default=32, description="bytes of one request; a power of two")
    dram_latency: Positive = Field(default=100, description="simple memory: latency of a request in memory cycles")
    dram_mapper: Literal["RoBaRaCoCh", "MOP4CLXOR", "ChRaBaRoCo"] = Field(
        default="MOP4CLXOR", description="how an address is split into row, bank, column, channel"
    )
    dram_channel_interleave: Literal["round_robin", "xor"] = Field(
        default="xor", description="consecutive blocks go to consecutive channels, or hashed by the upper address bits"
    )
    dram_interleave_bytes: NonNegative = Field(default=0, description="bytes of such a block, whole requests; 0 = one request")
    dram_timing_cycles: DramTiming = Field(default=DramTiming(), description="figures in memory cycles that replace those of the device")
    dram_organization: DramOrganization = Field(default=DramOrganization(), description="figures that replace those of the device")
    dram_command_bus: Literal["preset", "single", "dual"] = Field(
        default="preset", description="one command bus, or one for rows and one for columns; preset = that of the device"
    )
    dram_read_queue_entries: QueueEntries = Field(default=32, description="reads that wait in a channel")
    dram_write_queue_entries: QueueEntries = Field(default=32, description="writes that wait in a channel")
    dram_write_high_percent: Percent = Field(default=80, description="writes are served once they fill more than this share of their queue")
    dram_write_low_percent: Percent = Field(default=20, description="and reads again once they fill less than this share")
    dram_accepts_per_cycle: Annotated[int, Field(gt=0, le=64, strict=True)] = Field(
        default=1, description="requests that enter a channel's queues in a memory cycle"
    )
    dram_active_list: bool = Field(
        default=True, description="a request leaves its queue when a row is opened for it, goes first, and its row stays open"
    )
    dram_precharge: Literal["age", "protect_hits"] = Field(
        default="age", description="row conflicts close rows by age, or only rows that no waiting request hits"
    )
    dram_single_bus_order: Literal["column_first", "age"] = Field(
        default="column_first", description="single command bus: column commands go first, or the older request"
    )
    dram_refresh: Literal["all_bank", "none"] = Field(default="all_bank", description="refresh of all banks of a pseudo-channel, or none")
    dram_refresh_scope: Literal["pseudo_channel", "channel"] = Field(
        default="pseudo_channel", description="what a pending refresh keeps from new commands"
    )
    dram_refresh_stagger_cycles: NonNegative = Field(
        default=0, description="memory cycles between the refreshes of one pseudo-channel and the next"
    )
    dram_write_forwarding: bool = Field(default=True, description="a read of a queued write is answered from the queue")
    dram_write_done: Literal["issue", "data"] = Field(default="issue", description="a write is done at its command or after its data")
    # interconnect
    icnt_type: Literal["simple", "crossbar", "mesh"] = Field(
        default="simple", description="interconnect model; simple has a fixed latency, the others flits and back-pressure"
    )
    icnt_latency_cycles: Positive = Field(default=10, description="simple interconnect: latency in interconnect cycles, one way")
    icnt_freq_mhz: Positive = Field(description="clock of the interconnect")
    icnt_injection_ports_per_core: Positive = Field(default=1, description="requests that a core can send in a cycle")
    icnt_flit_bytes: Annotated[int, Field(ge=1, le=4096)] = Field(
        default=64, description="crossbar, mesh: width of a link (PyTorchSim's BookSim crossbars)"
    )
    icnt_virtual_channels: Annotated[int, Field(ge=1, le=8)] = Field(
        default=4, description="crossbar, mesh: virtual channels of a link (assumption)"
    )
    icnt_buffer_flits_per_channel: Annotated[int, Field(ge=1, le=4096)] = Field(
        default=8, description="crossbar, mesh: buffer of a virtual channel (assumption)"
    )
    icnt_router_pipeline_cycles: Annotated[int, Field(ge=2, le=1024)] = Field(
        default=3, description="crossbar, mesh: channel allocation, switch allocation, traversal (BookSim's default router)"
    )
    icnt_link_latency_cycles: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="crossbar, mesh: interconnect cycles of a link (BookSim's default)"
    )
    icnt_injection_queue_packets: Annotated[int, Field(ge=1, le=2**20)] = Field(
        default=8, description="crossbar, mesh: packets that wait at an injection port (assumption)"
    )
    icnt_requests_per_dram_channel: Annotated[int, Field(ge=1, le=2**20)] = Field(
        default=128, description="crossbar, mesh: requests that a DRAM channel has taken and not answered (assumption)"
    )
    # modes
    pytorchsim_functional_mode: bool = Field(default=True, description="compute values on the functional simulator")
    pytorchsim_timing_mode: bool = Field(default=True, description="simulate cycles")
    pytorchsim_functional_verify_per_kernel: bool = Field(
        default=False, description="compare each kernel with the CPU; needs functional mode"
    )
    # compiler
    codegen_mapping_strategy: Literal["heuristic"] = Field(default="heuristic", description="how tiles are chosen")
    codegen_compiler_optimization: Literal["all", "none"] | tuple[str, ...] = Field(
        default="all", description="fusions that are tried: all, none, or a list of " + ", ".join(FUSION_KINDS)
    )

    @field_validator("vpu_num_lanes", "dram_req_size_byte")
    @classmethod
    def _power_of_two(cls, value: int) -> int:
        if value & (value - 1):
            raise ValueError("must be a power of two")
        return value

    @field_validator("num_partition")
    @classmethod
    def _not_more_partitions_than_cores(cls, value: int, info: ValidationInfo) -> int:
        if value > info.data.get("num_cores", value):
            raise ValueError(f"more partitions than cores ({info.data['num_cores']})")
        return value

    @field_validator("partition", mode="before")
    @classmethod
    def _partitions_have_cores(cls, value: Any, info: ValidationInfo) -> Any:
        if "num_cores" not in info.data or "num_partition" not in info.data:
            return value  # that is reported already
        cores, count = [f"core_{core}" for core in range(info.data["num_cores"])], info.data["num_partition"]
        if not isinstance(value, Mapping):
            raise ValueError("must map cores to partitions, as in {core_0: 0, core_1: 1}")
        owners = dict(cast("Mapping[Any, Any]", value))
        for name, number in owners.items():
            if name not in cores:
                raise ValueError(f"no core {name!r}; there are core_0 to {cores[-1]}")
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < count:
                raise ValueError(f"{name}: no partition {number!r}; num_partition is {count}")
        empty = set(range(count)) - {owners.get(core, 0) for core in cores}
        if empty:
            raise ValueError(f"partition {min(empty)} has no core")
        return owners

    @field_validator("codegen_compiler_optimization", mode="before")
    @classmethod
    def _known_optimizations(cls, value: Any) -> Any:
        if value in ("all", "none"):
            return value
        if not isinstance(value, list | tuple):
            raise ValueError(f"must be all, none or a list of {', '.join(FUSION_KINDS)}")
        for kind in value:
            if kind not in FUSION_KINDS:
                raise ValueError(f"unknown entry {kind!r}{nearest(str(kind), FUSION_KINDS)}")
        return tuple(value)

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @property
    def lanes(self) -> int:
        """Vector lanes = side of the systolic array."""
        return self.vpu_num_lanes

    @property
    def spad_bytes_per_lane(self) -> int:
        """Scratchpad bytes of one lane."""
        return self.vpu_spad_size_kb_per_lane * 1024

    @property
    def dispatch_budget_bytes(self) -> int:
        """Scratchpad bytes per lane that one work-item may use: half, because two run at once (T-1)."""
        return self.spad_bytes_per_lane // 2

    def optimization_enabled(self, kind: str) -> bool:
        """Whether one kind of FUSION_KINDS is switched on."""
        choice = self.codegen_compiler_optimization
        return choice == "all" or (choice != "none" and kind in choice)


def configs_dir() -> Path:
    """Folder of the machine files that ship with torchsim."""
    here = Path(__file__).resolve().parent
    for candidate in (here / "configs", here.parent / "configs"):
        if candidate.is_dir():
            return candidate
    raise ConfigError("no folder of machine files", expected=str(here / "configs"), hint="reinstall torchsim")


def machine_names() -> list[str]:
    """Names that ``load_machine`` knows, sorted."""
    return sorted(path.stem for path in configs_dir().glob("*.yaml"))


def machine_schema() -> dict[str, Any]:
    """JSON schema of a machine file, for editors and other tools."""
    return Machine.model_json_schema()


def load_machine(spec: str | os.PathLike[str] | Machine | None = None) -> Machine:
    """Resolve a name in configs/, a YAML path, a Machine, or None (TORCHSIM_MACHINE, else 128x128).

    Raises:
        ConfigError: no such machine, not YAML, unknown or doubled key, bad or missing value.
    """
    if isinstance(spec, Machine):
        return spec
    text = os.fspath(spec) if spec is not None else os.environ.get("TORCHSIM_MACHINE", "128x128")
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise ConfigError(f"no machine file {text!r}", expected="a readable YAML file", hint="check the path")
    else:
        names = machine_names()
        if text not in names:
            raise ConfigError(
                f"unknown machine {text!r}{nearest(text, names)}",
                expected=", ".join(names),
                found=text,
                hint="pass one of these names or a path that ends in .yaml",
            )
        path = configs_dir() / f"{text}.yaml"
    try:
        data: Any = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeyLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name} cannot be read", found=str(error), where=str(path)) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path.name} is not valid YAML", found=str(error), where=str(path)) from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path.name} holds no mapping of keys to values", found=type(data).__name__, where=str(path))
    data.setdefault("name", path.stem)
    return machine_from_mapping(data, where=str(path))


def machine_from_mapping(data: Mapping[Any, Any], *, where: str = "") -> Machine:
    """Validate a mapping of config keys, those of PyTorchSim included.

    Raises:
        ConfigError: names the key, the value and the nearest valid key.
    """
    own = config_prior.translate(data, where=where)
    try:
        return Machine.model_validate(own)
    except ValidationError as error:
        lines: list[str] = []
        for item in error.errors():
            key = ".".join(str(part) for part in item["loc"]) or "(whole file)"
            if item["type"] == "extra_forbidden":
                lines.append(f"unknown key {key!r}{nearest(key, Machine.model_fields)}")
            elif item["type"] == "missing":
                lines.append(f"missing key {key!r}")
            else:
                lines.append(f"{key}: {item['msg'].removeprefix('Value error, ')}, found {item.get('input')!r}")
        raise ConfigError("bad machine description: " + "; ".join(lines), where=where, hint="see docs/config.md for all keys") from None


def nearest(word: str, choices: Iterable[str]) -> str:
    """`` (nearest valid: 'x')`` for a message about a misspelt word, or "" when nothing is near."""
    match = difflib.get_close_matches(word, list(choices), n=1)
    return f" (nearest valid: {match[0]!r})" if match else ""


class _UniqueKeyLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice, where YAML's own rule would let the last one win in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: list[Any] = []  # no set: a sequence may stand for a key, which the base class refuses
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    "while reading a mapping", node.start_mark, f"key {key!r} is given twice", key_node.start_mark
                )
            seen.append(key)
        return super().construct_mapping(node, deep=deep)
