"""Check a plan against every rule it must keep, independently of the code that made it."""

from __future__ import annotations

from torchsim.config import Machine
from torchsim.plan.arena import leaves, live_ranges
from torchsim.plan.checks import Checker
from torchsim.plan.geometry import ALIGNMENT
from torchsim.plan.layout import hull_elements
from torchsim.plan.model import Block, KernelPlan, TileLoop
from torchsim.plan.override import MAX_EXTENT
from torchsim.plan.validate_blocks import check_blocks
from torchsim.plan.validate_flow import check_flow
from torchsim.plan.validate_transfers import check_transfers


def validate(plan: KernelPlan, machine: Machine) -> None:
    """Check everything.

    Raises:
        PlanError: names the kernel, the rule and what breaks it.
    """
    check = Checker(plan)
    _check_tile(check, machine)
    _check_buffers(check, machine)
    _check_loops(check)
    check_transfers(check)
    check_blocks(check)
    check_flow(check)


def _check_tile(check: Checker, machine: Machine) -> None:
    plan, tile = check.plan, check.plan.tile
    check.that(plan.lanes == machine.lanes, "lanes", f"{machine.lanes}", f"{plan.lanes}")
    names = [axis.name for axis in plan.axes]
    check.that(len(set(names)) == len(names), "axis names differ", "distinct names", str(names))
    kinds = [axis.reduction for axis in plan.axes]
    check.that(kinds == sorted(kinds), "parallel axes come first", "parallel, then reduction", str(kinds))
    check.that(
        0 <= tile.split < len(plan.axes) and not plan.axes[tile.split].reduction,
        "the split axis is parallel",
        "a parallel axis",
        str(tile.split),
    )
    check.that(0 <= tile.vector_axis < len(plan.axes), "the vector axis exists", f"0..{len(plan.axes) - 1}", str(tile.vector_axis))
    check.that(
        tile.vlane_stride >= 1 and tile.vlane_stride & (tile.vlane_stride - 1) == 0,
        "vlane_stride",
        "a power of two",
        str(tile.vlane_stride),
    )
    array = any(isinstance(item, Block) and item.kind == "matmul" for item in leaves(plan.body))
    for index, (axis, extent) in enumerate(zip(plan.axes, tile.extents)):
        chunked = array and (axis.reduction or index == tile.split)
        limit = -(-max(axis.extent, 1) // plan.lanes) * plan.lanes if chunked else max(axis.extent, 1)
        check.that(1 <= extent <= min(limit, MAX_EXTENT), f"tile extent of axis {axis.name}", f"1..{min(limit, MAX_EXTENT)}", str(extent))
        check.that(not chunked or extent % plan.lanes == 0, f"array chunks along {axis.name}", f"a multiple of {plan.lanes}", str(extent))


def _check_buffers(check: Checker, machine: Machine) -> None:
    plan = check.plan
    actual = live_ranges(plan.body)
    for index, buffer in enumerate(plan.buffers):
        where = f"buffer {buffer.name}"
        check.that(
            len(buffer.axes) == len(buffer.shape) == len(buffer.strides),
            f"shape of {where}",
            "as many extents and strides as axes",
            str(buffer),
        )
        used = max(hull_elements(buffer.shape, buffer.strides), 2) * buffer.dtype.bytes
        check.that(buffer.bytes_per_lane >= used, f"allocation of {where}", f"at least {used} bytes", str(buffer.bytes_per_lane))
        aligned = buffer.offset >= 0 and buffer.offset % ALIGNMENT == 0 and buffer.bytes_per_lane % ALIGNMENT == 0
        check.that(aligned, f"alignment of {where}", f"multiples of {ALIGNMENT}", f"offset {buffer.offset}, {buffer.bytes_per_lane} bytes")
        first, last = actual.get(index, (buffer.first, buffer.last))
        check.that(
            buffer.first <= first and last <= buffer.last,
            f"live range of {where}",
            f"covers {first}..{last}",
            f"{buffer.first}..{buffer.last}",
        )
        for other in plan.buffers[:index]:
            apart = other.last < buffer.first or buffer.last < other.first
            disjoint = other.offset + other.bytes_per_lane <= buffer.offset or buffer.offset + buffer.bytes_per_lane <= other.offset
            check.that(apart or disjoint, "live buffers do not overlap", "disjoint bytes or live ranges", f"{other.name} and {buffer.name}")
    check.that(
        plan.spad_bytes_per_lane <= machine.dispatch_budget_bytes,
        "budget",
        f"at most {machine.dispatch_budget_bytes} bytes",
        str(plan.spad_bytes_per_lane),
    )


def _check_loops(check: Checker) -> None:
    plan = check.plan
    for scope in check.scopes:
        if not isinstance(scope.item, TileLoop):
            continue
        axis = plan.axes[scope.item.axis]
        check.that(axis.reduction, "tile loops run over reduction axes", "a reduction axis", axis.name)
        check.that(axis.name not in scope.variables, "each axis is looped once", "no loop around a loop of the same axis", axis.name)
        check.that(plan.tile_count(scope.item.axis) > 1, "tile loops have several tiles", "more than one tile", axis.name)
