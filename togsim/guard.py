"""Run a command in a child process, because a saved producer is machine code that nobody checked.

A producer that crashes or never returns ends the child; the parent says so, and stays interruptible.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

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
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = body()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)  # the parent runs what follows
    try:
        return _watch(child, limit_seconds)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise


def _watch(child: int, limit_seconds: float) -> int:
    deadline = time.monotonic() + limit_seconds if limit_seconds else float("inf")
    pause = 0.001
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code >= 0:
                return code
            name = signal.Signals(-code).name
            return _failed(
                "the simulation crashed",
                f"signal {name}",
                "the producer is damaged, or was built from something else than a kernel: save the trace again",
            )
        time.sleep(pause)
        pause = min(2 * pause, _POLL_SECONDS)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return _failed(
        "the simulation did not end in time",
        f"stopped after {limit_seconds:g} s",
        "allow more with --timeout, 0 for no limit; or the producer never returns",
    )


def _failed(summary: str, found: str, hint: str) -> int:
    print(f"TraceError: {summary}\n  found: {found}\n  try: {hint}", file=sys.stderr)
    return 1
