"""Lock-step: the functional simulator and stock Spike one instruction at a time, up to the first one after which they differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from torchsim.target.isa.disassembler import disassemble

from .both import Both, mapped
from .cases import Case
from .compare import compare
from .oracle import POISON, SpikeResult
from .protocol import IMAGE_BASE, Mode, SpikeWindow, lay_out

MOST = 200_000  # instructions that one trace holds
_CONTROL = ("fcsr", "vcsr", "vl", "vtype")


@dataclass(frozen=True, slots=True)
class Kernel:
    """What both machines are given.

    Attributes:
        image: bytes loaded at ``base``.
        base, entry: addresses.
        argument_block: bytes behind the image, or the address where they lie in it.
        windows: tensors.
        spad: scratchpad before the kernel, uint8 [lanes, n], or None.
        spad_fill: byte of the rest of the scratchpad.
        mode: order of transfers.
    """

    image: bytes
    base: int = IMAGE_BASE
    entry: int = IMAGE_BASE
    argument_block: bytes | int = b""
    windows: tuple[SpikeWindow, ...] = ()
    spad: npt.NDArray[np.uint8] | None = None
    spad_fill: int = POISON
    mode: Mode = "early"


@dataclass(frozen=True, slots=True)
class State:
    """One machine after some instructions; ``end`` is None, "ended" or the cause of a trap."""

    registers: npt.NDArray[np.uint64]
    spad: npt.NDArray[np.uint8]
    windows: list[bytes]
    end: str | None


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first instruction after which the machines differ.

    Attributes:
        number: instructions before it.
        pc, word, text: its address, encoding and disassembly.
        differences: registers and memory after it, in words; each names both values.
    """

    number: int
    pc: int
    word: int
    text: str
    differences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(
            (f"instruction {self.number} at {self.pc:#x}: {self.word:08x}  {self.text}", *(f"  {one}" for one in self.differences))
        )


def kernel_of(case: Case, lanes: int) -> Kernel:
    """A random case as a kernel."""
    return Kernel(case.program().image(), spad=case.spad(lanes))


def first_difference(both: Both, kernel: Kernel, most: int = MOST) -> Divergence | None:
    """Where the machines first differ within ``most`` instructions, or None.

    Every register of every lane is compared after every instruction, and all memory after every instruction that may have written some.
    """
    ours, our_end = _iss(both, kernel, most, trace=True)
    theirs = _spike(both, kernel, most, trace=True)
    their_end = _end(theirs.trap.cause if theirs.trap else None)
    common = min(len(ours), len(theirs.steps))
    differs = np.flatnonzero((ours[:common] != theirs.steps[:common]).any(axis=1))
    if differs.size:
        return _describe(both, kernel, int(differs[0]))
    if len(ours) != len(theirs.steps) or our_end != their_end:
        return _describe(both, kernel, common)
    return None


def _end(cause: str | None) -> str | None:
    """As the simulator says it: None when only the limit stopped the run."""
    return None if cause == "instruction_limit" else cause or "ended"


def _iss(both: Both, kernel: Kernel, most: int, *, trace: bool) -> tuple[npt.NDArray[np.uint64], str | None]:
    """Start the simulator on the layout that Spike gets, and run; (steps, end)."""
    memory, arguments, return_address = lay_out(kernel.image, kernel.base, kernel.argument_block)
    core = both.iss._core
    both.mapped, windows = mapped(kernel.windows)
    core.start(
        memory,
        IMAGE_BASE,
        kernel.entry,
        return_address,
        [arguments],
        [(w.address, w.host, w.nbytes, w.readable, w.writable) for w in windows],
        late=kernel.mode == "late",
        fill=False,
        instruction_limit=1 << 62,
        log=False,
        footprint=False,
        check_uninitialised=False,
        check_divergence=False,
        spad_fill=kernel.spad_fill,
        accrue=True,
    )
    if kernel.spad is not None:
        core.set_scratchpad(kernel.spad)
    end, steps = core.steps(most, trace)
    return steps, end if end is None or isinstance(end, str) else end[0]


def _spike(both: Both, kernel: Kernel, most: int, *, trace: bool) -> SpikeResult:
    """Run at most so many instructions on Spike."""
    return both.spike.run(
        kernel.image,
        kernel.base,
        kernel.entry,
        kernel.argument_block,
        kernel.windows,
        mode=kernel.mode,
        spad=kernel.spad,
        spad_fill=kernel.spad_fill,
        traced=trace,
        instruction_limit=most,
    )


def _states(both: Both, kernel: Kernel, count: int) -> tuple[State, State]:
    """Both machines after ``count`` instructions, the simulator first."""
    _, end = _iss(both, kernel, count, trace=False)
    core = both.iss._core
    vectors = np.ascontiguousarray(core.vector_registers()).reshape(-1).view("<u8")
    plain = np.array([core.pc, *core.x, *core.f, core.fcsr, core.vcsr, core.vl, core.vtype], np.uint64)
    spad = core.scratchpad(both.iss.spad_bytes_per_lane)
    ours = State(np.concatenate([plain, vectors]), spad, [data.tobytes() for data in both.mapped], end)
    run = _spike(both, kernel, count, trace=False)
    return ours, State(run.registers, run.spad, run.windows, _end(run.trap.cause if run.trap else None))


def _describe(both: Both, kernel: Kernel, number: int) -> Divergence:
    before, _ = _states(both, kernel, number)
    ours, theirs = _states(both, kernel, number + 1)
    pc = int(before.registers[0])
    offset = pc - kernel.base
    code = kernel.image[offset : offset + 4] if 0 <= offset < len(kernel.image) else b""
    word = int.from_bytes(code.ljust(4, b"\0"), "little")
    if word & 3 != 3:
        word &= 0xFFFF
    found: list[str] = []
    if ours.end != theirs.end:
        found.append(f"simulator: {ours.end or 'runs on'}; Spike: {theirs.end or 'runs on'}")
    if ours.end is None or theirs.end is None or not found:
        found += _register_differences(before.registers, ours.registers, theirs.registers)
        found += [str(one) for one in compare(ours, theirs, windows=kernel.windows)]
    if not found:
        found.append("stack or image contents differ")
    return Divergence(number, pc, word, disassemble(word, pc), tuple(found))


def _register_differences(before: npt.NDArray[np.uint64], ours: npt.NDArray[np.uint64], theirs: npt.NDArray[np.uint64]) -> list[str]:
    """At most eight registers, each with both values and the one before."""
    lines: list[str] = []
    for place in np.flatnonzero(ours != theirs):
        name = _name(int(place))
        lines.append(f"{name}: {int(ours[place]):#018x}, Spike has {int(theirs[place]):#018x} (before: {int(before[place]):#018x})")
    return lines[:8] + ([f"and {len(lines) - 8} more registers"] if len(lines) > 8 else [])


def _name(place: int) -> str:
    """What a word of the register list is."""
    if place == 0:
        return "next pc"
    if place <= 64:
        return f"{'xf'[(place - 1) // 32]}{(place - 1) % 32}"
    if place < 65 + len(_CONTROL):
        return _CONTROL[place - 65]
    lane, rest = divmod(place - 65 - len(_CONTROL), 128)
    return f"v{rest // 4}, lane {lane}, bytes {rest % 4 * 8}..{rest % 4 * 8 + 7}"
