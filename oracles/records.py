"""Three-way record oracle (requirement H-4): plan = trace = executed.

Three lists of one kernel call are held against each other, in order: what the plan implies (torchsim.plan.enumerate, no IR), what
the trace producer
emits (and TOGSim times), and what the machine code executed. Transfers agree in addresses, extents, strides, bounds and tags;
blocks in ids. The scratchpad bytes
that each transfer and block really read and wrote must lie inside the ranges that the record declares and reach every buffer that
it declares: an omitted or an extra
buffer is a divergence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import togsim
from torchsim.errors import DivergenceError
from torchsim.plan import enumerate as plan_records
from torchsim.plan.enumerate import ByteRange, ComputeRecord, DmaRecord, WaitRecord
from torchsim.plan.model import KernelPlan, SpadBuffer
from torchsim.runtime.kernel import Kernel
from torchsim.runtime.launch import Launch, Observer
from torchsim.runtime.timing import producer

Bytes = tuple[tuple[int, int], ...]
"""Arena bytes as sorted, disjoint (first, past the last) pairs."""

_TYPES = {togsim.ComputeType.VECTOR: "vector", togsim.ComputeType.MATMUL: "matmul", togsim.ComputeType.PRELOAD: "preload"}
_RANK = 4


@dataclass(frozen=True, slots=True)
class Event:
    """One record in the form that all three legs share. ``what`` is compared first; ``reads`` and ``writes`` are None where a leg
    does not know them."""

    what: tuple[Any, ...]
    reads: Bytes | None = None
    writes: Bytes | None = None


def merge(pairs: Sequence[tuple[int, int]]) -> Bytes:
    """Sorted disjoint intervals of the same bytes; empty ones dropped."""
    merged: list[list[int]] = []
    for first, last in sorted(pair for pair in pairs if pair[0] < pair[1]):
        if merged and first <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return tuple((first, last) for first, last in merged)


def _pad(values: Sequence[int], filler: int) -> tuple[int, ...]:
    return (*(filler for _ in range(_RANK - len(values))), *(int(value) for value in values))


def _dma(
    direction: str,
    address: int,
    dims: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    element_bytes: int,
    tag: int,
) -> tuple[Any, ...]:
    """A transfer; strides of dimensions of extent 1 do not matter."""
    extents = _pad(dims, 1)
    steps = tuple(step if extent > 1 else 0 for step, extent in zip(_pad(strides, 0), extents, strict=True))
    return (direction, address, extents, steps, _pad(low, 0), _pad(high, 1), element_bytes, tag)


def plan_events(plan: KernelPlan, bases: Sequence[int]) -> Iterator[Event]:
    """The plan leg."""
    for item in plan_records.records(plan):
        for record in item.records:
            if isinstance(record, DmaRecord):
                address = bases[record.arg] + record.element_offset * record.element_bytes
                what = _dma(
                    record.direction, address, record.dims, record.dram_strides, record.low, record.high, record.element_bytes, record.tag
                )
                yield Event(what, _arena(record.reads), _arena(record.writes))
            elif isinstance(record, WaitRecord):
                yield Event(("wait", record.tag))
            else:
                assert isinstance(record, ComputeRecord)
                yield Event(("block", record.block_id, record.compute_type), _arena(record.reads), _arena(record.writes))


def _arena(ranges: Sequence[ByteRange | togsim.Range]) -> Bytes:
    return merge([(item.arena_offset + item.begin, item.arena_offset + item.begin + item.length) for item in ranges])


def trace_events(kernel: Kernel, bases: Sequence[int]) -> Iterator[Event]:
    """The trace leg: what the producer emits."""
    made = producer(kernel)
    yield from producer_events(made.kernel_address, made.abi_address, bases)


def producer_events(kernel_address: int, abi_address: int, bases: Sequence[int]) -> Iterator[Event]:
    """Records of any compiled producer."""
    for record in togsim.enumerate_records(kernel_address, abi_address, []):
        if isinstance(record, togsim.Dma):
            size = record.element_bits // 8
            direction = "load" if record.direction is togsim.Direction.LOAD else "store"
            what = _dma(
                direction,
                bases[record.arg_id] + record.element_offset * size,
                record.dims,
                record.strides,
                record.low,
                record.high,
                size,
                record.tag,
            )
            yield Event(what, _arena(record.reads), _arena(record.writes))
        elif isinstance(record, togsim.MemoryBar):
            yield Event(("wait", record.tag))
        elif isinstance(record, togsim.Compute):
            yield Event(("block", record.block_id, _TYPES[record.compute_type]), _arena(record.reads), _arena(record.writes))


def executed_events(plan: KernelPlan, log: Sequence[Any]) -> Iterator[Event]:
    """The executed leg: the functional simulator's log with footprints."""
    kinds = {block.id: block.kind for block in _blocks(plan)}
    for event in log:
        if event.kind in ("load", "store"):
            what = _dma(
                event.kind, event.dram_address, event.dims, event.dram_strides, event.low, event.high, event.element_bytes, event.tag
            )
            yield Event(what, merge(event.reads), merge(event.writes))
        elif event.kind == "wait":
            yield Event(("wait", event.tag))
        elif event.kind == "block_end":
            yield Event(("block", event.block_id, kinds.get(event.block_id, "unknown")), merge(event.reads), merge(event.writes))


