"""Views of the timing operations, as the trace ABI wants them; read by the producer's two printers (LLVM and C++)."""

from __future__ import annotations

from dataclasses import dataclass

from torchsim._mlir import ir
from torchsim.dialect.build import Index, known
from torchsim.dialect.togsim import BlockInfo, get_int, get_list, get_text

DIRECTIONS = {"load": 0, "store": 1}
COMPUTE_TYPES = {"vector": 0, "matmul": 1, "preload": 2}
SA_WEIGHTS = -1


@dataclass(frozen=True, slots=True)
class RangeRecord:
    """As ``togsim_range``."""

    buffer: int
    arena_offset: int
    begin: Index
    length: int

    @property
    def fields(self) -> tuple[int, int, Index, int]:
        """In the order of the C struct."""
        return self.buffer, self.arena_offset, self.begin, self.length


WEIGHTS = RangeRecord(SA_WEIGHTS, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class DmaRecord:
    """As the arguments of ``togsim_api.dma``; loads write their buffer, stores read it."""

    direction: int
    arg: int
    offset: Index
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    highs: tuple[Index, ...]
    element_bits: int
    tag: Index
    reads: tuple[RangeRecord, ...]
    writes: tuple[RangeRecord, ...]

    @staticmethod
    def read(op: ir.Operation) -> DmaRecord:
        """From a ``togsim.dma``."""
        offset, begin, tag, *rest = (known(value) for value in op.operands)
        bounds = iter(rest)
        extents = get_list(op, "extents")
        highs = tuple(next(bounds) if bounded else extent for bounded, extent in zip(get_list(op, "bounded"), extents, strict=True))
        direction = DIRECTIONS[get_text(op, "direction")]
        touched = (RangeRecord(get_int(op, "buffer"), get_int(op, "buffer_offset"), begin, get_int(op, "length")),)
        reads, writes = ((), touched) if direction == DIRECTIONS["load"] else (touched, ())
        return DmaRecord(
            direction,
            get_int(op, "arg"),
            offset,
            extents,
            get_list(op, "dram_strides"),
            highs,
            get_int(op, "element_bits"),
            tag,
            reads,
            writes,
        )


@dataclass(frozen=True, slots=True)
class ComputeRecord:
    """As the arguments of ``togsim_api.compute``. Preloads write the virtual weight buffer, matmuls read it."""

    id: int
    type: int
    reads: tuple[RangeRecord, ...]
    writes: tuple[RangeRecord, ...]

    @staticmethod
    def read(op: ir.Operation, arena_offsets: tuple[int, ...]) -> ComputeRecord:
        """From a ``togsim.compute``; ``arena_offsets``: of every buffer of the plan."""
        info = BlockInfo.read(op)

        def ranges(parts: tuple, extra: bool) -> tuple[RangeRecord, ...]:
            found = tuple(RangeRecord(one.buffer, arena_offsets[one.buffer], one.begin, one.length) for one in parts)
            return (*found, WEIGHTS) if extra else found

        return ComputeRecord(
            info.id, COMPUTE_TYPES[info.kind], ranges(info.reads, info.kind == "matmul"), ranges(info.writes, info.kind == "preload")
        )
