"""The domain and the group of a matrix product with its prologues and epilogues.

Axes are m, n (parallel) and k (reduction) and are never split. A prologue runs over an operand's two axes and is computed inside
the matmul node; an epilogue runs over (m, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchsim.inductor.analysis.assemble import Buffers, Emitted, Writer
from torchsim.inductor.analysis.body import RawBody, RawLoad, RawOp
from torchsim.inductor.analysis.domain import Declined, Domain, Placement
from torchsim.inductor.analysis.expr import Affine, Expr
from torchsim.inductor.analysis.unify import add, check_in_place, follow_updates, same
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Axis, Group

M, N, K = 0, 1, 2


@dataclass(frozen=True, slots=True)
class MatmulOperand:
    """A strided matrix in a buffer: element ``offset + row * strides[0] + column * strides[1]``."""

    buffer: str
    dtype: DType
    size: tuple[int, int]
    strides: tuple[int, int]
    offset: int


@dataclass(frozen=True, slots=True)
class MatmulSource:
    """``lhs`` (m, k) times ``rhs`` (k, n) into buffer ``name``."""

    name: str
    lhs: MatmulOperand
    rhs: MatmulOperand
    dtype: DType
    strides: tuple[int, int]
    origins: tuple[str, ...]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(m, n, k)."""
        return self.lhs.size[0], self.rhs.size[1], self.lhs.size[1]

    def body(self) -> RawBody:
        """The product as a body with loops (m, n | k): two loads, and the store of the product."""
        ops = (
            RawOp("load", self.lhs.dtype, (), RawLoad(self.lhs.buffer, _index((M, K), self.lhs.strides, self.lhs.offset))),
            RawOp("load", self.rhs.dtype, (), RawLoad(self.rhs.buffer, _index((K, N), self.rhs.strides, self.rhs.offset))),
        )
        return RawBody(self.name, self.name, self.sizes, 2, ops, 0, "sum", self.dtype, _index((M, N), self.strides, 0), self.origins)


def _index(variables: tuple[int, int], strides: tuple[int, int], offset: int) -> Expr:
    terms = [Expr("mul", 0, (Expr("const", stride), Expr("var", variable))) for variable, stride in zip(variables, strides)]
    return Expr("add", 0, (*terms, Expr("const", offset)))


def matmul_domain(source: MatmulSource, prologues: Sequence[RawBody], epilogues: Sequence[RawBody]) -> Domain:
    """The locked domain with all nodes placed: prologues, the product, epilogues.

    Raises:
        Declined: a node does not fit; says why.
    """
    domain = Domain(locked=True)
    for extent, reduction in zip(source.sizes, (False, False, True)):
        domain.add_axis(extent, reduction)
    product = source.body()
    domain.placements.append(
        Placement(product, [Affine() if extent == 1 else Affine(0, {axis: 1}) for axis, extent in enumerate(source.sizes)], True)
    )
    # Consumers first: a prologue is placed by the read that it feeds.
    for body in reversed(prologues):
        _require_pointwise(body)
        readers = [placement for placement in domain.placements if any(load.buffer == body.name for load in placement.raw.loads)]
        axes = _operand_axes(source, domain, prologues, readers, body)
        domain = add(domain, body, axes)
    domain.placements.reverse()
    for body in follow_updates(epilogues):
        _require_pointwise(body)
        if any(load.buffer in {prologue.name for prologue in prologues} for load in body.loads):
            raise Declined("an epilogue reads what a prologue makes")
        domain = add(domain, body, [M, N])
    check_in_place(domain, revisits=False)
    return domain


def _require_pointwise(body: RawBody) -> None:
    if body.reduction is not None:
        raise Declined(f"{body.name} is a reduction")


def _operand_axes(
    source: MatmulSource, domain: Domain, prologues: Sequence[RawBody], readers: Sequence[Placement], body: RawBody
) -> list[int]:
    """The axes of the operand that a prologue ends up in.

    Raises:
        Declined: it ends up in none or in both.
    """
    found: set[tuple[int, int]] = set()
    for placement in readers:
        if placement.raw.name != source.name:
            following = [other for other in domain.placements if any(load.buffer == placement.raw.name for load in other.raw.loads)]
            found.add(tuple(_operand_axes(source, domain, prologues, following, placement.raw)))  # pyright: ignore[reportArgumentType]
            continue
        found |= {axes for operand, axes in ((source.lhs, (M, K)), (source.rhs, (K, N))) if operand.buffer == body.name}
    if len(found) != 1:
        raise Declined(f"{body.name} feeds {'both operands' if found else 'no operand'}")
    return list(found.pop())


def matmul_group(name: str, source: MatmulSource, prologues: Sequence[RawBody], epilogues: Sequence[RawBody], buffers: Buffers) -> Group:
    """The group of the kernel.

    Raises:
        Declined: as matmul_domain.
    """
    domain = matmul_domain(source, prologues, epilogues)
    writer = Writer(domain, (M, N, K), buffers)
    inlined = {body.name for body in prologues}
    placements = {placement.raw.name: placement for placement in domain.placements}
    product = placements[source.name]
    emitted = Emitted()
    operands = tuple(_operand(writer, domain, placements, inlined, product, op, emitted) for op in product.raw.ops)
    nodes = [
        writer.finish(
            product, emitted, operands, "matmul", tuple(dict.fromkeys(o for body in (*prologues, product.raw) for o in body.origins))
        )
    ]
    nodes += [writer.node(placement) for placement in domain.placements if placement.raw.name not in inlined and placement is not product]
    axes = (Axis("m", source.sizes[0]), Axis("n", source.sizes[1]), Axis("k", source.sizes[2], True))
    return Group(name, writer.args(), axes, tuple(nodes))


def _operand(
    writer: Writer, domain: Domain, placements: dict[str, Placement], inlined: set[str], consumer: Placement, op: RawOp, emitted: Emitted
) -> int:
    """Emit a read; a read of what a prologue makes becomes that prologue's computation."""
    load = op.attribute
    if not isinstance(load, RawLoad) or load.buffer not in inlined:
        return writer.emit(consumer, op, (), emitted)
    producer = placements[load.buffer]
    if not same(domain.affine(consumer, load.index), domain.affine(producer, producer.raw.store)):
        raise Declined(f"{load.buffer} is read elsewhere than where it is made")
    positions: list[int] = []
    for inner in producer.raw.ops:
        if isinstance(inner.attribute, RawLoad):
            positions.append(_operand(writer, domain, placements, inlined, producer, inner, emitted))
        else:
            positions.append(writer.emit(producer, inner, tuple(positions[arg] for arg in inner.args), emitted))
    return positions[producer.raw.result]
