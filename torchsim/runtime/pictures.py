"""Pictures of a session: the plots of TOGSim over all timed kernel calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from togsim import errors as togsim_errors
from togsim import plots
from torchsim.errors import InvalidInputError
from torchsim.runtime.report import KernelRun
from torchsim.runtime.timeline import session_timeline
from torchsim.runtime.timing import simulate

if TYPE_CHECKING:
    from torchsim.runtime.launch import Call


def write_pictures(folder: Path, timed: Sequence[tuple[KernelRun, Call]], kind: str) -> list[Path]:
    """Utilisation and roofline with one entry a kernel call, and one timeline of all; returns the files.

    Raises:
        InvalidInputError: matplotlib is missing, another kind than png or svg, calls on different machines.
    """
    results = [dataclasses.replace(simulate(call.kernel, call.bases).result, kernel=run.name) for run, call in timed]
    try:
        return plots.write_all(folder, results, session_timeline(timed), kind)
    except togsim_errors.TogsimError as error:
        raise InvalidInputError(error.summary, expected=error.expected, found=error.found, where=error.where, hint=error.hint) from error
