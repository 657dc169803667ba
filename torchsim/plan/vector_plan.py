"""Plans of groups without a matmul: pointwise work and reductions, over one tile."""

from __future__ import annotations

from collections.abc import Sequence

from torchsim.errors import UnsupportedError
from torchsim.plan.blocks import reference, vector_block
from torchsim.plan.bodies import Body
from torchsim.plan.dtypes import DType
from torchsim.plan.geometry import Geometry
from torchsim.plan.group import Access, Group, Node
from torchsim.plan.identity import identity
from torchsim.plan.model import Block, BlockLoop, BlockReduce, BlockStore, BufferRef, Item, KernelPlan, Tile, TileLoop, Transfer
from torchsim.plan.order import layout_order
from torchsim.plan.parts import Parts, wait_all
from torchsim.plan.schedule import Level, Pass, Schedule, accumulates_in_result_type


class VectorPlanner:
    """Builds the plan of one group for one tile."""

    def __init__(self, group: Group, schedule: Schedule, tile: Tile, lanes: int) -> None:
        self.group, self.schedule, self.tile, self.lanes = group, schedule, tile, lanes
        self.geometry = Geometry(group.axes, tile.extents, tile.split, tile.vlane_stride, lanes)
        self.order = layout_order(self.geometry, tile.vector_axis)
        self.parts = Parts(group)
        self.nodes = {node.name: node for node in group.nodes}
        self.looped = [axis for axis in group.reductions if self.geometry.tiles(axis) > 1]
        self.empty = any(group.axes[axis].extent == 0 for axis in group.reductions)
        self.inputs: dict[Access, int] = {}
        self.values: dict[str, int] = {}
        self.items: list[Item] = []
        self.pending_loads: dict[int, Transfer] = {}
        self.pending_stores: list[Transfer] = []

    def plan(self) -> KernelPlan:
        """The whole kernel."""
        for index, level in enumerate(self.schedule.levels):
            self._level(level, index)
            if index < len(self.schedule.passes):
                self._pass(self.schedule.passes[index])
        # At the end every load has been waited for, so that a tensor that is updated in place is read before it is written.
        self.items += self.pending_stores
        self.items += [wait for store in self.pending_stores for wait in wait_all(store)]
        loads = [item for item in self.items if isinstance(item, Transfer) and item.direction == "load"]
        rest = [item for item in self.items if not (isinstance(item, Transfer) and item.direction == "load")]
        return self.parts.plan(self.tile, self.lanes, [*loads, *rest])

    # -- loads and stores

    def _in_loop(self, access: Access) -> bool:
        return any(access.coefficients[axis] for axis in self.looped)

    def _input(self, access: Access) -> int:
        """Buffer of a load, made at its first use; the axes it depends on, and the split axis when that has a single position."""
        if access not in self.inputs:
            axes = [
                axis for axis in self.order if access.coefficients[axis] or (axis == self.tile.split and self.group.axes[axis].extent == 1)
            ]
            self.inputs[access] = self.parts.buffer(f"in_{access.tensor}", self.group.arg(access.tensor).dtype, axes, self.geometry)
            if not self._in_loop(access):
                transfer = self.parts.transfer("load", access, self.inputs[access], self.geometry)
                self.items.append(transfer)
                self.pending_loads[self.inputs[access]] = transfer
        return self.inputs[access]

    def _wait_inputs(self, buffers: Sequence[int]) -> None:
        """Wait for loads outside of the loops before their first use."""
        for buffer in dict.fromkeys(buffers):
            if buffer in self.pending_loads:
                self.items += wait_all(self.pending_loads.pop(buffer))

    def _output(self, node: Node) -> int:
        assert node.store is not None
        on_all_axes = node.full and node.kind == "pointwise"
        axes = [axis for axis in self.order if on_all_axes or axis in self.group.parallel]
        return self.parts.buffer(f"out_{node.store.tensor}", node.dtype, axes, self.geometry)

    def _store(self, node: Node, buffer: int) -> Transfer:
        """The store transfer of a node."""
        assert node.store is not None
        for axis in self.parts.buffers[buffer].axes:
            if node.store.coefficients[axis] == 0 and self.group.axes[axis].extent > 1:
                raise UnsupportedError(
                    f"node {node.name!r} writes one element of {node.store.tensor!r} several times",
                    expected="a stride on every axis of the result",
                    found=f"stride 0 on axis {self.group.axes[axis].name!r}", where=self.group.name,
                )  # fmt: skip
        return self.parts.transfer("store", node.store, buffer, self.geometry)

    # -- blocks

    def _loops(self, full: bool) -> list[BlockLoop]:
        axes = [axis for axis in self.order if full or axis in self.group.parallel]
        return [BlockLoop(axis, self.geometry.in_lane(axis)) for axis in axes]

    def _body(self, loops: Sequence[BlockLoop], computed_here: set[str]) -> Body:
        axes = [loop.axis for loop in loops]

        def ref(buffer: int) -> BufferRef:
            return reference(buffer, self.parts.buffers[buffer], axes)

        def value_ref(name: str) -> tuple[BufferRef, DType] | None:
            buffer = self.values.get(name)
            return None if buffer is None or name in computed_here else (ref(buffer), self.parts.buffers[buffer].dtype)

        return Body(self.nodes, lambda access: ref(self._input(access)), value_ref)

    def _emit_block(
        self, loops: Sequence[BlockLoop], body: Body, stores: Sequence[BlockStore], reduces: Sequence[BlockReduce], into: list[Item]
    ) -> None:
        """Add a block, after the waits for what it is the first to use."""
        block = vector_block(self.parts.block_id(), loops, body.ops, stores, reduces, self.parts.buffers, self.group.reductions)
        self._wait_inputs([item.buffer for item in block.reads])
        into.append(block)

    def _level(self, level: Level, index: int) -> None:
        """Compute nodes on the parallel axes into buffers, store what leaves the kernel."""
        loops = self._loops(full=not self.group.reductions)
        body = self._body(loops, {node.name for node in level.nodes if node.kind == "pointwise"})
        axes = [loop.axis for loop in loops]
        stores: list[BlockStore] = []
        outgoing: list[tuple[Node, int]] = []
        for node in level.nodes:
            value = body.value(node.name)
            if node.store is not None:
                buffer = self._output(node)
                outgoing.append((node, buffer))
            else:
                buffer = self.parts.buffer(
                    f"val_{node.name}", node.dtype, [axis for axis in self.order if axis in self.group.parallel], self.geometry
                )
            if node.kind == "pointwise":
                self.values[node.name] = buffer
            stores.append(BlockStore(reference(buffer, self.parts.buffers[buffer], axes), value))
        if stores:
            self._emit_block(loops, body, stores, (), self.items)
        if index:
            outgoing += [
                (node, self.values[node.name])
                for node in self.schedule.passes[index - 1].reductions
                if node.store is not None and accumulates_in_result_type(node)
            ]
        self.pending_stores += [self._store(node, buffer) for node, buffer in outgoing]

    def _pass(self, work: Pass) -> None:
        """One iteration over all axes: accumulators, then the tile loops around loads, reductions and stores."""
        self._initialise(work)
        if self.empty:
            return
        if not self.looped:
            self._reduce(work, self.items)
            self.pending_stores += self._pointwise(work, self.items)
            return
        blocks: list[Item] = []
        self._reduce(work, blocks)
        stores = self._pointwise(work, blocks)
        used = {item.buffer for block in blocks if isinstance(block, Block) for item in block.reads}
        accesses = [access for access, buffer in self.inputs.items() if buffer in used and self._in_loop(access)]
        loads = [self.parts.transfer("load", access, self.inputs[access], self.geometry) for access in accesses]
        body: list[Item] = [*loads, *(wait for item in loads for wait in wait_all(item)), *blocks, *stores]
        body += [wait for item in stores for wait in wait_all(item)]
        for axis in reversed(self.looped):
            body = [TileLoop(axis, tuple(body))]
        self.items += body

    def _initialise(self, work: Pass) -> None:
        if not work.reductions:
            return
        loops = self._loops(full=False)
        axes = [loop.axis for loop in loops]
        body = self._body(loops, set())
        stores: list[BlockStore] = []
        for node in work.reductions:
            assert node.reduction is not None
            dtype = node.dtype.accumulator
            buffer = self.parts.buffer(f"acc_{node.name}", dtype, axes, self.geometry)
            self.values[node.name] = buffer
            value = body.add("constant", dtype, (), identity(node.reduction, dtype))
            stores.append(BlockStore(reference(buffer, self.parts.buffers[buffer], axes), value))
        self._emit_block(loops, body, stores, (), self.items)

    def _reduce(self, work: Pass, into: list[Item]) -> None:
        if not work.reductions:
            return
        loops = self._loops(full=True)
        body = self._body(loops, set())
        axes = [loop.axis for loop in loops]
        mask = body.in_range([axis for axis in self.group.reductions if self.geometry.ragged(axis)], len(self.group.axes))
        reduces: list[BlockReduce] = []
        for node in work.reductions:
            assert node.reduction is not None
            buffer = self.values[node.name]
            reduces.append(BlockReduce(reference(buffer, self.parts.buffers[buffer], axes), node.reduction, body.reduced(node, mask)))
        self._emit_block(loops, body, (), reduces, into)

    def _pointwise(self, work: Pass, into: list[Item]) -> list[Transfer]:
        if not work.stores:
            return []
        loops = self._loops(full=True)
        body = self._body(loops, set())
        axes = [loop.axis for loop in loops]
        stores: list[BlockStore] = []
        transfers: list[Transfer] = []
        for node in work.stores:
            buffer = self._output(node)
            stores.append(BlockStore(reference(buffer, self.parts.buffers[buffer], axes), body.value(node.name)))
            transfers.append(self._store(node, buffer))
        self._emit_block(loops, body, stores, (), into)
        return transfers
