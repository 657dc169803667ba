"""Which axis compute vectors run along, and in which order the axes lie in a lane."""

from __future__ import annotations

from torchsim.plan.geometry import Geometry


def default_vector_axis(geometry: Geometry) -> int:
    """The longest axis in the lane, a parallel one where there is a tie: vectors there need no horizontal step."""
    return max(range(len(geometry.axes)), key=lambda axis: (geometry.in_lane(axis), not geometry.axes[axis].reduction, axis))


def layout_order(geometry: Geometry, vector_axis: int) -> tuple[int, ...]:
    """In-lane order of all axes, outermost first.

    Reduction axes go outermost, so that accumulating is elementwise, and the vector axis innermost; when vectors run along a reduction axis
    the parallel axes are outside, the longest of them last.
    """
    parallel = [axis for axis, item in enumerate(geometry.axes) if not item.reduction]
    reductions = [axis for axis, item in enumerate(geometry.axes) if item.reduction and axis != vector_axis]
    inner = vector_axis if vector_axis in parallel else max(parallel, key=geometry.in_lane)
    parallel = [*(axis for axis in parallel if axis != inner), inner]
    return (*reductions, *parallel) if inner == vector_axis else (*parallel, *reductions, vector_axis)
