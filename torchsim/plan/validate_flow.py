"""Rules of time: every load is waited for before use, every store before its buffer changes, and what is read has been written.

One work-item is run on the bytes of the arena, with tile loops cut to two iterations (the state must repeat) and chunk loops whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from torchsim.plan import layout
from torchsim.plan.checks import Checker
from torchsim.plan.model import Block, ChunkLoop, Item, Range, TileLoop, Transfer, Wait


@dataclass(frozen=True)
class _Outstanding:
    """A piece that may complete at any moment: its arena bytes and its argument."""

    transfer: Transfer
    begin: int
    end: int


def check_flow(check: Checker) -> None:
    """Run one work-item symbolically."""
    _Flow(check).run()


class _Flow:
    def __init__(self, check: Checker) -> None:
        self.check, self.plan = check, check.plan
        self.owner = np.full(self.plan.spad_bytes_per_lane, -1, np.int32)  # buffer whose data a byte holds
        self.outstanding: dict[int, _Outstanding] = {}
        self.env: dict[str, int] = dict.fromkeys((axis.name for axis in self.plan.axes), 0)

    def run(self) -> None:
        self._items(self.plan.body)
        self.check.that(
            not self.outstanding, "every transfer is waited for", "nothing outstanding at the end", f"tags {sorted(self.outstanding)}"
        )

    def _items(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, TileLoop):
                before = set(self.outstanding)
                for index in range(min(self.plan.tile_count(item.axis), 2)):
                    self.env[self.plan.axes[item.axis].name] = index
                    self._items(item.body)
                    same = set(self.outstanding) == before
                    self.check.that(
                        same, "a tile loop waits for its own transfers", f"tags {sorted(before)}", f"tags {sorted(self.outstanding)}"
                    )
                self.env[self.plan.axes[item.axis].name] = 0
            elif isinstance(item, ChunkLoop):
                for index in range(item.start, item.stop):
                    self.env[item.variable] = index
                    self._items(item.body)
            elif isinstance(item, Transfer):
                self._transfer(item)
            elif isinstance(item, Wait):
                self._wait(item)
            else:
                self._block(item)

    def _transfer(self, item: Transfer) -> None:
        plan, buffer = self.plan, self.plan.buffers[item.buffer]
        load = item.direction == "load"
        for other in self.outstanding.values():
            crossing = other.transfer.arg == item.arg and other.transfer.direction != item.direction
            self.check.that(
                not crossing,
                "loads and stores of a tensor do not run together",
                "a wait between",
                f"transfers {other.transfer.id} and {item.id}",
            )
        sizes = [
            (layout.in_lane_extent(dim.subtile, item.vlane_stride, plan.lanes) if place == item.split_dim else dim.subtile)
            for place, dim in enumerate(item.dims)
        ]
        length = layout.hull_elements(sizes, [dim.spad_stride for dim in item.dims]) * buffer.dtype.bytes
        for number, start in enumerate(np.ndindex(*(dim.extent // dim.subtile for dim in item.dims))):
            offset = 0
            for place, (index, dim) in enumerate(zip(start, item.dims)):
                position = index * dim.subtile
                offset += (
                    layout.in_lane(position, item.vlane_stride, plan.lanes) if place == item.split_dim else position
                ) * dim.spad_stride
            begin = buffer.offset + offset * buffer.dtype.bytes
            end = begin + length
            if load:
                self._may_write(begin, end, f"load {item.id}", {} if item.pieces == 1 else {item.id: True})
                self.owner[begin:end] = item.buffer
            else:
                self._may_read(item.buffer, begin, end, f"store {item.id}")
            tag = item.tag + number
            self.check.that(tag not in self.outstanding, "a tag is waited for before it is used again", "a wait", f"tag {tag}")
            self.outstanding[tag] = _Outstanding(item, begin, end)

    def _wait(self, item: Wait) -> None:
        tag = item.tag.at(self.env)
        self.check.that(tag in self.outstanding, "a wait completes a transfer", "an outstanding transfer", f"tag {tag}")
        del self.outstanding[tag]

    def _block(self, block: Block) -> None:
        for item in block.reads:
            begin, end = self._bytes(item)
            self._may_read(item.buffer, begin, end, f"block {block.id}")
        for item in block.writes:
            begin, end = self._bytes(item)
            self._may_write(begin, end, f"block {block.id}", {})
            self.owner[begin:end] = item.buffer

    def _bytes(self, item: Range) -> tuple[int, int]:
        begin = self.plan.buffers[item.buffer].offset + item.begin.at(self.env)
        return begin, begin + item.length

    def _may_read(self, buffer: int, begin: int, end: int, who: str) -> None:
        """The bytes hold the buffer's data and no load of them is outstanding."""
        name = self.plan.buffers[buffer].name
        self.check.that(
            bool((self.owner[begin:end] == buffer).all()),
            f"{who} reads what has been written",
            f"data of {name}",
            "bytes that nothing wrote or that another buffer took",
        )
        late = [
            tag for tag, other in self.outstanding.items() if other.transfer.direction == "load" and other.begin < end and begin < other.end
        ]
        self.check.that(not late, f"{who} comes after the waits for what it reads", f"a wait for {name}", f"tags {late} outstanding")

    def _may_write(self, begin: int, end: int, who: str, siblings: dict[int, bool]) -> None:
        """No outstanding transfer touches the bytes; pieces of one transfer may interleave."""
        late = [
            tag for tag, other in self.outstanding.items() if other.begin < end and begin < other.end and other.transfer.id not in siblings
        ]
        self.check.that(not late, f"{who} comes after the waits for what it overwrites", "a wait", f"tags {late} outstanding")
