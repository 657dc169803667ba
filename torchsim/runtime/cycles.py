"""Cycle table: what each compute block of a kernel costs (requirements L-9, S-6).

A block's cost depends on the block alone (docs/isa.md: BLOCK drains the pipeline at both ends, and all trip counts are static), so
one representative work-item, run with transfers replaced by fills, measures every block. No tensor data is needed, and a
functional run of the same code measures the same figures.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from torchsim.config import Machine
from torchsim.errors import InternalError
from torchsim.plan.arena import leaves
from torchsim.plan.model import Block, Item, KernelPlan
from torchsim.target.loader import Image


@dataclass(frozen=True, slots=True)
class CycleTable:
    """``rows[block id] = (cycles, overlapping)``: latency of a block, and the part of it in which its unit can take the next block."""

    rows: tuple[tuple[int, int], ...]
    origins: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Exact JSON form."""
        return json.dumps({"rows": self.rows, "origins": self.origins})

    @staticmethod
    def from_json(text: str) -> CycleTable:
        """Inverse of ``to_json``."""
        data = json.loads(text)
        return CycleTable(tuple((row[0], row[1]) for row in data["rows"]), tuple(data["origins"]))

    def to_text(self) -> str:
        """One line a block, ``cycles<TAB>overlapping``, then a ``# origins:`` line that loaders skip."""
        lines = [f"{cycles}\t{overlapping}" for cycles, overlapping in self.rows]
        return "\n".join([*lines, "# origins: " + ", ".join(self.origins)]) + "\n"


def blocks(body: tuple[Item, ...]) -> list[Block]:
    """All blocks of a plan body, loops entered once."""
    return [item for item in leaves(body) if isinstance(item, Block)]


def measure(plan: KernelPlan, image: Image, machine: Machine) -> CycleTable:
    """Run one work-item with transfers replaced by fills and read the cost of every block."""
    from torchsim.runtime.functional import run_representative

    all_blocks = blocks(plan.body)
    rows = [(0, 0)] * (1 + max((block.id for block in all_blocks), default=-1))
    measured = run_representative(plan, image, machine) if all_blocks and all(plan.grid) else {}
    for block in all_blocks:
        cost = measured.get(block.id)
        if cost is None:
            continue  # in a loop over zero reduction tiles: never executed, never recorded
        cycles, highest = cost
        if cycles != highest:
            raise InternalError(
                "a block's cost varies",
                expected="one cost per block",
                found=f"{cycles} and {highest} cycles",
                where=f"{plan.name} block {block.id}",
            )
        rows[block.id] = (cycles, _overlapping(block, cycles, machine))
    return CycleTable(tuple(rows), plan.origins)


def _overlapping(block: Block, cycles: int, machine: Machine) -> int:
    """Part of a block's latency that may overlap the next block of its unit.

    A matmul occupies the array while its rows enter; the drain overlaps. A preload fills a shadow weight slot and is hidden
    completely. Vector blocks do not overlap (PyTorchSim's rules).
    """
    if block.kind == "matmul":
        return max(cycles - -(-block.rows // machine.pipe_sa_push_rows_per_cycle), 0)
    return cycles if block.kind == "preload" else 0