def _blocks(plan: KernelPlan) -> Sequence[Any]:
    from torchsim.runtime.cycles import blocks

    return blocks(plan.body)


def check_equal(
    names: tuple[str, str], left: Sequence[Event], right: Sequence[Event], where: str, *, buffers: Sequence[SpadBuffer] | None = None
) -> None:
    """Compare two legs in order.

    Args:
        names: of the two legs.
        left: the declaring leg.
        right: the other leg.
        where: kernel, for the message.
        buffers: given when ``right`` was executed: its bytes are what was really touched, so they must lie inside the declared ranges, and
            writes must reach every declared buffer; otherwise the ranges must be equal.

    Raises:
        DivergenceError: the first record that differs, or another number of records.
    """
    for number, (a, b) in enumerate(zip(left, right, strict=False)):
        for part in ("what", "reads", "writes"):
            mine, theirs = getattr(a, part), getattr(b, part)
            same = mine == theirs if part == "what" or buffers is None else _covers(mine, theirs, buffers, reads=part == "reads")
            if not same:
                raise DivergenceError(
                    f"records differ: {names[0]} and {names[1]} at record {number}, "
                    + ("transfer, wait or block" if part == "what" else f"bytes that it {part}"),
                    expected=f"{names[0]}: {a.what} {'' if part == 'what' else mine}",
                    found=f"{names[1]}: {b.what} {'' if part == 'what' else theirs}",
                    where=where,
                    hint="plan against trace: the passes; trace against executed: skeleton or DMA lowering; see docs/read-a-failure.md",
                )
    if len(left) != len(right):
        longer = left if len(left) > len(right) else right
        raise DivergenceError(
            f"records differ: {names[0]} and {names[1]} have another number of records",
            expected=f"{names[0]}: {len(left)}",
            found=f"{names[1]}: {len(right)}",
            where=where,
            hint=f"the first one that only one side has: {longer[min(len(left), len(right))].what}",
        )


def _covers(declared: Bytes | None, touched: Bytes | None, buffers: Sequence[SpadBuffer], *, reads: bool) -> bool:
    """Whether the touched bytes lie inside the declared ranges, and writes reach every declared buffer.

    A declared read may be missing: LLVM drops the load of a value that it proves irrelevant (x - x). Plan and trace are still
    equal to the byte.
    """
    if declared is None or touched is None:
        return declared is touched
    if any(not any(first <= begin and end <= last for first, last in declared) for begin, end in touched):
        return False
    return reads or _buffers(declared, buffers) == _buffers(touched, buffers)


def _buffers(spans: Bytes, buffers: Sequence[SpadBuffer]) -> set[tuple[int, int]]:
    """Arena intervals of the buffers that the bytes belong to; buffers that share an interval count once."""
    return {
        (buffer.offset, buffer.bytes_per_lane)
        for buffer in buffers
        for first, last in spans
        if first < buffer.offset + buffer.bytes_per_lane and buffer.offset < last
    }


class RecordOracle(Observer):
    """Compares the three legs of every kernel call; the executed leg needs the option ``record``."""

    def __init__(self) -> None:
        self.checked = 0

    def after(self, launch: Launch) -> float | None:
        """Compare plan, trace and execution.

        Raises:
            DivergenceError: at the first record that differs.
        """
        kernel, bases = launch.call.kernel, launch.call.bases
        where = f"kernel {kernel.plan.name}, origins {', '.join(kernel.plan.origins)}"
        planned, traced = list(plan_events(kernel.plan, bases)), list(trace_events(kernel, bases))
        check_equal(("plan", "trace"), planned, traced, where)
        if launch.execution is not None and launch.options.record:
            executed = list(executed_events(kernel.plan, launch.execution.log))
            check_equal(("trace", "executed"), traced, executed, where, buffers=kernel.plan.buffers)
        self.checked += 1
        return None
