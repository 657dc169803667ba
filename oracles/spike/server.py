"""The child process: started on demand, restarted after a crash, killed when it takes too long."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO

from torchsim.errors import InternalError

from .build import build
from .protocol import DONE, REPLY, Bytes

_PIPE_BYTES = 1 << 20  # fewer switches between the processes than with the default of 64 KiB
_SLICE = 1 << 20


class SpikeCrashError(InternalError):
    """The child process died or answered nonsense; there is no result."""


class SpikeTimeoutError(InternalError):
    """The child process did not answer in time and was killed; there is no result."""


class SpikeServer:
    """One child process for one machine shape; serves one request after the other.

    Args:
        lanes: lanes of the machine.
        spad_bytes: scratchpad bytes of a lane, a multiple of 4096.
        sa_queue_rows: rows of the systolic array's queues.
        executable: the child; built if not given.

    A context manager; ``close`` ends the child. After a crash or a timeout the next ``exchange`` starts a new child.
    """

    def __init__(self, lanes: int, spad_bytes: int, sa_queue_rows: int = 256, *, executable: Path | None = None) -> None:
        self._arguments = [str(lanes), str(spad_bytes), str(sa_queue_rows)]
        self._executable = executable
        self._child: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._finalizer: weakref.finalize[[subprocess.Popen[bytes], IO[bytes]], SpikeServer] | None = None

    def __enter__(self) -> SpikeServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the running child, None if there is none."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the child; harmless if there is none."""
        if self._finalizer is not None:
            self._finalizer()
        self._child = self._log = self._finalizer = None

    def exchange(self, request: Iterable[Bytes], timeout_s: float) -> bytes:
        """Send a request, return the payload of the reply.

        Raises:
            SpikeTimeoutError: no whole reply within ``timeout_s`` seconds of wall clock.
            SpikeCrashError: the child died, or the reply has no start or no done marker.
            SpikeUnavailableError: the child cannot be built.
        """
        deadline = time.monotonic() + timeout_s
        child = self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            for piece in request:
                self._write(child.stdin.fileno(), memoryview(piece), deadline)
            head = bytes(self._read(child.stdout.fileno(), 16, deadline))
            if head[:8] != REPLY:
                raise self._crash("the Spike child's reply does not start as one", found=head.hex())
            (length,) = struct.unpack("<Q", head[8:])
            body = bytes(self._read(child.stdout.fileno(), length + len(DONE), deadline))
            if body[length:] != DONE:
                raise self._crash("the Spike child's reply has no done marker", found=body[length:].hex())
            return body[:length]
        except TimeoutError:
            self.close()
            raise SpikeTimeoutError(
                "the Spike child did not answer in time and was killed",
                expected=f"a reply within {timeout_s:g} s",
                found="none",
                hint="a kernel that does not end, or a low timeout_s; instruction_limit ends a kernel with a trap instead",
            ) from None
        except BaseException:
            self.close()  # a half-read reply must not be taken for the next one
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self.close()
        executable = self._executable or build()
        log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        try:
            child = subprocess.Popen(
                [str(executable), *self._arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0
            )
        except OSError:
            log.close()
            raise
        assert child.stdin is not None
        assert child.stdout is not None
        for pipe in (child.stdin, child.stdout):
            os.set_blocking(pipe.fileno(), False)
            with contextlib.suppress(PermissionError):  # over the user's limit; the default size works too
                fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._child, self._log = child, log
        self._finalizer = weakref.finalize(self, _end, child, log)
        return child

    def _write(self, pipe: int, data: memoryview, deadline: float) -> None:
        while data:
            _, ready, _ = select.select([], [pipe], [], _remaining(deadline))
            if ready:
                try:
                    data = data[os.write(pipe, data[:_SLICE]) :]
                except BrokenPipeError:
                    raise self._crash("the Spike child died while it read a request") from None

    def _read(self, pipe: int, size: int, deadline: float) -> bytearray:
        result = bytearray()
        while len(result) < size:
            ready, _, _ = select.select([pipe], [], [], _remaining(deadline))
            if ready:
                piece = os.read(pipe, min(size - len(result), _SLICE))
                if not piece:
                    raise self._crash("the Spike child died before it had answered")
                result += piece
        return result

    def _crash(self, summary: str, *, found: str = "") -> SpikeCrashError:
        assert self._child is not None
        assert self._log is not None
        try:  # a closed pipe is seen before the end of the process
            code: int | str = self._child.wait(timeout=0 if found else 1)
        except subprocess.TimeoutExpired:
            code = "still running"
        self._log.seek(0)
        output = self._log.read()[-2000:].decode(errors="replace").strip()
        details = "; ".join(part for part in (found, f"exit status {code}", output) if part)
        return SpikeCrashError(
            summary, expected="a reply with a done marker", found=details, hint="run the kernel alone with the same inputs"
        )


def _remaining(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _end(child: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout, log):
        if stream is not None:
            stream.close()
