"""Choose a tile for a group without matmul: greedy growth over candidate extents, filtered by the exact footprint."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torchsim.config import Machine
from torchsim.plan.cost import Profile
from torchsim.plan.geometry import Geometry
from torchsim.plan.group import Group
from torchsim.plan.model import Tile
from torchsim.plan.order import default_vector_axis
from torchsim.plan.override import MAX_EXTENT, TileOverride
from torchsim.plan.schedule import Schedule
from torchsim.plan.vector_plan import VectorPlanner

_MAX_SPLITS = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tile with its estimated cycles and its footprint in bytes per lane."""

    cycles: float
    footprint: int
    tile: Tile


class TileSearch:
    """Finds good tiles of one group on one machine."""

    def __init__(self, group: Group, schedule: Schedule, machine: Machine, override: TileOverride | None) -> None:
        self.group, self.machine = group, machine
        self.override = override or TileOverride()
        self.names = [axis.name for axis in group.axes]
        self.stride = self.override.vlane_stride or 1
        self.fixed = {self.names.index(name): extent for name, extent in self.override.extents.items()}
        smallest = Tile((1,) * len(group.axes), group.parallel[0], 1, group.parallel[0])
        self.profile = Profile.of(VectorPlanner(group, schedule, smallest, machine.lanes).plan())

    def candidates(self) -> list[Candidate]:
        """The best tile per split axis within the budget, best first; the smallest tile at the end, whatever its footprint."""
        found: list[Candidate] = []
        for split in self._splits():
            best = self._grow(split)
            if best is not None:
                found.append(best)
        found.sort(key=lambda item: (item.cycles, item.tile.split))
        smallest = [self._candidate(tuple(choice[0] for choice in self._choices(split)), split) for split in self._splits()]
        return [*found, min(smallest, key=lambda item: item.footprint)]

    def _splits(self) -> list[int]:
        """Axes worth splitting: those that fill the lanes best; of these the ones that most tensors step through with small strides."""
        if self.override.split is not None:
            return [self.names.index(self.override.split)]
        lanes = self.machine.lanes

        def rank(axis: int) -> tuple[float, float]:
            extent = max(self.fixed.get(axis, self.group.axes[axis].extent), 1)
            occupancy = extent / (math.ceil(extent / lanes) * lanes)
            strides = [abs(stride) for entry in self.profile.traffic for other, stride in entry.strides if other == axis]
            return (-round(min(occupancy, 0.75), 1), sum(math.log2(stride + 1) for stride in strides))

        return sorted(self.group.parallel, key=rank)[:_MAX_SPLITS]

    def _choices(self, split: int) -> list[list[int]]:
        return [self._extents(axis, axis == split) for axis in range(len(self.group.axes))]

    def _extents(self, axis: int, split: bool) -> list[int]:
        """Candidate extents, ascending: powers of two (times the lanes on the split axis), even shares of the axis, the axis itself."""
        if axis in self.fixed:
            return [self.fixed[axis]]
        extent = max(self.group.axes[axis].extent, 1)
        unit = self.machine.lanes * self.stride if split else 1
        limit = min(extent, MAX_EXTENT // unit * unit if unit <= MAX_EXTENT else MAX_EXTENT)
        shares = {-(-(-(-extent // count)) // unit) * unit for count in range(1, 9)}
        powers = {unit << shift for shift in range(17)}
        return sorted({min(size, limit) for size in shares | powers})

    def _geometry(self, extents: tuple[int, ...], split: int) -> Geometry:
        return Geometry(self.group.axes, extents, split, self.stride, self.machine.lanes)

    def _candidate(self, extents: tuple[int, ...], split: int) -> Candidate:
        geometry = self._geometry(extents, split)
        named = self.override.vector_axis
        vector_axis = self.names.index(named) if named is not None else default_vector_axis(geometry)
        tile = Tile(extents, split, self.stride, vector_axis)
        return Candidate(self.profile.cycles(geometry, self.machine), self.profile.footprint(geometry), tile)

    def _starts(self, choices: list[list[int]]) -> Iterator[tuple[int, ...]]:
        """The smallest tile, and the smallest one that holds the whole reduction."""
        smallest = tuple(choice[0] for choice in choices)
        yield smallest
        whole = tuple(choice[-1] if self.group.axes[axis].reduction else choice[0] for axis, choice in enumerate(choices))
        if whole != smallest:
            yield whole

    def _grow(self, split: int) -> Candidate | None:
        """Greedy: from each start take the step to a larger extent that saves most, until none saves."""
        choices = self._choices(split)
        budget = self.machine.dispatch_budget_bytes
        best: Candidate | None = None
        for start in self._starts(choices):
            current = self._candidate(start, split)
            if current.footprint > budget:
                continue
            while True:
                steps = [self._candidate(extents, split) for extents in self._steps(current.tile.extents, choices)]
                steps = [item for item in steps if item.footprint <= budget and item.cycles < current.cycles]
                if not steps:
                    break
                current = min(steps, key=lambda item: (item.cycles, item.footprint))
            if best is None or current.cycles < best.cycles:
                best = current
        return best

    def _steps(self, extents: tuple[int, ...], choices: list[list[int]]) -> Iterator[tuple[int, ...]]:
        for axis, choice in enumerate(choices):
            larger = [size for size in choice if size > extents[axis]]
            for size in larger[:2]:
                yield (*extents[:axis], size, *extents[axis + 1 :])
