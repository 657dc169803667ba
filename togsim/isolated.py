"""Simulate a saved trace in a process of its own: a producer that crashes or never returns cannot take the caller with it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from togsim import saved
from togsim._core import MAX_RECORDS
from togsim.errors import TogsimError
from togsim.guard import crashed, ended, late
from togsim.simulator import Mode, Simulator
from togsim.stats import Result


def simulate(
    trace: str | os.PathLike[str],
    machine: Mapping[str, Any] | None = None,
    *,
    mode: Mode = "fast",
    timeout_seconds: float = 3600.0,
    max_records: int = MAX_RECORDS,
) -> Result:
    """Result of a saved trace.

    Args:
        trace: its folder, its ``trace.json`` or its producer.
        machine: keys of the machine, or None for the one it was saved on.
        mode: see ``Simulator.run``.
        timeout_seconds: the child process is killed after so long; 0: no limit.
        max_records: see ``Simulator.run``.

    Raises:
        TraceError: the producer crashed, did not end in time, ran away or is malformed; no such trace.
        ConfigError: a machine that cannot be simulated, or has other lanes.
        DeadlockError: nothing can make progress.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"
        request = pickle.dumps((str(answer), os.fspath(trace), None if machine is None else dict(machine), mode, max_records))
        path = os.pathsep.join(entry for entry in sys.path if entry)
        try:
            child = subprocess.run(
                [sys.executable, "-c", "from togsim.isolated import answer_request; answer_request()"],
                input=request,
                timeout=timeout_seconds or None,
                env={**os.environ, "PYTHONPATH": path},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise late(timeout_seconds) from None
        if child.returncode < 0:
            raise crashed(-child.returncode)
        if child.returncode > 0 or not answer.exists():
            raise ended(child.returncode)
        found: Result | TogsimError = pickle.loads(answer.read_bytes())
    if isinstance(found, TogsimError):
        raise found
    return found


def answer_request() -> None:
    """What the child does: one request from standard input, one result or error into the file that it names."""
    place, path, machine, mode, max_records = pickle.load(sys.stdin.buffer)
    found: Result | TogsimError
    try:
        trace = saved.load(path)
        keys = trace.machine if machine is None else saved.for_machine(trace, machine)
        found = Simulator(keys).run_producer(trace.producer(max_records=max_records), trace.bases, trace.cycle_table, mode=mode)
    except TogsimError as error:
        found = error
    Path(place).write_bytes(pickle.dumps(found))
