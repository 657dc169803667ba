"""DMA order oracle (requirement S-4): a kernel must give the same bytes when transfers complete as early and as late as allowed."""

from __future__ import annotations

from dataclasses import replace

from oracles import snapshot
from torchsim.errors import DivergenceError
from torchsim.runtime.functional import execute
from torchsim.runtime.launch import Launch, Observer


class DmaOrderOracle(Observer):
    """Runs every kernel call again in the other DMA order, on copies of the memory before the call."""

    def __init__(self) -> None:
        self.checked = 0
        self._before: snapshot.Snapshot | None = None

    def before(self, launch: Launch) -> None:
        """Keep the memory as it is before the call."""
        self._before = snapshot.take(launch.windows)

    def after(self, launch: Launch) -> float | None:
        """Run again and compare.

        Raises:
            DivergenceError: the kernel has a race between transfers and compute.
        """
        assert self._before is not None
        if launch.execution is None:
            return None
        other = "late" if launch.options.dma_order == "early" else "early"
        windows, copies = self._before.on_copies()
        execute(launch.call.kernel, launch.call.bases, windows, replace(launch.options, dma_order=other, record=False))
        found = snapshot.take(launch.windows).contents
        difference = snapshot.first_difference(launch.windows, found, copies)
        if difference is not None:
            plan = launch.call.kernel.plan
            raise DivergenceError(
                f"kernel {plan.name} has a race: {launch.options.dma_order} and {other} DMA completion give different values",
                found=difference,
                where=f"origins {', '.join(plan.origins)}",
                hint="a wait is missing, or a buffer is reused while a transfer is under way",
            )
        self.checked += 1
        return None
