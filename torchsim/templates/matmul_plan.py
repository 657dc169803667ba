"""The plan of a matmul group for one tile."""

from __future__ import annotations

from dataclasses import dataclass, field

from torchsim.config import Machine
from torchsim.errors import PlanError, UnsupportedError
from torchsim.plan.blocks import reference, vector_block
from torchsim.plan.bodies import Body, reachable_loads
from torchsim.plan.dtypes import DType
from torchsim.plan.geometry import Geometry
from torchsim.plan.group import Access, Group, Node
from torchsim.plan.model import (
    Block,
    BlockLoop,
    BlockStore,
    BufferRef,
    Item,
    KernelPlan,
    Tile,
    TileLoop,
    Transfer,
)
from torchsim.plan.parts import Parts, wait_all
from torchsim.plan.schedule import loads
from torchsim.templates.matmul_chunks import ArrayTile, array_chunks
from torchsim.templates.matmul_tiles import Phase

_MAX_PIECES = 512


def matmul_node(group: Group) -> Node:
    """The one matmul of a group.

    Raises:
        PlanError: none, or more than one.
    """
    found = [node for node in group.nodes if node.kind == "matmul"]
    if len(found) != 1:
        raise PlanError("a matmul group has exactly one matmul", found=str(len(found)), where=group.name)
    return found[0]


@dataclass
class Operand:
    """One side of the product: ``axes`` outermost first, ``split`` the axis over the lanes.

    ``direct``: a plain f32 load, whose transfer goes straight to ``buffer``; otherwise ``raw`` buffers are loaded and a block
    computes ``buffer``.
    """

    side: int
    result: int
    axes: tuple[int, int]
    split: int
    direct: Access | None
    sources: tuple[Access, ...]
    buffer: int = -1
    raw: dict[Access, int] = field(default_factory=lambda: {})
    transfers: list[Transfer] = field(default_factory=lambda: [])

    @property
    def first_piece(self) -> int | None:
        """Tag of the first fine-grained piece; None when a block computes the operand."""
        return self.transfers[0].tag if self.direct else None


