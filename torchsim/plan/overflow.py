"""The error for a plan that does not fit."""

from __future__ import annotations

from torchsim.config import Machine
from torchsim.errors import SpadOverflowError
from torchsim.plan.model import KernelPlan


def overflow(plan: KernelPlan, machine: Machine) -> SpadOverflowError:
    """The error for a plan that needs more scratchpad than a dispatch may use (requirement T-2)."""
    tile = ", ".join(f"{axis.name}={extent}" for axis, extent in zip(plan.axes, plan.tile.extents))
    sizes = sorted(plan.buffers, key=lambda buffer: -buffer.bytes_per_lane)
    listing = ", ".join(f"{buffer.name} {buffer.bytes_per_lane}" for buffer in sizes)
    return SpadOverflowError(
        f"kernel {plan.name} does not fit the scratchpad",
        expected=f"at most {machine.dispatch_budget_bytes} bytes per lane (half of {machine.spad_bytes_per_lane})",
        found=f"{plan.spad_bytes_per_lane} bytes per lane; buffers: {listing}",
        where=f"tile {tile}; origins: {', '.join(plan.origins) or 'none'}",
        hint="use a smaller tile, a machine with more scratchpad, or fewer fused operations",
    )
