"""A saved trace: a folder with a compiled producer and everything that its simulation needs, ``trace.json``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from togsim import _core
from togsim.elf_check import check_shared_object
from togsim.errors import ConfigError, TraceError
from togsim.records import load_shared_object

FORMAT = "togsim-trace 1"
DESCRIPTION = "trace.json"
PRODUCER = "producer.so"


@dataclass(frozen=True, slots=True)
class SavedTrace:
    """One kernel call as TOGSim needs it.

    Attributes:
        kernel: name of the kernel.
        origins: what the kernel was made from (fx nodes), for reports.
        machine: keys of the machine that it was compiled for.
        bases: device address of every tensor argument, in bytes.
        cycle_table: cycles and overlapping cycles of every block id.
        shape_args: passed to the kernel.
        library: the shared object with the producer.
    """

    kernel: str
    origins: tuple[str, ...]
    machine: Mapping[str, Any]
    bases: tuple[int, ...]
    cycle_table: tuple[tuple[int, int], ...]
    shape_args: tuple[int, ...]
    library: Path

    def producer(self, *, max_records: int = _core.MAX_RECORDS) -> _core.Producer:
        """Load the library and let it dispatch its work-items.

        Args:
            max_records: records of a work-item, and work-items, from which on the producer is taken to run away.

        Raises:
            TraceError: damaged, of another ABI version, malformed, or running away.
        """
        return _core.CompiledProducer(*load_checked(self.library), list(self.shape_args), max_records)


def load_checked(library: str | os.PathLike[str]) -> tuple[int, int]:
    """``load_shared_object`` after a check that the file is whole, which the dynamic loader does not make."""
    path = Path(library)
    check_shared_object(_read(path), str(path))
    return load_shared_object(path)


def save(
    folder: str | os.PathLike[str],
    library: bytes,
    *,
    kernel: str,
    origins: tuple[str, ...],
    machine: Mapping[str, Any],
    bases: tuple[int, ...],
    cycle_table: tuple[tuple[int, int], ...],
    shape_args: tuple[int, ...] = (),
) -> None:
    """Write a saved trace; ``library``: the bytes of the shared object."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / PRODUCER).write_bytes(library)
    description = {
        "format": FORMAT,
        "abi_version": _core.ABI_VERSION,
        "kernel": kernel,
        "origins": origins,
        "producer": PRODUCER,
        "sha256": hashlib.sha256(library).hexdigest(),
        "machine": dict(machine),
        "bases": bases,
        "shape_args": shape_args,
        "cycle_table": cycle_table,
    }
    (place / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def load(path: str | os.PathLike[str]) -> SavedTrace:
    """Read a saved trace given by its folder, its ``trace.json`` or its producer.

    Raises:
        TraceError: a missing file, no valid description, another ABI version, a producer that is not the one that was saved.
    """
    place = Path(path)
    if not place.exists():
        raise TraceError("no saved trace here", expected=f"a folder with {DESCRIPTION}", found="nothing", where=str(place))
    description = place / DESCRIPTION if place.is_dir() else place.parent / DESCRIPTION
    if not description.exists():
        raise TraceError(
            "a producer without description",
            expected=str(description),
            found="nothing",
            where=str(place),
            hint="pass the folder of a saved trace; a bare producer.so needs --cycle-table, --bases and --machine",
        )
    data = _description(description)
    found = data["abi_version"]
    if found != _core.ABI_VERSION:
        raise TraceError(
            "stale saved trace",
            expected=f"trace ABI version {_core.ABI_VERSION}",
            found=f"version {found}",
            where=str(description),
            hint="save the trace again with this version",
        )
    library = description.parent / data["producer"]
    if not place.is_dir() and place.name not in (DESCRIPTION, library.name):
        raise TraceError("another producer than the saved one", expected=library.name, found=place.name, where=str(place))
    digest = hashlib.sha256(_read(library)).hexdigest()
    if digest != data["sha256"]:
        raise TraceError(
            "the producer is not the one that was saved: truncated or altered",
            expected=f"SHA-256 {data['sha256']}",
            found=digest,
            where=str(library),
            hint="save the trace again",
        )
    return SavedTrace(
        data["kernel"],
        tuple(data["origins"]),
        data["machine"],
        tuple(data["bases"]),
        tuple((row[0], row[1]) for row in data["cycle_table"]),
        tuple(data["shape_args"]),
        library,
    )


def bare(library: Path, cycle_table: Path, bases: tuple[int, ...], machine: Mapping[str, Any]) -> SavedTrace:
    """A producer that somebody compiled without ``trace.json``.

    Args:
        library: the shared object.
        cycle_table: text file, ``cycles<TAB>overlapping`` per block id; lines that begin with # are passed over.
        bases: device address of every tensor argument.
        machine: keys of the machine that it was made for.

    Raises:
        TraceError: the table cannot be read.
    """
    rows: list[tuple[int, int]] = []
    for number, line in enumerate(_read(cycle_table).decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            cycles, overlapping = (int(word) for word in line.split())
        except ValueError as error:
            where = f"{cycle_table} line {number}"
            raise TraceError("bad line of a cycle table", expected="cycles<TAB>overlapping", found=repr(line[:80]), where=where) from error
        rows.append((cycles, overlapping))
    return SavedTrace(library.stem, (), machine, bases, tuple(rows), (), library)


def for_machine(trace: SavedTrace, machine: Mapping[str, Any]) -> Mapping[str, Any]:
    """``machine`` if the code of ``trace`` fits it: the number of lanes is in the code.

    Raises:
        ConfigError: another number of lanes.
    """
    lanes = trace.machine["vpu_num_lanes"]
    if machine.get("vpu_num_lanes") != lanes:
        raise ConfigError(
            "the kernel was compiled for another number of lanes",
            expected=f"vpu_num_lanes: {lanes}",
            found=f"vpu_num_lanes: {machine.get('vpu_num_lanes')}",
            where=f"kernel {trace.kernel}",
            hint="save the trace on the machine that you want to simulate, or on one that differs in memory, cores or arrays only",
        )
    return machine


_KINDS: dict[str, type | tuple[type, ...]] = {
    "abi_version": int,
    "kernel": str,
    "origins": list,
    "producer": str,
    "sha256": str,
    "machine": dict,
    "bases": list,
    "shape_args": list,
    "cycle_table": list,
}


def _description(path: Path) -> dict[str, Any]:
    """The checked content of a trace.json."""
    text = _read(path)
    try:
        data: Any = json.loads(text)
    except ValueError as error:
        raise TraceError("the description of a saved trace is no JSON", found=str(error), where=str(path)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise TraceError("not the description of a saved trace", expected=f'"format": "{FORMAT}"', found=repr(found), where=str(path))
    for key, kind in _KINDS.items():
        if not isinstance(data.get(key), kind):
            raise TraceError("bad description of a saved trace", expected=f"{key}: {kind}", found=repr(data.get(key))[:80], where=str(path))
    rows = data["cycle_table"]
    pairs = all(isinstance(row, list) and len(row) == 2 and all(_whole(entry) for entry in row) for row in rows)
    if not pairs or not all(_whole(entry) and entry >= 0 for entry in data["bases"]) or not all(map(_whole, data["shape_args"])):
        raise TraceError(
            "bad description of a saved trace",
            expected="whole numbers in bases and shape_args, pairs of them in cycle_table",
            where=str(path),
        )
    if "vpu_num_lanes" not in data["machine"] or Path(data["producer"]).name != data["producer"]:
        raise TraceError("bad description of a saved trace", expected="a machine, and a producer in the same folder", where=str(path))
    return data


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TraceError("cannot read a saved trace", found=str(error), where=str(path), hint="check the path") from error
