"""Rules of compute blocks: references, types, vector lengths, declared ranges, masks."""

from __future__ import annotations

from collections.abc import Iterator

from torchsim.plan.blocks import derived_ranges
from torchsim.plan.checks import Checker, Scope
from torchsim.plan.dtypes import DType
from torchsim.plan.geometry import Geometry
from torchsim.plan.identity import identity
from torchsim.plan.layout import hull_elements
from torchsim.plan.model import Block, BlockOp, BufferRef, PositionExpr, Range
from torchsim.plan.ops import OPS, REDUCTIONS
from torchsim.plan.poison import relied_upon
from torchsim.plan.vectors import widest_bits

_MAX_GROUP_BITS = 2048  # LMUL 8


def check_blocks(check: Checker) -> None:
    """All rules of blocks."""
    ids = [block.id for block, _ in check.blocks()]
    check.that(len(set(ids)) == len(ids), "block ids differ", "distinct ids", str(ids))
    operands = relied_upon(check.plan)
    for block, scope in check.blocks():
        if block.kind == "vector":
            _check_vector(check, block)
            _check_masks(check, block, scope, operands)
        else:
            _check_array(check, block, scope)
        derived = derived_ranges(block, check.plan.buffers)
        check.that(block.reads == derived[0], f"declared reads of block {block.id}", str(derived[0]), str(block.reads))
        check.that(block.writes == derived[1], f"declared writes of block {block.id}", str(derived[1]), str(block.writes))
        for item in (*block.reads, *block.writes):
            _check_range(check, block, item, scope)


def _check_range(check: Checker, block: Block, item: Range, scope: Scope) -> None:
    check.in_scope(item.begin, scope, f"a range of block {block.id}")
    last = item.begin.constant + sum(
        max(coefficient, 0) * scope.variables.get(name, check.parallel.get(name, 0)) for name, coefficient in item.begin.terms
    )
    size = check.plan.buffers[item.buffer].bytes_per_lane
    inside = item.begin.constant >= 0 and all(c >= 0 for _, c in item.begin.terms) and item.length > 0 and last + item.length <= size
    check.that(
        inside, f"block {block.id} stays inside {check.plan.buffers[item.buffer].name}", f"{size} bytes", f"up to {last + item.length}"
    )


def _references(block: Block) -> Iterator[tuple[BufferRef, DType, bool]]:
    """(reference, type of the value, whether it is written)."""
    for op in block.ops:
        if isinstance(op.attribute, BufferRef):
            yield op.attribute, op.dtype, False
    for store in block.stores:
        yield store.ref, block.ops[store.value].dtype, True
    for item in block.reduces:
        yield item.ref, block.ops[item.value].dtype, True


def _check_vector(check: Checker, block: Block) -> None:
    plan, name = check.plan, f"block {block.id}"
    check.that(
        bool(block.loops) and all(loop.extent >= 1 for loop in block.loops),
        f"loops of {name}",
        "at least one, extents from 1",
        str(block.loops),
    )
    check.that(bool(block.stores) != bool(block.reduces), f"{name} stores or reduces", "one of the two", "both or neither")
    for index, op in enumerate(block.ops):
        check.that(op.name in OPS and op.name != "value", f"operation {index} of {name} is one of plan.ops", "a block operation", op.name)
        early = len(op.args) == OPS[op.name].arity and all(0 <= arg < index for arg in op.args)
        check.that(early, f"arguments of operation {index} of {name}", f"{OPS[op.name].arity} earlier operations", str(op.args))
        _check_types(check, block, index, op)
    values = [item.value for item in (*block.stores, *block.reduces)]
    check.that(all(0 <= value < len(block.ops) for value in values), f"results of {name}", "operations of the block", str(values))
    for ref, dtype, written in _references(block):
        check.that(0 <= ref.buffer < len(plan.buffers), f"buffers of {name}", "known buffers", str(ref))
        buffer = plan.buffers[ref.buffer]
        check.that(buffer.dtype is dtype, f"type of {buffer.name} in {name}", buffer.dtype.value, dtype.value)
        check.that(
            len(ref.strides) == len(block.loops), f"strides into {buffer.name} in {name}", str(len(block.loops)), str(len(ref.strides))
        )
        used = (ref.offset + hull_elements([loop.extent for loop in block.loops], ref.strides)) * dtype.bytes
        check.that(
            ref.offset >= 0 and min(ref.strides) >= 0 and used <= buffer.bytes_per_lane,
            f"{name} stays inside {buffer.name}",
            f"{buffer.bytes_per_lane}",
            f"{used}",
        )
        check.that(not written or ref.strides[-1] in (0, 1), f"vectors of {name} along {buffer.name}", "stride 1", str(ref.strides[-1]))
    for store in block.stores:
        once = all(stride > 0 or loop.extent == 1 for stride, loop in zip(store.ref.strides, block.loops))
        check.that(once, f"{name} stores each element once", "a stride on every loop", str(store.ref.strides))
    for item in block.reduces:
        check.that(item.kind in REDUCTIONS, f"reduction of {name}", ", ".join(REDUCTIONS), item.kind)
    bits = block.vector_length * widest_bits(block.ops)
    check.that(
        block.vector_length >= 2 and bits <= _MAX_GROUP_BITS,
        f"vector length of {name}",
        f"at least 2 and at most {_MAX_GROUP_BITS} bits",
        f"{bits} bits",
    )


