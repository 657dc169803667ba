"""Kernel calls of a session as saved traces, which ``python -m togsim run`` simulates without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from togsim import saved
from torchsim.emit.shared_object import shared_object

if TYPE_CHECKING:
    from torchsim.runtime.launch import Call


def save_traces(folder: Path, calls: Sequence[Call]) -> list[Path]:
    """Write one saved trace for each distinct call (kernel and addresses), numbered in order of execution; returns their folders."""
    written: list[Path] = []
    libraries: dict[str, bytes] = {}
    for (_, bases), kernel in {(call.kernel.key, call.bases): call.kernel for call in calls}.items():
        library = libraries.get(kernel.key)
        if library is None:
            library = libraries[kernel.key] = shared_object(kernel.producer_ir)
        place = folder / f"{len(written):03d}_{kernel.plan.name}"
        saved.save(
            place,
            library,
            kernel=kernel.plan.name,
            origins=kernel.plan.origins,
            machine=kernel.machine.model_dump(mode="json"),
            bases=bases,
            cycle_table=kernel.cycle_table.rows,
        )
        written.append(place)
    return written
