"""Rules of transfers: hardware fields, places in DRAM and in the buffers, coverage of the domain, in-place updates."""

from __future__ import annotations

from torchsim.plan import layout
from torchsim.plan.checks import Checker, Scope
from torchsim.plan.model import Transfer
from torchsim.plan.override import MAX_EXTENT
from torchsim.plan.parts import MAX_TAGS


def check_transfers(check: Checker) -> None:
    """All rules of transfers."""
    plan = check.plan
    ids = [item.id for item, _ in check.transfers()]
    check.that(len(set(ids)) == len(ids), "transfer ids differ", "distinct ids", str(ids))
    used: dict[int, int] = {}
    for item, scope in check.transfers():
        _check_fields(check, item, scope)
        for tag in range(item.tag, item.tag + item.pieces):
            check.that(
                tag not in used, "tags belong to one transfer", "a tag of its own", f"tag {tag} of transfers {used.get(tag)} and {item.id}"
            )
            used[tag] = item.id
        _check_spad(check, item)
        _check_dram(check, item, scope)
    stored = {plan.args[item.arg].name for item, _ in check.transfers() if item.direction == "store"}
    declared = {arg for arg, _ in plan.outputs}
    check.that(stored == declared, "outputs are the arguments that are stored", str(sorted(declared)), str(sorted(stored)))
    _check_in_place(check)


def _check_fields(check: Checker, item: Transfer, scope: Scope) -> None:
    plan, name = check.plan, f"transfer {item.id}"
    check.that(
        0 <= item.arg < len(plan.args) and 0 <= item.buffer < len(plan.buffers),
        f"{name} names an argument and a buffer",
        "known ones",
        str(item),
    )
    arg, buffer = plan.args[item.arg], plan.buffers[item.buffer]
    forbidden = "output" if item.direction == "load" else "input"
    check.that(arg.role != forbidden, f"{name} respects the role of its argument", f"no {item.direction} of an {forbidden}", arg.name)
    check.that(arg.dtype is buffer.dtype, f"{name} moves one element type", arg.dtype.value, buffer.dtype.value)
    check.that(0 <= item.tag and item.tag + item.pieces <= MAX_TAGS, f"tags of {name}", f"below {MAX_TAGS}", f"{item.tag} + {item.pieces}")
    check.that(
        0 <= item.split_dim < len(item.dims) and item.vlane_stride >= 1,
        f"split dimension of {name}",
        "one of its dimensions",
        str(item.split_dim),
    )
    axes = [dim.axis for dim in item.dims]
    check.that(len(set(axes)) == len(axes), f"{name} has each axis once", "distinct axes", str(axes))
    for place, dim in enumerate(item.dims):
        check.that(1 <= dim.extent <= MAX_EXTENT, f"16-bit dimensions of {name}", f"1..{MAX_EXTENT}", str(dim.extent))
        for stride in (dim.dram_stride, dim.spad_stride):
            check.that(-(1 << 31) <= stride < 1 << 31, f"32-bit strides of {name}", "signed 32 bits", str(stride))
        whole = dim.subtile >= 1 and dim.extent % dim.subtile == 0
        turn = item.vlane_stride * plan.lanes if place == item.split_dim and dim.subtile != dim.extent else 1
        check.that(
            whole and dim.subtile % turn == 0,
            f"pieces of {name}",
            f"a divisor of {dim.extent} that is a multiple of {turn}",
            str(dim.subtile),
        )
        if dim.axis is None:
            copies = (
                dim.extent == plan.lanes
                and dim.dram_stride == 0
                and item.vlane_stride == 1
                and place == item.split_dim
                and item.direction == "load"
            )
            check.that(copies, f"replication in {name}", "a load with one copy per lane", str(dim))
            continue
        check.that(
            dim.extent == plan.tile.extents[dim.axis], f"{name} moves whole tiles", str(plan.tile.extents[dim.axis]), str(dim.extent)
        )
        axis = plan.axes[dim.axis]
        check.that(
            dim.bounded == (axis.extent % dim.extent != 0),
            f"{name} is bounded where tiles stick out",
            str(axis.extent % dim.extent != 0),
            str(dim.bounded),
        )
    check.in_scope(item.element_offset, scope, f"the offset of {name}")


