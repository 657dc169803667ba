"""A plan as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchsim.plan.model import Affine, Block, BufferRef, ChunkLoop, Item, KernelPlan, PositionExpr, Range, TileLoop, Transfer, Wait


def describe(plan: KernelPlan) -> str:
    """Several lines: domain and tile, buffers by arena offset, then the program of one work-item.

    In transfers ``|`` marks the dimension over the lanes, ``?`` one that the axis's end may cut, ``/`` the extent of a piece, ``@`` the
    DRAM stride.
    """
    tile = plan.tile
    lines = [f"kernel {plan.name}: {plan.lanes} lanes, grid {' x '.join(map(str, plan.grid))}, {plan.spad_bytes_per_lane} bytes per lane"]
    if plan.origins:
        lines.append(f"origins: {', '.join(plan.origins)}")
    for index, axis in enumerate(plan.axes):
        marks = (
            ["reduction"] * axis.reduction
            + [f"split over lanes, {tile.vlane_stride} each"] * (index == tile.split)
            + ["vectors"] * (index == tile.vector_axis)
        )
        lines.append(
            f"axis {axis.name}: {axis.extent} in {plan.tile_count(index)} tiles of {tile.extents[index]}"
            + (f" ({'; '.join(marks)})" if marks else "")
        )
    for index, arg in enumerate(plan.args):
        lines.append(f"arg {index} {arg.name}: {arg.role} {arg.dtype.value} x {arg.elements}")
    for buffer in sorted(plan.buffers, key=lambda item: (item.offset, item.name)):
        shape = " x ".join(f"{plan.axes[axis].name}={extent}" for axis, extent in zip(buffer.axes, buffer.shape)) or "1"
        place = f"at {buffer.offset}, {buffer.bytes_per_lane} bytes, live {buffer.first}..{buffer.last}"
        lines.append(f"buffer {buffer.name}: {buffer.dtype.value} [{shape}] {place}")
    lines += [f"  {line}" for line in _items(plan, plan.body)]
    return "\n".join(lines)


def _items(plan: KernelPlan, items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, TileLoop):
            yield f"for {plan.axes[item.axis].name} in 0..{plan.tile_count(item.axis)}:"
            yield from (f"  {line}" for line in _items(plan, item.body))
        elif isinstance(item, ChunkLoop):
            yield f"for {item.variable} in {item.start}..{item.stop}:"
            yield from (f"  {line}" for line in _items(plan, item.body))
        elif isinstance(item, Transfer):
            yield _transfer(plan, item)
        elif isinstance(item, Wait):
            yield f"wait {_affine(item.tag)}"
        else:
            yield from _block(plan, item)


def _affine(value: Affine) -> str:
    return " + ".join(
        [f"{coefficient}*{name}" for name, coefficient in value.terms] + [str(value.constant)] * (value.constant != 0 or not value.terms)
    )


def _transfer(plan: KernelPlan, item: Transfer) -> str:
    arg, buffer = plan.args[item.arg].name, plan.buffers[item.buffer].name
    dims: list[str] = []
    for place, dim in enumerate(item.dims):
        name = ("lanes" if dim.axis is None else plan.axes[dim.axis].name) + "|" * (place == item.split_dim)
        piece = f"/{dim.subtile}" if dim.subtile != dim.extent else ""
        dims.append(f"{name}={dim.extent}{'?' * dim.bounded}{piece}@{dim.dram_stride}")
    way = f"{buffer} <- {arg}" if item.direction == "load" else f"{arg} <- {buffer}"
    return f"{item.direction} {way}[{_affine(item.element_offset)}] ({', '.join(dims)}) tag {item.tag}"


def _block(plan: KernelPlan, block: Block) -> Iterator[str]:
    if block.kind == "preload":
        assert block.weight
        yield f"block {block.id}: preload {_range(plan, block.weight)}"
        return
    if block.kind == "matmul":
        assert block.data
        assert block.out
        yield f"block {block.id}: matmul {_range(plan, block.out)} += {_range(plan, block.data)} ({block.rows} rows)"
        return
    loops = " ".join(f"{plan.axes[loop.axis].name}={loop.extent}" for loop in block.loops)
    yield f"block {block.id}: for {loops}, vectors of {block.vector_length}" + (
        f", lanes over {plan.axes[block.split].name}" if block.split is not None else ""
    )
    for index, op in enumerate(block.ops):
        words = [f"%{arg}" for arg in op.args]
        if isinstance(op.attribute, BufferRef):
            words.append(_ref(plan, op.attribute))
        elif isinstance(op.attribute, PositionExpr):
            words.append(
                " + ".join(f"{c}*{plan.axes[axis].name}" for axis, c in enumerate(op.attribute.coefficients) if c)
                + f" + {op.attribute.offset}"
            )
        elif op.attribute is not None:
            words.append(repr(op.attribute))
        yield f"  %{index} = {op.name} {', '.join(words)} : {op.dtype.value}"
    for store in block.stores:
        yield f"  {_ref(plan, store.ref)} = %{store.value}"
    for item in block.reduces:
        yield f"  {_ref(plan, item.ref)} = {item.kind}(_, %{item.value})"


def _ref(plan: KernelPlan, ref: BufferRef) -> str:
    return f"{plan.buffers[ref.buffer].name}[{ref.offset} by {', '.join(map(str, ref.strides))}]"


def _range(plan: KernelPlan, item: Range) -> str:
    return f"{plan.buffers[item.buffer].name}+{_affine(item.begin)}..+{item.length}"