class MatmulPlanner:
    """Builds the plan of one matmul group for one tile."""

    def __init__(self, group: Group, tile: Tile, machine: Machine) -> None:
        self.group, self.tile, self.machine, self.lanes = group, tile, machine, machine.lanes
        *_, self.m, self.n = group.parallel
        (self.k,) = group.reductions
        self.node = matmul_node(group)
        self.nodes = {node.name: node for node in group.nodes}
        self.parts = Parts(group)
        self.geometry = Geometry(group.axes, tile.extents, self.n, 1, self.lanes)
        self.sides = Geometry(group.axes, tile.extents, self.k, 1, self.lanes), self.geometry
        self.operands = [self._operand(0, (self.k, self.m), self.k), self._operand(1, (self.n, self.k), self.n)]
        self.k_chunks, self.n_chunks = tile.extents[self.k] // self.lanes, tile.extents[self.n] // self.lanes
        self.accumulator = -1
        self.stored = [node for node in group.nodes if node.store is not None]

    def _operand(self, side: int, axes: tuple[int, int], split: int) -> Operand:
        result = self.node.result[side]
        op = self.node.ops[result]
        sources = reachable_loads(self.node, result)
        foreign = self.n if side == 0 else self.m
        if any(access.coefficients[foreign] and self.group.axes[foreign].extent > 1 for access in sources):
            raise UnsupportedError(
                "an operand of a matmul depends on the other operand's axis", found=self.group.axes[foreign].name, where=self.group.name
            )
        direct = op.attribute if op.name == "load" and op.dtype is DType.F32 and isinstance(op.attribute, Access) else None
        return Operand(side, result, axes, split, direct, sources)

    def phases(self) -> list[Phase]:
        """Every buffer with its live time, without a tile."""
        stored = self.node.store if self.node.dtype is DType.F32 else None
        found = [Phase((self.n, self.m), DType.F32, self.n, True, True, stored, operations=1)]
        for operand in self.operands:
            operations = 0 if operand.direct else len(self.node.ops) + 1
            found.append(Phase(operand.axes, DType.F32, operand.split, True, False, operand.direct, operations))
            for access in () if operand.direct else operand.sources:
                axes = self._axes(access, operand.axes)
                found.append(Phase(axes, self.group.arg(access.tensor).dtype, operand.split, True, False, access))
        for access in self._epilogue_loads():
            axes = self._axes(access, (self.n, self.m))
            found.append(Phase(axes, self.group.arg(access.tensor).dtype, self.n, len(axes) < 2, True, access))
        for node in self._computed():
            found.append(Phase((self.n, self.m), node.dtype, self.n, False, True, node.store, len(node.ops) + 1))
        return found

    def _axes(self, access: Access, order: tuple[int, int]) -> tuple[int, ...]:
        return tuple(axis for axis in order if access.coefficients[axis])

    def _epilogue_loads(self) -> tuple[Access, ...]:
        return tuple(dict.fromkeys(access for node in self.group.nodes[1:] for access in loads(node)))

    def _computed(self) -> list[Node]:
        """Stored nodes that need a buffer beside the accumulator."""
        return [node for node in self.stored if node is not self.node or node.dtype is not DType.F32]

    # -- the kernel

    def plan(self) -> KernelPlan:
        """The whole kernel."""
        self.accumulator = self.parts.buffer("acc", DType.F32, (self.n, self.m), self.geometry)
        inputs = {access: self._load_buffer(access, (self.n, self.m)) for access in self._epilogue_loads()}
        early = [access for access in inputs if len(self._axes(access, (self.n, self.m))) < 2]
        early_loads = [self.parts.transfer("load", access, inputs[access], self.geometry) for access in early]
        items: list[Item] = [*early_loads, self._initialise()]
        if self.group.axes[self.k].extent:
            step = self._step()
            items += [TileLoop(self.k, tuple(step))] if self.geometry.tiles(self.k) > 1 else step
        late_loads = [self.parts.transfer("load", access, inputs[access], self.geometry) for access in inputs if access not in early]
        items += [*late_loads, *(wait for item in (*early_loads, *late_loads) for wait in wait_all(item))]
        items += self._epilogue(inputs)
        return self.parts.plan(self.tile, self.lanes, items)

    def _load_buffer(self, access: Access, order: tuple[int, int], geometry: Geometry | None = None) -> int:
        return self.parts.buffer(
            f"in_{access.tensor}", self.group.arg(access.tensor).dtype, self._axes(access, order), geometry or self.geometry
        )

    def _loops(self, axes: tuple[int, int], geometry: Geometry) -> list[BlockLoop]:
        return [BlockLoop(axis, geometry.in_lane(axis)) for axis in axes]

    def _ref(self, buffer: int, axes: tuple[int, int]) -> BufferRef:
        return reference(buffer, self.parts.buffers[buffer], axes)

    def _initialise(self) -> Block:
        axes = (self.n, self.m)
        body = Body(self.nodes, lambda access: self._ref(-1, axes), lambda name: None)
        zero = body.add("constant", DType.F32, (), 0.0)
        store = BlockStore(self._ref(self.accumulator, axes), zero)
        return vector_block(self.parts.block_id(), self._loops(axes, self.geometry), body.ops, (store,), (), self.parts.buffers)

    def _step(self) -> list[Item]:
        """One tile of k: loads, prologues, chunks."""
        subtile = self.machine.optimization_enabled("subtile") and self.k_chunks + self.n_chunks <= _MAX_PIECES
        order = sorted(self.operands, key=self._bytes)  # the smaller side first: the array starts when its first pieces are there
        for operand in order:
            geometry = self.sides[operand.side]
            operand.buffer = self.parts.buffer("xw"[operand.side], DType.F32, operand.axes, geometry)
            if operand.direct:
                pieces = {operand.split: self.lanes} if subtile else {}
                operand.transfers = [self.parts.transfer("load", operand.direct, operand.buffer, geometry, pieces)]
            else:
                operand.raw = {access: self._load_buffer(access, operand.axes, geometry) for access in operand.sources}
                operand.transfers = [self.parts.transfer("load", access, buffer, geometry) for access, buffer in operand.raw.items()]
        items: list[Item] = [transfer for operand in order for transfer in operand.transfers]
        for operand in order:
            if not operand.direct:
                items += [wait for item in operand.transfers for wait in wait_all(item)]
                items.append(self._prologue(operand))
            elif not subtile:
                items += [wait for item in operand.transfers for wait in wait_all(item)]
        x, w = self.operands
        tile = ArrayTile(
            self.group.axes[self.k].name, self.group.axes[self.n].name, self.tile.extents[self.m], self.tile.extents[self.k], self.lanes
        )
        return items + array_chunks(
            tile,
            self.n_chunks,
            x.buffer,
            w.buffer,
            self.accumulator,
            x.first_piece if subtile else None,
            w.first_piece if subtile else None,
            self.parts.block_id,
        )

    def _bytes(self, operand: Operand) -> int:
        return self.tile.extents[operand.axes[0]] * self.tile.extents[operand.axes[1]]

    def _prologue(self, operand: Operand) -> Block:
        """Compute an operand in f32 from its raw buffers; positions of k beyond the axis become zero."""
        geometry = self.sides[operand.side]

        def no_value(name: str) -> None:
            raise PlanError(f"a matmul operand uses node {name!r}", expected="loads and pointwise operations", where=self.group.name)

        body = Body(self.nodes, lambda access: self._ref(operand.raw[access], operand.axes), no_value)
        mask = body.in_range([self.k] if geometry.ragged(self.k) else [], len(self.group.axes))
        value = body.masked(body.cast(body.op(self.node, operand.result), DType.F32), mask, 0.0)
        store = BlockStore(self._ref(operand.buffer, operand.axes), value)
        split = operand.split if operand.split != self.tile.split else None
        return vector_block(
            self.parts.block_id(), self._loops(operand.axes, geometry), body.ops, (store,), (), self.parts.buffers, split=split
        )

    def _epilogue(self, inputs: dict[Access, int]) -> list[Item]:
        """Pointwise nodes on (n, m), then the stores and their waits."""
        axes = (self.n, self.m)

        def value_ref(name: str) -> tuple[BufferRef, DType] | None:
            return (self._ref(self.accumulator, axes), DType.F32) if name == self.node.name else None

        body = Body(self.nodes, lambda access: self._ref(inputs[access], axes), value_ref)
        stores: list[BlockStore] = []
        transfers: list[Transfer] = []
        computed = self._computed()
        for node in self.stored:
            assert node.store is not None
            buffer = self.accumulator
            if node in computed:
                buffer = self.parts.buffer(f"out_{node.store.tensor}", node.dtype, axes, self.geometry)
                stores.append(BlockStore(self._ref(buffer, axes), body.value(node.name)))
            for axis in self.group.parallel:
                if node.store.coefficients[axis] == 0 and self.group.axes[axis].extent > 1:
                    raise UnsupportedError(
                        f"node {node.name!r} writes one element several times",
                        found=f"stride 0 on axis {self.group.axes[axis].name!r}",
                        where=self.group.name,
                    )
            transfers.append(self.parts.transfer("store", node.store, buffer, self.geometry))
        items: list[Item] = []
        if stores:
            items.append(vector_block(self.parts.block_id(), self._loops(axes, self.geometry), body.ops, stores, (), self.parts.buffers))
        items += transfers
        return items + [wait for item in transfers for wait in wait_all(item)]
