"""Python face of the functional simulator."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from torchsim.errors import InvalidInputError
from torchsim.iss._core import Core
from torchsim.iss._core import kernel_variant as kernel_variant  # for callers: which element loops this host runs
from torchsim.iss.report import trap_error
from torchsim.iss.result import BlockCycles, Event, RunResult, Window
from torchsim.target.address_map import IMAGE_LIMIT

DEFAULT_INSTRUCTION_LIMIT = 1_000_000_000
POISON = 0xA5
_EBREAK = (0x0010_0073).to_bytes(4, "little")
_MOST_LANES, _MOST_SPAD_BYTES = 1024, 16 << 20


class Simulator:
    """One simulated core. Buffers are kept between runs; runs on one object take turns, different objects are independent.

    Args:
        lanes: vector lanes = side of the systolic array.
        spad_bytes_per_lane: scratchpad of one lane, a multiple of 8.
        sa_queue_rows: rows of the array's input and output queues.
        kernels: host instruction set of the element loops, "avx2" or "baseline"; by default the best that this host has. All give
            the same bits.
        pipe: ``pipe_*`` figures of the machine in core cycles; left-out ones have the defaults of ``torchsim.config.Machine``.

    Raises:
        InvalidInputError: a figure out of range.
    """

    def __init__(
        self, lanes: int, spad_bytes_per_lane: int, sa_queue_rows: int = 256, pipe: Mapping[str, int] | None = None, kernels: str = ""
    ) -> None:
        if not (
            1 <= lanes <= _MOST_LANES
            and 8 <= spad_bytes_per_lane <= _MOST_SPAD_BYTES
            and spad_bytes_per_lane % 8 == 0
            and sa_queue_rows >= 1
        ):
            raise InvalidInputError(
                "no such core",
                expected=f"1..{_MOST_LANES} lanes, 8..{_MOST_SPAD_BYTES} scratchpad bytes in steps of 8, at least one queue row",
                found=f"{lanes} lanes, {spad_bytes_per_lane} bytes, {sa_queue_rows} rows",
            )
        self.lanes = lanes
        self.spad_bytes_per_lane = spad_bytes_per_lane
        try:
            self._core = Core(lanes, spad_bytes_per_lane, sa_queue_rows, dict(pipe or {}), kernels)
        except ValueError as error:
            raise InvalidInputError("no core of these pipeline figures or kernels", found=str(error)) from error
        self._lock = threading.Lock()

    def run(
        self,
        image: bytes,
        base: int,
        entry: int,
        windows: Sequence[Window] = (),
        *,
        argument_block: int = 0,
        arguments: Sequence[int] = (),
        mode: Literal["early", "late"] = "early",
        dma: Literal["transfer", "fill"] = "transfer",
        instruction_limit: int = DEFAULT_INSTRUCTION_LIMIT,
        log: bool = False,
        footprint: bool = False,
        check_uninitialised: bool = False,
        check_divergence: bool = False,
        spad_fill: int = POISON,
        spad_used_bytes: int | None = None,
        spad: npt.NDArray[np.uint8] | None = None,
        vector_registers: npt.NDArray[np.uint8] | None = None,
        x: Mapping[int, int] | None = None,
        f: Mapping[int, int] | None = None,
        context: str = "",
    ) -> RunResult:
        """Run from ``entry`` until the kernel returns to its caller.

        Args:
            image: code, constants and argument block, loaded at ``base``.
            base, entry: addresses of the first byte of the image and of the first instruction.
            windows: tensor memory; the caller keeps the host bytes alive and in place.
            argument_block: address that a0 holds.
            arguments: further integers, a1 onwards.
            mode: when asynchronous transfers complete: "early" at issue, "late" at their WAIT, over poison.
            dma: "fill" replaces transfers: loads write zeros for DRAM elements, stores do nothing, ``windows`` is not used.
            instruction_limit: executed instructions, plus a 64th of the positions of all transfers.
            log: record transfers, waits and blocks.
            footprint: with ``log``, also the scratchpad bytes that each touches.
            check_uninitialised: trap when a scratchpad byte is read that nothing wrote.
            check_divergence: trap when a value that differs between lanes reaches a scalar register.
            spad_fill: byte that the scratchpad holds at the start.
            spad_used_bytes: what the kernel uses, checked against the scratchpad's size. (Starting a run costs what the last one wrote.)
            spad: contents at the start, uint8 [lanes, n].
            vector_registers: v0..v31 at the start, uint8 [lanes, 32, 32]; zero by default.
            x, f: registers at the start by number, over what the calling convention sets.
            context: what is running, for the text of a trap.

        Raises:
            TrapError: the program did something that the machine refuses; ``cause`` is one of docs/isa.md section 6.
            InvalidInputError: the call makes no sense.
        """
        if mode not in ("early", "late") or dma not in ("transfer", "fill"):
            raise InvalidInputError("no such DMA mode", expected="mode early or late, dma transfer or fill", found=f"{mode!r}, {dma!r}")
        if spad_used_bytes is not None and spad_used_bytes > self.spad_bytes_per_lane:
            raise InvalidInputError(
                "the kernel uses more scratchpad than there is", expected=f"at most {self.spad_bytes_per_lane}", found=str(spad_used_bytes)
            )
        if len(image) > IMAGE_LIMIT - 8:
            raise InvalidInputError("the image is too large", expected=f"less than {IMAGE_LIMIT} bytes", found=f"{len(image)} bytes")
        code = image + bytes(-len(image) % 4) + _EBREAK
        mask = (1 << 64) - 1
        with self._lock:
            core = self._core
            core.start(
                code,
                base,
                entry,
                base + len(code) - 4,
                [value & mask for value in (argument_block, *arguments)],
                [(w.address, w.host, w.nbytes, w.readable, w.writable) for w in windows],
                late=mode == "late",
                fill=dma == "fill",
                instruction_limit=instruction_limit,
                log=log,
                footprint=footprint,
                check_uninitialised=check_uninitialised,
                check_divergence=check_divergence,
                spad_fill=spad_fill,
            )
            if spad is not None:
                core.set_scratchpad(spad)
            if vector_registers is not None:
                core.set_vector_registers(vector_registers)
            if x:
                core.x = [x.get(number, value) & mask for number, value in enumerate(core.x)]
            if f:
                core.f = [f.get(number, value) & mask for number, value in enumerate(core.f)]
            raw = core.execute()
            if raw["trap"] is not None:
                cause, pc, detail = raw["trap"]
                raise trap_error(cause, pc, detail, image=code, base=base, registers=core.x, vl=core.vl, vtype=core.vtype, context=context)
        return RunResult(
            raw["instructions"],
            raw["scalar"],
            raw["vector"],
            raw["dma"],
            {block_id: BlockCycles(*cycles) for block_id, cycles in raw["block_summary"].items()},
            tuple(raw["blocks"]),
            tuple(Event(**fields) for fields in raw["events"]),
        )

    def scratchpad(self, nbytes: int | None = None) -> npt.NDArray[np.uint8]:
        """First ``nbytes`` of every lane's scratchpad after the last run, uint8 [lanes, nbytes]."""
        return self._core.scratchpad(self.spad_bytes_per_lane if nbytes is None else nbytes)

    def vector_registers(self) -> npt.NDArray[np.uint8]:
        """v0..v31 after the last run, uint8 [lanes, 32, 32]."""
        return self._core.vector_registers()

    @property
    def x(self) -> list[int]:
        """x0..x31 after the last run, unsigned."""
        return self._core.x

    @property
    def f(self) -> list[int]:
        """f0..f31 after the last run as bits."""
        return self._core.f
