"""Bringing the nodes of a fused group to one domain, and the rules that make the result one kernel.

A value that is made and used inside the group must be used at the position where it is made; a buffer that is read and written
must be read where it is written. Loop orders of a node are tried until these hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torchsim.inductor.analysis.body import RawBody, RawLoad
from torchsim.inductor.analysis.domain import Declined, Domain, Placement, orders, start
from torchsim.inductor.analysis.expr import Affine


def unify(bodies: Sequence[RawBody]) -> Domain:
    """One domain for all bodies (in execution order).

    Raises:
        Declined: there is none; says why.
    """
    if not bodies:
        raise Declined("no nodes")
    bodies = follow_updates(bodies)
    anchor = next((body for body in bodies if body.reduction is not None), bodies[0])
    domain = start(anchor)
    for body in bodies:
        if body is not anchor:
            domain = add(domain, body)
    for placement in domain.placements:
        for load in placement.raw.loads:
            domain.affine(placement, load.index)
        domain.affine(placement, placement.raw.store)
    rank = {body.name: number for number, body in enumerate(bodies)}
    domain.placements.sort(key=lambda placement: rank[placement.raw.name])
    check_values(domain)
    check_in_place(domain, revisits=bool(domain.reductions))
    return domain


def add(domain: Domain, body: RawBody, axes: Sequence[int] | None = None) -> Domain:
    """A new domain that holds ``body`` too, in the loop order that shares most accesses with what is there.

    Raises:
        Declined: no loop order fits.
    """
    best: tuple[int, Domain] | None = None
    reason = "no loops to order"
    wanted = _shared_buffers(domain, body)
    for order in orders(body):
        trial = domain.copy()
        try:
            placement = trial.place(body, order, axes)
            _check_pairs(trial, placement)
            score = _score(trial, placement)
        except Declined as declined:
            reason = str(declined)
            continue
        if best is None or score > best[0]:
            best = (score, trial)
        if score >= wanted:
            break
    if best is None:
        raise Declined(f"{body.name}: {reason}")
    return best[1]


def follow_updates(bodies: Sequence[RawBody]) -> list[RawBody]:
    """Reads of a buffer after the group has updated it in place become reads of the updating node's value."""
    updated: dict[str, str] = {}
    followed: list[RawBody] = []
    for body in bodies:
        if any(load.buffer in updated for load in body.loads):
            ops = tuple(
                replace(op, attribute=replace(op.attribute, buffer=updated.get(op.attribute.buffer, op.attribute.buffer)))
                if isinstance(op.attribute, RawLoad)
                else op
                for op in body.ops
            )
            body = replace(body, ops=ops)
        if body.target != body.name:
            updated[body.target] = body.name
        followed.append(body)
    return followed


def _shared_buffers(domain: Domain, body: RawBody) -> int:
    """Buffers that the body touches and the domain's nodes touch too: the best possible score."""
    theirs = {name for placement in domain.placements for name in _touched(placement.raw)}
    return len(_touched(body) & theirs)


def _touched(body: RawBody) -> set[str]:
    return {load.buffer for load in body.loads} | {body.target}


def _score(domain: Domain, placement: Placement) -> int:
    """Buffers that the placement accesses at a position where an earlier placement accesses them."""
    theirs = [(name, index) for other in domain.placements if other is not placement for name, index in accesses(domain, other)]
    mine = accesses(domain, placement)
    return len({name for name, index in mine if any(name == other and same(index, where) for other, where in theirs)})


def accesses(domain: Domain, placement: Placement) -> list[tuple[str, Affine]]:
    """(buffer, index) of all reads and of the write, after every axis split they ask for."""
    wanted = [(load.buffer, load.index) for load in placement.raw.loads] + [(placement.raw.target, placement.raw.store)]
    for _, index in wanted:
        domain.affine(placement, index)
    return [(name, domain.affine(placement, index)) for name, index in wanted]


def same(first: Affine, second: Affine) -> bool:
    """Whether two indices agree everywhere."""
    return first.offset == second.offset and dict(first.terms) == dict(second.terms)


def _check_pairs(domain: Domain, placement: Placement) -> None:
    """The value rule between one placement and every other one, whichever comes first."""
    for other in domain.placements:
        if other is not placement:
            _check_value(domain, other, placement)
            _check_value(domain, placement, other)


def _check_value(domain: Domain, producer: Placement, consumer: Placement) -> None:
    for load in consumer.raw.loads:
        if load.buffer == producer.raw.name:
            read, written = domain.affine(consumer, load.index), domain.affine(producer, producer.raw.store)
            read, written = domain.affine(consumer, load.index), domain.affine(producer, producer.raw.store)
            if not same(read, written):
                raise Declined(f"{consumer.raw.name} reads {load.buffer} elsewhere than where it is made")
            if load.masked:
                raise Declined(f"{consumer.raw.name} reads {load.buffer} under a mask")
            if producer.full and producer.raw.reduction is None and not consumer.full:
                raise Declined(f"{consumer.raw.name} reads {load.buffer} outside the loops that make it")


def check_values(domain: Domain) -> None:
    """A value is made before it is used, and used where it is made.

    Raises:
        Declined: it is not.
    """
    made: dict[str, Placement] = {}
    writers = {placement.raw.name: placement for placement in domain.placements}
    for placement in domain.placements:
        for load in placement.raw.loads:
            name = load.buffer
            if name in writers and name not in made:
                raise Declined(f"{placement.raw.name} reads {name} before it is made")
            if name in made:
                _check_value(domain, made[name], placement)
        made[placement.raw.name] = placement


def check_in_place(domain: Domain, revisits: bool) -> None:
    """A buffer that an earlier kernel or the caller made and this group overwrites is read only where it is written.

    Args:
        revisits: the kernel may pass over its data more than once, so the overwritten value must not be needed by any other node.

    Raises:
        Declined: a read elsewhere, two writers, or a read by another node in a kernel that revisits.
    """
    for writer in domain.placements:
        target = writer.raw.target
        if target == writer.raw.name:
            continue
        written = domain.affine(writer, writer.raw.store)
        for other in domain.placements:
            if other is not writer and other.raw.target == target:
                raise Declined(f"{other.raw.name} and {writer.raw.name} both write {target}")
            for load in other.raw.loads:
                if load.buffer == writer.raw.name and revisits:
                    raise Declined(f"{other.raw.name} uses the new {target} in a kernel with reductions")
                if load.buffer != target:
                    continue
                if not same(domain.affine(other, load.index), written) or load.masked:
                    raise Declined(f"{other.raw.name} reads {target} elsewhere than {writer.raw.name} writes it")
                if other is not writer and revisits:
                    raise Declined(f"{other.raw.name} reads {target}, which {writer.raw.name} overwrites in a kernel with reductions")
