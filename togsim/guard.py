"""Run a command in a child process, because a saved producer is machine code that nobody checked.

A producer that crashes or never returns ends the child; the parent says so, and stays interruptible.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

from togsim.errors import TraceError

_POLL_SECONDS = 0.02


def guarded(body: Callable[[], int], limit_seconds: float) -> int:
    """Exit code of ``body``, run in a forked child.

    Args:
        body: what to run; its output goes to the same standard output and error.
        limit_seconds: the child is stopped after this long; 0: no limit.

    Returns:
        ``body``'s own result; 1 with a message on standard error when it crashed or did not end in time.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    come_back, came_back = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = body()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os.write(came_back, b"!")
            os._exit(code)  # the parent runs what follows
    os.close(came_back)
    try:
        return _watch(child, limit_seconds, come_back)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(come_back)


def _watch(child: int, limit_seconds: float, come_back: int) -> int:
    deadline = time.monotonic() + limit_seconds if limit_seconds else float("inf")
    pause = 0.001
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                return _failed(crashed(-code))
            return code if os.read(come_back, 1) else _failed(ended(code))
        time.sleep(pause)
        pause = min(2 * pause, _POLL_SECONDS)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return _failed(late(limit_seconds))


def crashed(number: int) -> TraceError:
    """The error for a simulation that a signal ended."""
    return TraceError(
        "the simulation crashed",
        expected="a producer that runs",
        found=f"signal {signal.Signals(number).name}",
        where="the child process that ran the producer",
        hint="the producer is damaged, or was built from something else than a kernel: save the trace again",
    )


def ended(code: int) -> TraceError:
    """The error for a simulation whose process ended by itself, before there was a result."""
    return TraceError(
        "the simulation ended without a result",
        expected="a producer that returns to the simulator",
        found=f"its process ended with status {code}",
        where="the child process that ran the producer",
        hint="the producer ends the process: take that out",
    )


def late(limit_seconds: float) -> TraceError:
    """The error for a simulation that was stopped."""
    return TraceError(
        "the simulation did not end in time",
        expected=f"an end within {limit_seconds:g} s",
        found="still running; stopped",
        where="the child process that ran the producer",
        hint="allow more (--timeout, timeout_seconds), 0 for no limit; or the producer never returns",
    )


def _failed(error: TraceError) -> int:
    print(f"TraceError: {error}", file=sys.stderr)
    return 1
