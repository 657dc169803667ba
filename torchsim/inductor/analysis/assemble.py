"""From a finished domain to a Group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from torchsim.errors import InternalError, UnsupportedError
from torchsim.inductor.analysis.body import RawBody, RawLoad, RawOp
from torchsim.inductor.analysis.domain import Domain, Placement
from torchsim.inductor.analysis.expr import Affine, Cut, Expr, NonAffine, evaluate
from torchsim.inductor.analysis.merge import merge_axes
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Axis, Group, IndexExpr, Node, NodeKind, Op, Role, TensorArg


@dataclass(frozen=True, slots=True)
class Buffers:
    """What the assembler must know about memory.

    Attributes:
        elements: elements from a buffer's base that belong to it.
        dtype: element type.
        real: buffer whose memory a name means (in-place updates).
        internal: buffers of the group that nobody outside reads.
    """

    elements: Callable[[str], int]
    dtype: Callable[[str], DType]
    real: Callable[[str], str]
    internal: Collection[str]


def assemble(name: str, domain: Domain, buffers: Buffers) -> Group:
    """The group of a vector kernel: axes merged, named ``p0..`` and ``r0..``.

    Raises:
        UnsupportedError: a masked read whose index leaves its buffer.
        InternalError: an access outside its buffer.
    """
    forms = [form for placement in domain.placements for form in _forms(domain, placement)]
    extents = dict(domain.extents)
    parallel = merge_axes(domain.parallel, extents, forms)
    reductions = merge_axes(domain.reductions, extents, forms)
    axes = [Axis(f"p{i}", extents[axis]) for i, axis in enumerate(parallel)] or [Axis("p0", 1)]
    order: list[int | None] = list(parallel) or [None]
    if any(placement.raw.reduction is not None for placement in domain.placements):
        axes += [Axis(f"r{i}", extents[axis], True) for i, axis in enumerate(reductions)] or [Axis("r0", 1, True)]
        order += list(reductions) or [None]
    writer = Writer(domain, order, buffers)
    nodes = [writer.node(placement) for placement in domain.placements]
    return Group(name, writer.args(), tuple(axes), tuple(nodes))


def _forms(domain: Domain, placement: Placement) -> list[Affine]:
    """Every affine form of a node: accesses, and the index values that have one (the others become arithmetic on whole loop variables)."""
    forms = [domain.affine(placement, load.index) for load in placement.raw.loads]
    forms.append(domain.affine(placement, placement.raw.store))
    for op in placement.raw.ops:
        if op.name == "index" and isinstance(op.attribute, Expr):
            try:
                forms.append(evaluate(op.attribute, placement.variables, domain.extents))
            except (Cut, NonAffine):
                forms.extend(placement.variables)
    return forms


class Writer:
    """Turns placements into nodes and collects the arguments."""

    def __init__(self, domain: Domain, order: Sequence[int | None], buffers: Buffers) -> None:
        self._domain = domain
        self._order = order
        self._buffers = buffers
        self._made = {placement.raw.name for placement in domain.placements}
        self._inputs: dict[str, int] = {}
        self._outputs: dict[str, int] = {}

    def args(self) -> tuple[TensorArg, ...]:
        """Arguments met so far: read ones first, in order of first use."""
        roles: dict[str, Role] = {}
        for buffer in [*self._inputs, *self._outputs]:
            roles[buffer] = "input" if buffer not in self._outputs else "inout" if buffer in self._inputs else "output"
        return tuple(TensorArg(buffer, self._buffers.dtype(buffer), self._buffers.elements(buffer), role) for buffer, role in roles.items())

    def node(self, placement: Placement) -> Node:
        """One node; its store is left out when nobody outside reads the buffer."""
        emitted = Emitted()
        positions: list[int] = []
        for op in placement.raw.ops:
            positions.append(self.emit(placement, op, tuple(positions[arg] for arg in op.args), emitted))
        return self.finish(placement, emitted, (positions[placement.raw.result],), placement.raw.kind, placement.raw.origins)

    def finish(self, placement: Placement, emitted: Emitted, result: tuple[int, ...], kind: NodeKind, origins: tuple[str, ...]) -> Node:
        """A node from its emitted ops."""
        raw = placement.raw
        store = None
        if raw.name not in self._buffers.internal:
            target = self._buffers.real(raw.target)
            store = self._access(target, self._domain.affine(placement, raw.store), raw, False)
            self._outputs.setdefault(target, len(self._outputs))
        return Node(
            raw.name,
            kind,
            tuple(emitted.ops),
            result,
            raw.dtype,
            placement.full,
            None if kind == "matmul" else raw.reduction,
            store,
            origins,
        )

    def emit(self, placement: Placement, op: RawOp, args: tuple[int, ...], emitted: Emitted) -> int:
        """One op of a body with its access or index over the group's axes; ``args``: positions of its operands."""
        if isinstance(op.attribute, RawLoad):
            if op.attribute.buffer in self._made:
                return emitted.add(Op("value", op.dtype, (), op.attribute.buffer))
            return emitted.add(Op("load", op.dtype, (), self.load(placement, op.attribute)))
        if isinstance(op.attribute, Expr):
            return self._index(placement, op.attribute, op.dtype, emitted)
        return emitted.add(Op(op.name, op.dtype, args, op.attribute))

    def load(self, placement: Placement, load: RawLoad) -> Access:
        """Read access of an argument, which becomes an input."""
        buffer = self._buffers.real(load.buffer)
        self._inputs.setdefault(buffer, len(self._inputs))
        return self._access(buffer, self._domain.affine(placement, load.index), placement.raw, load.masked)

    def _access(self, buffer: str, form: Affine, raw: RawBody, masked: bool) -> Access:
        low, high = form.bounds(self._domain.extents)
        elements = self._buffers.elements(buffer)
        if low < 0 or high >= elements:
            found = f"elements {low} to {high} of {buffer}, which has {elements}"
            where = f"{raw.name}, fx nodes {', '.join(raw.origins)}"
            if masked:
                error = UnsupportedError(
                    "cannot compile a read that leaves its tensor under a mask (padding, or a cat of pieces)",
                    expected=f"elements 0 to {elements - 1}",
                    found=found,
                    where=where,
                )
                error.origins = raw.origins  # pyright: ignore[reportAttributeAccessIssue]
                raise error
            raise InternalError("an access leaves its buffer", expected=f"elements 0 to {elements - 1}", found=found, where=where)
        return Access(buffer, self.coefficients(form), form.offset)

    def coefficients(self, form: Affine) -> tuple[int, ...]:
        """One coefficient per group axis."""
        return tuple(0 if axis is None else form.terms.get(axis, 0) for axis in self._order)

    def _index(self, placement: Placement, expression: Expr, dtype: DType, emitted: Emitted) -> int:
        """An index value: affine where the domain allows it, otherwise integer arithmetic on affine parts."""
        try:
            form = evaluate(expression, placement.variables, self._domain.extents)
        except (Cut, NonAffine):
            return self._arithmetic(placement, expression, dtype, emitted)
        return emitted.add(Op("index", dtype, (), IndexExpr(self.coefficients(form), form.offset)))

    def _arithmetic(self, placement: Placement, expression: Expr, dtype: DType, emitted: Emitted) -> int:
        parts = [self._index(placement, child, dtype, emitted) for child in expression.children]
        if expression.kind in ("div", "mod"):
            divisor = emitted.add(Op("constant", dtype, (), expression.value))
            return emitted.add(Op("floordiv" if expression.kind == "div" else "remainder", dtype, (parts[0], divisor)))
        name = {"add": "add", "mul": "mul", "min": "minimum", "max": "maximum"}[expression.kind]
        result = parts[0]
        for part in parts[1:]:
            result = emitted.add(Op(name, dtype, (result, part)))
        return result


class Emitted:
    """A growing op list."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self._known: dict[tuple[object, ...], int] = {}

    def add(self, op: Op) -> int:
        """Append; an equal op is shared (0.0 and -0.0 differ)."""
        key = (op.name, op.dtype, op.args, repr(op.attribute))
        if key not in self._known:
            self._known[key] = len(self.ops)
            self.ops.append(op)
        return self._known[key]
