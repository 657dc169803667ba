"""Machine files written for PyTorchSim: which of its keys load, and what becomes of them.

Keys with the same meaning have the same name and need nothing. The rest is handled here, before validation: a key is
renamed, or dropped because it cannot change a result of torchsim, or refused by name because it would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from torchsim.errors import ConfigError

RENAMED = {"tpu_systolic_queue_entries": "sa_queue_rows"}

DRAM_STANDARDS = {"HBM2": {"dram_type": "hbm2", "dram_req_size_byte": 32}, "DDR4": {"dram_type": "ddr4", "dram_req_size_byte": 64}}


def _anything(value: Any) -> bool:
    return True


def _only(*allowed: Any) -> Callable[[Any], bool]:
    return lambda value: value in allowed


def _all_dense(value: Any) -> bool:
    return value == "ws_mesh" or (isinstance(value, list) and all(item == "ws_mesh" for item in value))


@dataclass(frozen=True)
class PriorKey:
    """A key of PyTorchSim that torchsim has no field for.

    Attributes:
        accepts: whether a value asks for nothing that torchsim lacks; such a key is dropped.
        meaning: what the key asks for, and why dropping it is right.
    """

    accepts: Callable[[Any], bool]
    meaning: str


_STATISTICS = "period of statistics lines in the log; statistics are collected over the whole run and reported at its end"
_AUTOTUNE = "a knob of the autotune strategy, which `codegen_mapping_strategy: heuristic` never uses"
_STONNE = "a property of sparse cores; `core_type` decides whether there are any"
_CACHE = "a property of the shared cache; `l2d_type` decides whether there is one"

PRIOR_KEYS: dict[str, PriorKey] = {
    "core_type": PriorKey(_all_dense, "kind of each core; only `ws_mesh` (dense, weight stationary) is supported"),
    "core_stats_print_period_cycles": PriorKey(_anything, _STATISTICS),
    "dram_stats_print_period_cycles": PriorKey(_anything, _STATISTICS),
    "icnt_stats_print_period_cycles": PriorKey(_anything, _STATISTICS),
    "num_stonne_per_core": PriorKey(_anything, _STONNE),
    "num_stonne_port": PriorKey(_anything, _STONNE),
    "stonne_config_path": PriorKey(_anything, _STONNE),
    "dram_num_burst_length": PriorKey(_anything, "burst length; follows from `dram_type`"),
    "dram_num_partitions": PriorKey(_only(1), "NUMA partitions of the memory; only 1 is supported"),
    "dram_bandwidth_gbps_per_channel": PriorKey(_only(None), "bandwidth cap of the simple memory; not supported"),
    "dram_bandwidth_gbps_total": PriorKey(_only(None), "bandwidth cap of the simple memory; not supported"),
    "booksim_config_path": PriorKey(_anything, "a file of the booksim2 interconnect; `icnt_type` decides whether it is used"),
    "energy_cost_table_path": PriorKey(_anything, "energy figures; torchsim reports no energy"),
    "l2d_type": PriorKey(_only("nocache"), "shared cache; only `nocache` is supported"),
    "l2d_config": PriorKey(_anything, _CACHE),
    "l2d_hit_latency": PriorKey(_anything, _CACHE),
    "scheduler": PriorKey(_only("simple"), "request scheduler; only `simple` is supported"),
    "codegen_external_mapping_file": PriorKey(_only("", None), "file of tile sizes; not supported"),
    "codegen_autotune_max_retry": PriorKey(_anything, _AUTOTUNE),
    "codegen_autotune_template_topk": PriorKey(_anything, _AUTOTUNE),
    "codegen_autotune_wall_slack_sec": PriorKey(_anything, _AUTOTUNE),
}

# Values that PyTorchSim knows and torchsim does not: key -> value -> what it asks for.
UNSUPPORTED_VALUES: dict[str, dict[str, str]] = {
    "icnt_type": {"booksim2": "the booksim2 interconnect"},
    "codegen_mapping_strategy": dict.fromkeys(
        ("autotune", "external-then-heuristic", "external-then-autotune"), "choosing tiles by another strategy than the heuristic"
    ),
}

# Entries of a codegen_compiler_optimization list that chose between convolution templates; there is one such template here.
DROPPED_OPTIMIZATIONS = ("single_batch_conv", "multi_tile_conv")


def translate(data: Mapping[Any, Any], *, where: str = "") -> dict[Any, Any]:
    """The same machine in torchsim's keys. A mapping without a key of PyTorchSim's own comes back equal.

    Args:
        data: keys and values of a machine file.
        where: path of the file ("" if there is none); ramulator_config_path is relative to its folder.

    Raises:
        ConfigError: a key or value asks for something that torchsim does not have, or both names of a key are given.
    """
    result: dict[Any, Any] = {}
    for key, value in data.items():
        if key in RENAMED:
            if RENAMED[key] in data:
                raise ConfigError(f"{key!r} and {RENAMED[key]!r} are two names of one key", where=where, hint=f"keep {RENAMED[key]!r}")
            result[RENAMED[key]] = value
        elif key in PRIOR_KEYS:
            if not PRIOR_KEYS[key].accepts(value):
                raise _unsupported(key, value, PRIOR_KEYS[key].meaning, where)
        elif isinstance(value, str) and value in UNSUPPORTED_VALUES.get(key, {}):
            raise _unsupported(key, value, UNSUPPORTED_VALUES[key][value], where)
        elif key == "codegen_compiler_optimization" and isinstance(value, list):
            result[key] = [item for item in value if item not in DROPPED_OPTIMIZATIONS]
        elif key != "ramulator_config_path":
            result[key] = value
    if result.get("dram_type") == "ramulator2":
        del result["dram_type"]
        result = _dram_keys(data.get("ramulator_config_path"), where) | result
    return result


def _unsupported(key: str, value: Any, meaning: str, where: str) -> ConfigError:
    return ConfigError(
        f"{key}: {value!r} is not supported yet ({meaning})", where=where, hint="see the table of PyTorchSim's keys in docs/config.md"
    )


def _dram_keys(path: Any, where: str) -> dict[str, Any]:
    """What `dram_type: ramulator2` stands for: the standard and mapper named in the Ramulator file.

    A file that is not there is judged by its name. Timings are torchsim's own; those of the file are not read.
    """
    names = f"dram_type: {' or '.join(str(keys['dram_type']) for keys in DRAM_STANDARDS.values())}"
    if not isinstance(path, str) or not path:
        raise ConfigError(
            "dram_type: ramulator2 without ramulator_config_path", expected=names, where=where, hint="name the standard directly"
        )
    file = Path(where).parent / path
    keys: dict[str, Any] = {}
    if file.is_file():
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ConfigError(f"{file.name} cannot be read", found=str(error), where=str(file), hint=f"write {names}") from error
        standard = _implementation(content, "dram")
        mapper = _implementation(content, "addrmapper")
        if mapper:
            keys["dram_mapper"] = mapper
    else:
        standard = next((name for name in DRAM_STANDARDS if name in file.name.upper()), "")
    if standard not in DRAM_STANDARDS:
        raise ConfigError(
            f"{path}: DRAM standard {standard or 'unknown'} is not supported yet", expected=names, where=where, hint=f"write {names}"
        )
    return keys | DRAM_STANDARDS[standard]


def _implementation(tree: Any, part: str) -> str:
    """Value of ``impl`` below the first key that spells ``part``, in whatever case and with or without underscores."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if str(key).replace("_", "").lower() == part and isinstance(value, Mapping) and "impl" in value:
                return str(value["impl"])
        children = list(tree.values())
    elif isinstance(tree, list):
        children = tree
    else:
        return ""
    return next((found for child in children if (found := _implementation(child, part))), "")
