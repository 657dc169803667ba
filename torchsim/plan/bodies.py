"""Turn node bodies into the operations of one block: values of other nodes inlined or read from buffers, equal operations merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torchsim.errors import PlanError
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, IndexExpr, Node, Op
from torchsim.plan.identity import identity
from torchsim.plan.model import BlockOp, BufferRef, PositionExpr

BlockAttribute = BufferRef | PositionExpr | int | float | bool | None


@dataclass
class Body:
    """Operations of a block under construction.

    Args:
        nodes: all nodes of the group, by name.
        load_ref: reference to the buffer that holds a tensor access.
        value_ref: reference and type of the buffer that holds a node's value, or None when the value is to be computed here.
    """

    nodes: dict[str, Node]
    load_ref: Callable[[Access], BufferRef]
    value_ref: Callable[[str], tuple[BufferRef, DType] | None]
    ops: list[BlockOp] = field(default_factory=lambda: [])
    _known: dict[str, int] = field(default_factory=lambda: {})
    _values: dict[tuple[str, int], int] = field(default_factory=lambda: {})

    def add(self, name: str, dtype: DType, args: tuple[int, ...] = (), attribute: BlockAttribute = None) -> int:
        """Index of an operation, which is added unless an equal one is there. Keys are texts, since 0.0 == -0.0 and True == 1."""
        op = BlockOp(name, dtype, args, attribute)
        key = repr(op)
        if key not in self._known:
            self._known[key] = len(self.ops)
            self.ops.append(op)
        return self._known[key]

    def cast(self, value: int, dtype: DType) -> int:
        """The value in another type."""
        return value if self.ops[value].dtype is dtype else self.add("cast", dtype, (value,))

    def value(self, name: str) -> int:
        """A node's value in the node's type: read from its buffer, else computed here."""
        node = self.nodes[name]
        found = self.value_ref(name)
        if found is not None:
            return self.cast(self.add("load", found[1], (), found[0]), node.dtype)
        if node.kind != "pointwise":
            raise PlanError(f"the value of {name!r} is in no buffer")
        return self.cast(self.op(node, node.result[0]), node.dtype)

    def op(self, node: Node, index: int) -> int:
        """One operation of a node's body, with everything that it needs."""
        key = (node.name, index)
        if key not in self._values:
            for needed in _order(node, index):
                if (node.name, needed) not in self._values:
                    self._values[node.name, needed] = self._emit(node, node.ops[needed])
        return self._values[key]

    def masked(self, value: int, mask: int | None, fill: int | float | bool) -> int:
        """where(mask, value, fill); the value itself without a mask."""
        if mask is None:
            return value
        dtype = self.ops[value].dtype
        return self.add("where", dtype, (mask, value, self.add("constant", dtype, (), fill)))

    def in_range(self, axes: list[int], rank: int) -> int | None:
        """Bool: the positions of these axes are inside their extents; None for no axes."""
        if not axes:
            return None
        return self.add("in_range", DType.BOOL, (), PositionExpr(tuple(int(axis in axes) for axis in range(rank))))

    def reduced(self, node: Node, mask: int | None) -> int:
        """What a reduction node combines: its body's value in accumulator type, the identity where the mask is false."""
        assert node.reduction is not None
        accumulator = node.dtype.accumulator
        return self.masked(self.cast(self.op(node, node.result[0]), accumulator), mask, identity(node.reduction, accumulator))

    def _emit(self, node: Node, op: Op) -> int:
        attribute = op.attribute
        if op.name == "value":
            return self.cast(self.value(str(attribute)), op.dtype)
        if op.name == "load":
            assert isinstance(attribute, Access)
            return self.add("load", op.dtype, (), self.load_ref(attribute))
        args = tuple(self._values[node.name, arg] for arg in op.args)
        if isinstance(attribute, IndexExpr):
            return self.add(op.name, op.dtype, args, PositionExpr(attribute.coefficients, attribute.offset))
        if isinstance(attribute, Access | str):
            raise PlanError(f"operation {op.name!r} of {node.name!r} has a strange attribute", found=repr(attribute))
        return self.add(op.name, op.dtype, args, attribute)


def _order(node: Node, index: int) -> list[int]:
    """Operations that one operation depends on, itself included; bodies list arguments before uses, so ascending order will do."""
    needed: set[int] = set()
    pending = [index]
    while pending:
        current = pending.pop()
        if current not in needed:
            needed.add(current)
            pending.extend(node.ops[current].args)
    return sorted(needed)


def reachable_loads(node: Node, index: int) -> tuple[Access, ...]:
    """Distinct loads that one operation of a body depends on."""
    found = (node.ops[item].attribute for item in _order(node, index) if node.ops[item].name == "load")
    return tuple(dict.fromkeys(item for item in found if isinstance(item, Access)))