def _check_spad(check: Checker, item: Transfer) -> None:
    """The in-lane box lies inside the buffer and no two positions of a lane share a place."""
    plan, buffer = check.plan, check.plan.buffers[item.buffer]
    boxes = [
        (layout.in_lane_extent(dim.extent, item.vlane_stride, plan.lanes) if place == item.split_dim else dim.extent, dim.spad_stride)
        for place, dim in enumerate(item.dims)
    ]
    positive = all(stride >= 0 for _, stride in boxes)
    used = layout.hull_elements([extent for extent, _ in boxes], [stride for _, stride in boxes]) * buffer.dtype.bytes
    check.that(
        positive and used <= buffer.bytes_per_lane,
        f"transfer {item.id} stays inside {buffer.name}",
        f"{buffer.bytes_per_lane} bytes",
        str(used),
    )
    span = 1
    for extent, stride in sorted(((extent, stride) for extent, stride in boxes if extent > 1), key=lambda box: box[1]):
        check.that(stride >= span, f"transfer {item.id} has one place per position", f"a spad stride of at least {span}", str(stride))
        span = stride * (extent - 1) + span
    expected = dict(zip(buffer.axes, buffer.strides))
    for dim in item.dims:
        if dim.axis is not None:
            check.that(
                expected.get(dim.axis) == dim.spad_stride,
                f"transfer {item.id} follows {buffer.name}",
                str(expected.get(dim.axis)),
                str(dim.spad_stride),
            )


def access_strides(check: Checker, item: Transfer) -> list[int]:
    """DRAM stride of every axis, from the dimensions or from the offset's dependence on the tile index."""
    plan = check.plan
    terms = dict(item.element_offset.terms)
    dims = {dim.axis: dim.dram_stride for dim in item.dims}
    strides: list[int] = []
    for index, axis in enumerate(plan.axes):
        step, extent = terms.get(axis.name, 0), plan.tile.extents[index]
        stride = dims[index] if index in dims else step // extent
        moving = plan.tile_count(index) > 1
        check.that(
            step == (stride * extent if moving else 0),
            f"transfer {item.id} moves with axis {axis.name}",
            str(stride * extent if moving else 0),
            str(step),
        )
        held = index in dims or extent == 1 or stride == 0
        check.that(held, f"transfer {item.id} holds axis {axis.name}", "a dimension for the axis", "only an offset")
        strides.append(stride)
    return strides


def _interval(check: Checker, item: Transfer) -> tuple[int, int]:
    spans = [stride * (axis.extent - 1) for stride, axis in zip(access_strides(check, item), check.plan.axes)]
    return item.element_offset.constant + sum(s for s in spans if s < 0), item.element_offset.constant + sum(s for s in spans if s > 0)


def _check_dram(check: Checker, item: Transfer, scope: Scope) -> None:
    """Elements stay inside the argument; a store reaches every position of its axes exactly once."""
    plan = check.plan
    strides = access_strides(check, item)
    if any(axis.extent == 0 for axis in plan.axes if not axis.reduction):
        return
    low, high = _interval(check, item)
    elements = plan.args[item.arg].elements
    check.that(
        0 <= low and high < elements, f"transfer {item.id} stays inside {plan.args[item.arg].name}", f"0..{elements - 1}", f"{low}..{high}"
    )
    if item.direction == "load":
        return
    buffer_axes = plan.buffers[item.buffer].axes
    span = 0
    for stride, axis in sorted(
        (abs(stride), axis.extent)
        for index, (stride, axis) in enumerate(zip(strides, plan.axes))
        if index in buffer_axes or not axis.reduction
    ):
        if axis > 1:
            check.that(stride > 0, f"store {item.id} reaches each element once", "a stride on every axis", "stride 0")
            span += stride * (axis - 1)
    for index, axis in enumerate(plan.axes):
        depends = index in buffer_axes and axis.reduction and plan.tile_count(index) > 1
        check.that(
            not depends or axis.name in scope.variables, f"store {item.id} runs over the tiles of {axis.name}", "a loop around it", "none"
        )
        once = not (axis.name in scope.variables and index not in buffer_axes)
        check.that(once, f"store {item.id} happens once", f"outside of the loop over {axis.name}", "inside")


def _check_in_place(check: Checker) -> None:
    """A tensor that is read and written is read and written at the same place (rule 10), and read first."""
    plan = check.plan
    transfers = check.transfers()
    for store, at in transfers:
        for load, before in transfers:
            if store.direction != "store" or load.direction != "load" or store.arg != load.arg:
                continue
            (low, high), (first, last) = _interval(check, load), _interval(check, store)
            if high < first or last < low:
                continue
            longer = [index for index, axis in enumerate(plan.axes) if axis.extent > 1]
            maps = [
                (item.element_offset.constant, [stride for index, stride in enumerate(access_strides(check, item)) if index in longer])
                for item in (load, store)
            ]
            check.that(
                maps[0] == maps[1], "a tensor is updated element for element", f"the map of load {load.id}", f"the map of store {store.id}"
            )
            check.that(
                before.position < at.position, "what is updated in place is read first", f"load {load.id} before store {store.id}", "after"
            )
