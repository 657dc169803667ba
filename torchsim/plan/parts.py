"""The parts of a plan while it is being put together: buffers, tags, block ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torchsim.errors import CapacityError
from torchsim.plan.arena import place
from torchsim.plan.dtypes import DType
from torchsim.plan.geometry import Geometry, buffer_bytes, dense_strides
from torchsim.plan.group import Access, Group
from torchsim.plan.model import Affine, Direction, Item, KernelPlan, SpadBuffer, Tile, Transfer, Wait

MAX_TAGS = 1024


@dataclass
class Parts:
    """Collects buffers and hands out transfer ids, tags and block ids for one plan."""

    group: Group
    buffers: list[SpadBuffer] = field(default_factory=lambda: [])
    transfers: int = 0
    tags: int = 0
    blocks: int = 0

    def buffer(self, name: str, dtype: DType, axes: Sequence[int], geometry: Geometry) -> int:
        """A dense buffer over axes given outermost first; its index."""
        shape = geometry.shape(axes)
        taken = {item.name for item in self.buffers}
        unique, number = name, 1
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        self.buffers.append(SpadBuffer(unique, dtype, tuple(axes), shape, dense_strides(shape), buffer_bytes(shape, dtype), 0, 0, 0))
        return len(self.buffers) - 1

    def transfer(
        self, direction: Direction, access: Access, buffer: int, geometry: Geometry, subtiles: dict[int, int] | None = None
    ) -> Transfer:
        """An asynchronous transfer between a tensor and a buffer under tags of its own.

        Raises:
            CapacityError: out of tag slots.
        """
        spad = self.buffers[buffer]
        dims, split_dim, stride = geometry.dims(access, spad.axes, spad.strides, subtiles or {})
        arg = next(index for index, item in enumerate(self.group.args) if item.name == access.tensor)
        fill: int | float | bool = False if spad.dtype is DType.BOOL else 0.0 if spad.dtype.is_float else 0
        item = Transfer(self.transfers, direction, arg, buffer, geometry.element_offset(access), dims, split_dim, stride, self.tags, fill)
        self.transfers += 1
        self.tags += item.pieces
        if self.tags > MAX_TAGS:
            raise CapacityError(
                "too many transfers in one kernel", expected=f"at most {MAX_TAGS} tag slots", found=str(self.tags), where=self.group.name
            )
        return item

    def block_id(self) -> int:
        """The next block id."""
        self.blocks += 1
        return self.blocks - 1

    def plan(self, tile: Tile, lanes: int, body: Sequence[Item]) -> KernelPlan:
        """The finished plan, buffers placed in the arena."""
        group = self.group
        outputs = tuple((node.store.tensor, node.name) for node in group.nodes if node.store is not None)
        return KernelPlan(group.name, lanes, group.args, group.axes, tile, place(self.buffers, body), tuple(body), group.origins, outputs)


def wait_all(transfer: Transfer) -> list[Wait]:
    """One wait per piece."""
    return [Wait(Affine(transfer.tag + piece)) for piece in range(transfer.pieces)]
