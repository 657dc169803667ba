"""Run kernels on stock Spike: the oracle's Python interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np
import numpy.typing as npt

from torchsim.errors import InvalidInputError

from .protocol import IMAGE_BASE, TENSOR_BASE, Bytes, Mode, SpikeTrap, SpikeWindow, decode_reply, encode_request, lay_out
from .server import SpikeServer

DEFAULT_INSTRUCTION_LIMIT = 100_000_000
DEFAULT_TIMEOUT_S = 120.0
POISON = 0xA5


@dataclass(frozen=True, slots=True)
class SpikeResult:
    """State after a kernel.

    Attributes:
        windows: final contents of every window, in the order given; those of a read-only window are what was given.
        spad: final scratchpad, uint8 [lanes, bytes asked for].
        instructions: retired instructions, the closing ``ebreak`` not counted.
        trap: why the kernel ended early, or None when it ended at an ``ebreak``.
        registers: pc, x0..x31, f0..f31, fcsr, vcsr, vl, vtype and the vector registers lane by lane, uint64.
        steps: state after each instruction when traced, uint64 [n, 3] (``protocol``).
    """

    windows: list[bytes]
    spad: npt.NDArray[np.uint8]
    instructions: int
    trap: SpikeTrap | None
    registers: npt.NDArray[np.uint64]
    steps: npt.NDArray[np.uint64]


class SpikeOracle:
    """Runs kernels of one machine shape on stock Spike, in a child process that stays alive between them.

    Args:
        lanes: vector lanes = side of the systolic array.
        spad_bytes_per_lane: scratchpad bytes of a lane, a multiple of 4096.
        sa_queue_rows: rows of the array's input and output queues.

    A context manager; ``close`` ends the child (so does the garbage collector).

    Raises:
        InvalidInputError: no lanes, or a scratchpad that is not whole pages.
    """

    def __init__(self, lanes: int, spad_bytes_per_lane: int, sa_queue_rows: int = 256) -> None:
        if lanes < 1 or sa_queue_rows < 1:
            raise InvalidInputError("a machine needs lanes and queue rows", expected=">= 1", found=f"{lanes} lanes, {sa_queue_rows} rows")
        if spad_bytes_per_lane < 4096 or spad_bytes_per_lane % 4096:
            raise InvalidInputError(
                "Spike checks addresses by pages", expected="a multiple of 4096 scratchpad bytes", found=str(spad_bytes_per_lane)
            )
        self.lanes = lanes
        self.spad_bytes_per_lane = spad_bytes_per_lane
        self.server = SpikeServer(lanes, spad_bytes_per_lane, sa_queue_rows)

    def __enter__(self) -> SpikeOracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the child process."""
        self.server.close()

    def run(
        self,
        image: Bytes,
        base: int = IMAGE_BASE,
        entry: int = IMAGE_BASE,
        argument_block: Bytes | int = b"",
        windows: Sequence[SpikeWindow] = (),
        *,
        mode: Mode = "early",
        spad: npt.NDArray[np.uint8] | None = None,
        spad_fill: int = POISON,
        spad_used_bytes: int | None = None,
        traced: bool = False,
        instruction_limit: int = DEFAULT_INSTRUCTION_LIMIT,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> SpikeResult:
        """Run one kernel from zeroed registers and stack.

        Args:
            image: bytes of the image, loaded at ``base``.
            base: address of the image's first byte, 0x8000_0000 or above.
            entry: address of the first instruction.
            argument_block: bytes that a0 will point to (put on the page behind the image), or the address in the image
                where they lie already.
            windows: the tensors; device addresses, not overlapping.
            mode: when asynchronous transfers complete: "early" at issue, "late" at their WAIT, over poison.
            spad: scratchpad before the kernel, uint8 [lanes, n]; ``spad_fill`` from n on.
            spad_fill: byte that the scratchpad holds where ``spad`` says nothing; by default what the functional simulator has.
            spad_used_bytes: how much of each lane's scratchpad to bring back; all by default.
            traced: run one instruction at a time and bring back a digest of the state after each.
            instruction_limit: instructions after which the kernel traps with ``instruction_limit``.
            timeout_s: wall-clock seconds.

        Raises:
            SpikeTimeoutError, SpikeCrashError, SpikeUnavailableError: there is no result.
            InvalidInputError: image or windows do not fit the address map.
        """
        if mode not in ("early", "late"):
            raise InvalidInputError("no such order of transfers", expected="early or late", found=repr(mode))
        _check_windows(windows)
        if spad is not None and (
            spad.dtype != np.uint8 or spad.ndim != 2 or spad.shape[0] != self.lanes or spad.shape[1] > self.spad_bytes_per_lane
        ):
            expected = f"uint8 [{self.lanes}, up to {self.spad_bytes_per_lane}]"
            raise InvalidInputError("the given scratchpad has the wrong shape", expected=expected, found=f"{spad.dtype} {list(spad.shape)}")
        wanted = self.spad_bytes_per_lane if spad_used_bytes is None else min(spad_used_bytes, self.spad_bytes_per_lane)
        memory, arguments, return_address = lay_out(image, base, argument_block)
        request = encode_request(
            memory,
            entry=entry,
            arguments=arguments,
            return_address=return_address,
            windows=windows,
            spad=spad,
            spad_fill=spad_fill,
            spad_wanted=wanted,
            late=mode == "late",
            traced=traced,
            instruction_limit=instruction_limit,
        )
        reply = decode_reply(self.server.exchange(request, timeout_s), self.lanes, windows)
        final = np.full((self.lanes, wanted), spad_fill, np.uint8)  # the child sends only what can differ
        final[:, : reply.spad.shape[1]] = reply.spad
        written = iter(reply.windows)
        contents = [next(written) if window.writable else bytes(window.data) for window in windows]
        return SpikeResult(contents, final, reply.instructions, reply.trap, reply.registers, reply.steps)


def _check_windows(windows: Sequence[SpikeWindow]) -> None:
    end = TENSOR_BASE
    for window in sorted(windows, key=lambda one: one.address):
        if window.address < end:
            raise InvalidInputError(
                "windows overlap or lie below the tensors",
                expected=f"an address from {end:#x}",
                found=f"{window.address:#x}",
                where=window.name,
            )
        end = window.address + len(window.data)