def _check_types(check: Checker, block: Block, index: int, op: BlockOp) -> None:
    types = [block.ops[arg].dtype for arg in op.args]
    rule, what = OPS[op.name].result, f"types of operation {index} ({op.name}) of block {block.id}"
    if op.name == "where":
        check.that(types[0] is DType.BOOL and types[1] is types[2] is op.dtype, what, "bool, then the result's type twice", str(types))
    elif rule == "same":
        check.that(all(kind is op.dtype for kind in types), what, op.dtype.value, str(types))
    elif rule == "bool":
        check.that(op.dtype is DType.BOOL and len(set(types)) <= 1, what, "equal arguments, bool result", str(types))
    kinds = {"load": BufferRef, "index": PositionExpr, "in_range": PositionExpr, "constant": (bool, int, float)}
    check.that(
        isinstance(op.attribute, kinds.get(op.name, type(None))),
        f"attribute of operation {index} of block {block.id}",
        op.name,
        repr(op.attribute),
    )
    if isinstance(op.attribute, PositionExpr):
        _check_positions(check, block, op.attribute)


def _check_positions(check: Checker, block: Block, expr: PositionExpr) -> None:
    """Axes whose positions are asked for are looped over unmerged (or have in-lane extent 1 and no loop)."""
    plan = check.plan
    split = plan.tile.split if block.split is None else block.split
    geometry = Geometry(plan.axes, plan.tile.extents, split, plan.tile.vlane_stride, plan.lanes)
    check.that(
        len(expr.coefficients) == len(plan.axes), f"positions in block {block.id}", f"{len(plan.axes)} coefficients", str(expr.coefficients)
    )
    for axis, coefficient in enumerate(expr.coefficients):
        if coefficient:
            extents = [loop.extent for loop in block.loops if loop.axis == axis] or [1]
            check.that(
                extents == [geometry.in_lane(axis)],
                f"positions of axis {plan.axes[axis].name} in block {block.id}",
                str(geometry.in_lane(axis)),
                str(extents),
            )


def _check_masks(check: Checker, block: Block, scope: Scope, operands: set[int]) -> None:
    """Padding never reaches an accumulator or the array (rule 3), and a reduction runs over all tiles of its axes."""
    plan = check.plan
    reductions = [index for index, axis in enumerate(plan.axes) if axis.reduction]
    ragged = {axis for axis in reductions if plan.axes[axis].extent % plan.tile.extents[axis]}
    protected = [(item.value, identity(item.kind, block.ops[item.value].dtype)) for item in block.reduces]
    protected += [(store.value, 0.0) for store in block.stores if store.ref.buffer in operands]
    for value, neutral in protected:
        _check_tiles(check, block, scope)
        check.that(
            not ragged or _masked(block, value, ragged, neutral),
            f"padding is masked in block {block.id}",
            f"where(in_range, _, {neutral})",
            f"operation {value}",
        )


def _masked(block: Block, value: int, axes: set[int], neutral: int | float | bool) -> bool:
    op = block.ops[value]
    if op.name != "where":
        return False
    mask, other = block.ops[op.args[0]], block.ops[op.args[2]]
    covers = (
        mask.name == "in_range"
        and isinstance(mask.attribute, PositionExpr)
        and axes <= {i for i, c in enumerate(mask.attribute.coefficients) if c}
    )
    return covers and other.name == "constant" and other.attribute == neutral


def _check_tiles(check: Checker, block: Block, scope: Scope) -> None:
    for index, axis in enumerate(check.plan.axes):
        needed = axis.reduction and check.plan.tile_count(index) > 1
        check.that(
            not needed or axis.name in scope.variables, f"block {block.id} runs over the tiles of {axis.name}", "a loop around it", "none"
        )


def _check_array(check: Checker, block: Block, scope: Scope) -> None:
    """Preloads push L f32 weights a lane; matmuls push, pop and accumulate ``rows`` f32 rows, over all tiles of k."""
    plan, name = check.plan, f"block {block.id}"
    _check_tiles(check, block, scope)
    expected = {
        "preload": (("weight", block.weight, plan.lanes),),
        "matmul": (("data", block.data, block.rows), ("out", block.out, block.rows)),
    }[block.kind]
    check.that(block.kind == "preload" or block.rows >= 1, f"rows of {name}", "at least 1", str(block.rows))
    for what, item, count in expected:
        check.that(item is not None and 0 <= item.buffer < len(plan.buffers), f"{what} of {name}", "a range of a buffer", str(item))
        if item is not None:
            check.that(
                item.length == count * 4 and plan.buffers[item.buffer].dtype is DType.F32,
                f"{what} of {name}",
                f"{count} f32 elements",
                f"{item.length} bytes",
            )
