"""Machine files for the command line: the same YAML that the compiler reads, without importing it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from togsim.errors import ConfigError


def machine_folders() -> list[Path]:
    """Where the machine files that ship may lie: beside the source tree, or inside an installed torchsim."""
    top = Path(__file__).resolve().parent.parent
    return [folder for folder in (top / "configs", top / "torchsim" / "configs") if folder.is_dir()]


def load_machine_file(spec: str | os.PathLike[str]) -> Mapping[str, Any]:
    """Keys of a machine: a name in configs/, or the path of a YAML file. What they must be is checked by ``sim_config``.

    Raises:
        ConfigError: no such machine, not YAML, or a key given twice.
    """
    path = Path(spec)
    if path.suffix not in (".yaml", ".yml"):
        known = {file.stem: file for folder in machine_folders() for file in sorted(folder.glob("*.yaml"))}
        if str(spec) not in known:
            raise ConfigError(
                f"unknown machine {str(spec)!r}",
                expected=", ".join(known) or "the path of a YAML file",
                hint="pass one of these names or a path that ends in .yaml",
            )
        path = known[str(spec)]
    try:
        data: Any = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
    except OSError as error:
        raise ConfigError("no machine file", expected="a readable YAML file", found=str(error), where=str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError("a machine file is not valid YAML", found=str(error), where=str(path)) from error
    if not isinstance(data, dict):
        raise ConfigError("a machine file holds no mapping of keys to values", found=type(data).__name__, where=str(path))
    return {str(key): value for key, value in data.items()}


class _UniqueKeys(yaml.SafeLoader):
    """Refuses a key given twice; by YAML's own rule the last one would win in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping, at any depth."""
        keys: list[Any] = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                mark = node.value[place][0].start_mark
                raise yaml.constructor.ConstructorError("while reading a mapping", node.start_mark, f"key {key!r} is given twice", mark)
        return super().construct_mapping(node, deep=deep)
