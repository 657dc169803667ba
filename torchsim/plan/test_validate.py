"""Every rule of the validator: break a good plan in one place and see PlanError name the rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from torchsim.config import load_machine
from torchsim.errors import PlanError
from torchsim.plan.arena import live_ranges
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.model import Affine, Block, BlockReduce, BlockStore, ChunkLoop, Item, KernelPlan, Range, TileLoop, Transfer, Wait
from torchsim.plan.override import TileOverride
from torchsim.plan.poison import poisoned
from torchsim.plan.test_build import layer_norm, matmul, softmax
from torchsim.plan.validate import validate

pytestmark = pytest.mark.unit
MACHINE = load_machine("8x8")
SOFTMAX = build(softmax(20, 300), MACHINE, TileOverride({"p0": 16, "r0": 128}))  # tiles of r0, ragged
RESIDENT = build(softmax(20, 300), MACHINE, TileOverride({"p0": 16, "r0": 300}))
NORM = build(layer_norm((3, 5, 300), DType.F16), MACHINE)
PRODUCT = build(matmul(40, 40, 50), MACHINE, TileOverride({"m": 20, "n": 16, "k": 32}))
PROLOGUE = build(matmul(40, 40, 50, DType.F16), MACHINE, TileOverride({"m": 20, "n": 16, "k": 32}))
Change = Callable[[KernelPlan], KernelPlan]


@pytest.mark.parametrize("plan", [SOFTMAX, RESIDENT, NORM, PRODUCT, PROLOGUE], ids=lambda plan: plan.name)
def test_the_good_plans_are_good(plan: KernelPlan) -> None:
    """Also with poisoned fills."""
    validate(plan, MACHINE)
    validate(poisoned(plan), MACHINE)


def edit(
    plan: KernelPlan, kind: type[Any], change: Callable[[Any], Sequence[Item]], which: Callable[[Any], bool] = lambda item: True
) -> KernelPlan:
    """Replace the first item of a kind (in textual order) that ``which`` accepts."""
    done = False

    def walk(items: Sequence[Item]) -> tuple[Item, ...]:
        nonlocal done
        result: list[Item] = []
        for item in items:
            if not done and isinstance(item, kind) and which(item):
                done = True
                result += change(item)
            elif isinstance(item, TileLoop | ChunkLoop):
                result.append(replace(item, body=walk(item.body)))
            else:
                result.append(item)
        return tuple(result)

    body = walk(plan.body)
    assert done, "the edit found nothing"
    return with_body(plan, body)


def with_body(plan: KernelPlan, body: Sequence[Item]) -> KernelPlan:
    """Another program in the same places: live ranges follow, offsets stay."""
    ranges = live_ranges(body)
    buffers = tuple(replace(item, first=ranges.get(i, (0, 0))[0], last=ranges.get(i, (0, 0))[1]) for i, item in enumerate(plan.buffers))
    return replace(plan, body=tuple(body), buffers=buffers)


def tile(**fields: Any) -> Change:
    return lambda plan: replace(plan, tile=replace(plan.tile, **fields))


def buffer(index: int, **fields: Any) -> Change:
    return lambda plan: replace(plan, buffers=tuple(replace(item, **fields) if i == index else item for i, item in enumerate(plan.buffers)))


def transfer(direction: str = "load", **fields: Any) -> Change:
    return lambda plan: edit(plan, Transfer, lambda item: [replace(item, **fields)], lambda item: item.direction == direction)


def dim(place: int, direction: str = "load", **fields: Any) -> Change:
    def change(item: Transfer) -> list[Item]:
        return [replace(item, dims=tuple(replace(d, **fields) if i == place % len(item.dims) else d for i, d in enumerate(item.dims)))]

    return lambda plan: edit(plan, Transfer, change, lambda item: item.direction == direction)


def block(which: Callable[[Block], bool], change: Callable[[Block], Block]) -> Change:
    return lambda plan: edit(plan, Block, lambda item: [change(item)], which)


def stores(item: Block) -> bool:
    return bool(item.stores) and bool(item.ops[-1].args)


def reduces(item: Block) -> bool:
    return bool(item.reduces)


def op(place: int, **fields: Any) -> Callable[[Block], Block]:
    return lambda item: replace(item, ops=tuple(replace(o, **fields) if i == place % len(item.ops) else o for i, o in enumerate(item.ops)))


def drop(kind: type[Any], which: Callable[[Any], bool] = lambda item: True) -> Change:
    return lambda plan: edit(plan, kind, lambda item: [], which)


def twice(kind: type[Any], which: Callable[[Any], bool] = lambda item: True) -> Change:
    return lambda plan: edit(plan, kind, lambda item: [item, item], which)


def unroll_first(plan: KernelPlan) -> KernelPlan:
    """The first tile loop's body once, without the loop, on its first tile."""

    def first_tile(item: TileLoop) -> list[Item]:
        return [
            replace(inner, element_offset=Affine(0, (("p0", 4800),)), dims=(inner.dims[0],)) if isinstance(inner, Transfer) else inner
            for inner in item.body
        ]

    return edit(plan, TileLoop, first_tile)


def all_at_zero(plan: KernelPlan) -> KernelPlan:
    return replace(plan, buffers=tuple(replace(item, offset=0) for item in plan.buffers))


def integer_scale(plan: KernelPlan) -> KernelPlan:
    """The scale tensor and its buffer as integers, the block's load still f32."""
    index = next(i for i, item in enumerate(plan.buffers) if item.name == "in_g")
    args = tuple(replace(arg, dtype=DType.I32) if arg.name == "g" else arg for arg in plan.args)
    return buffer(index, dtype=DType.I32)(replace(plan, args=args))


def has_store(loop: TileLoop) -> bool:
    return any(isinstance(item, Transfer) and item.direction == "store" for item in loop.body)


def forget_in_loop(plan: KernelPlan) -> KernelPlan:
    """The store in the last loop is not waited for."""
    return edit(plan, TileLoop, lambda item: [replace(item, body=item.body[:-1])], has_store)


def two_copies(plan: KernelPlan) -> KernelPlan:
    return edit(plan, Transfer, lambda item: [replace(item, vlane_stride=2)], lambda item: item.dims[0].axis is None)


def one_row(plan: KernelPlan) -> KernelPlan:
    """All rows of the result are stored at one place."""
    return dim(0, "store", dram_stride=0)(transfer("store", element_offset=Affine(0, (("r0", 128),)))(plan))


def store_ref(**fields: Any) -> Change:
    """Change the reference of the first store of the first computing block."""

    def change(item: Block) -> Block:
        first = item.stores[0]
        return replace(item, stores=(replace(first, ref=replace(first.ref, **fields)),))

    return block(stores, change)


def unmasked(item: Block) -> Block:
    """Reduce the value below the mask."""
    entry = item.reduces[0]
    return replace(item, reduces=(BlockReduce(entry.ref, entry.kind, item.ops[entry.value].args[1]),))


def store_unmasked(item: Block) -> Block:
    entry = item.stores[0]
    return replace(item, stores=(BlockStore(entry.ref, item.ops[entry.value].args[1]),))


def swapped(plan: KernelPlan) -> KernelPlan:
    """The first wait of the body moved to the end."""
    first = next(item for item in plan.body if isinstance(item, Wait))
    rest = [item for item in plan.body if item is not first]
    return with_body(plan, (*rest, first))


def in_place(plan: KernelPlan, shift: int) -> KernelPlan:
    """Let the first load read the output tensor instead, shifted by some elements."""
    args = (plan.args[0], replace(plan.args[1], role="inout", elements=plan.args[1].elements + shift))
    changed = replace(plan, args=args)
    return edit(changed, Transfer, lambda item: [replace(item, arg=1, element_offset=Affine(shift, item.element_offset.terms))])


def read_after_write(plan: KernelPlan) -> KernelPlan:
    """Update in place, but load once more behind the store."""
    changed = in_place(plan, 0)
    load = next(item for item in changed.body if isinstance(item, Transfer))
    again = replace(load, id=90, tag=90)
    return with_body(changed, (*changed.body, again, Wait(Affine(90))))


def is_array(kind: str) -> Callable[[Block], bool]:
    return lambda item: item.kind == kind


CASES: list[tuple[str, KernelPlan, Change]] = [
    # tile and domain
    ("lanes", SOFTMAX, lambda plan: replace(plan, lanes=16)),
    ("one tile extent per axis", SOFTMAX, tile(extents=(16,))),
    ("axis names differ", SOFTMAX, lambda plan: replace(plan, axes=(plan.axes[0], replace(plan.axes[1], name="p0")))),
    ("parallel axes come first", SOFTMAX, lambda plan: replace(plan, axes=plan.axes[::-1])),
    ("the split axis is parallel", SOFTMAX, tile(split=1)),
    ("the vector axis exists", SOFTMAX, tile(vector_axis=2)),
    ("vlane_stride", SOFTMAX, tile(vlane_stride=3)),
    ("tile extent of axis p0", SOFTMAX, tile(extents=(21, 128))),
    ("tile extent of axis r0", SOFTMAX, tile(extents=(16, 0))),
    ("tile extent of axis k", PRODUCT, tile(extents=(20, 16, 64))),
    ("array chunks along n", PRODUCT, tile(extents=(20, 12, 32))),
    # buffers
    ("shape of buffer", SOFTMAX, buffer(0, strides=(1, 1, 1))),
    ("allocation of buffer", RESIDENT, buffer(1, bytes_per_lane=64)),
    ("alignment of buffer", SOFTMAX, buffer(0, offset=8)),
    ("live range of buffer", SOFTMAX, buffer(0, first=2, last=2)),
    ("live buffers do not overlap", SOFTMAX, all_at_zero),
    ("budget", SOFTMAX, buffer(1, offset=16384)),
    # loops
    ("tile loops run over reduction axes", SOFTMAX, lambda plan: edit(plan, TileLoop, lambda item: [replace(item, axis=0)])),
    ("each axis is looped once", SOFTMAX, lambda plan: edit(plan, TileLoop, lambda item: [TileLoop(1, (item,))])),
    ("tile loops have several tiles", RESIDENT, lambda plan: with_body(plan, (TileLoop(1, plan.body),))),
    # transfers
    ("transfer ids differ", SOFTMAX, transfer(id=1)),
    ("names an argument and a buffer", SOFTMAX, transfer(arg=7)),
    ("respects the role", SOFTMAX, lambda plan: replace(plan, args=(replace(plan.args[0], role="output"), plan.args[1]))),
    ("moves one element type", SOFTMAX, lambda plan: replace(plan, args=(replace(plan.args[0], dtype=DType.I32), plan.args[1]))),
    ("tags of", SOFTMAX, transfer(tag=1024)),
    ("tags belong to one transfer", SOFTMAX, transfer(tag=1)),
    ("split dimension of", SOFTMAX, transfer(split_dim=2)),
    ("has each axis once", SOFTMAX, dim(0, axis=1)),
    ("16-bit dimensions", SOFTMAX, dim(0, extent=65536, subtile=65536)),
    ("32-bit strides", SOFTMAX, dim(0, dram_stride=1 << 31)),
    ("pieces of", SOFTMAX, dim(1, subtile=3)),
    ("pieces of", PRODUCT, dim(0, subtile=10)),
    ("replication in", NORM, two_copies),
    ("moves whole tiles", SOFTMAX, dim(1, extent=64, subtile=64)),
    ("bounded where tiles stick out", SOFTMAX, dim(1, bounded=False)),
    ("are in scope", SOFTMAX, transfer(element_offset=Affine(0, (("q", 1),)))),
    ("sorted and not zero", SOFTMAX, transfer(element_offset=Affine(0, (("r0", 128), ("p0", 4800))))),
    ("stays inside in_x", SOFTMAX, dim(0, spad_stride=4096)),
    ("one place per position", SOFTMAX, dim(0, spad_stride=1)),
    ("follows in_x", SOFTMAX, lambda plan: dim(1, spad_stride=2)(dim(0, spad_stride=1)(plan))),
    ("moves with axis p0", SOFTMAX, transfer(element_offset=Affine(0, (("p0", 1), ("r0", 128))))),
    ("moves with axis r0", SOFTMAX, dim(1, dram_stride=2)),
    ("holds axis r0", SOFTMAX, lambda plan: edit(plan, Transfer, lambda item: [replace(item, dims=item.dims[:1])])),
    ("stays inside x", SOFTMAX, transfer(element_offset=Affine(1, (("p0", 4800), ("r0", 128))))),
    ("stays inside x", SOFTMAX, lambda plan: replace(plan, args=(replace(plan.args[0], elements=5999), plan.args[1]))),
    ("reaches each element once", SOFTMAX, one_row),
    ("are the arguments that are stored", SOFTMAX, lambda plan: replace(plan, outputs=())),
    ("updated element for element", RESIDENT, lambda plan: in_place(plan, 1)),
    ("read first", RESIDENT, read_after_write),
    # blocks
    ("block ids differ", SOFTMAX, block(reduces, lambda item: replace(item, id=0))),
    ("loops of", SOFTMAX, block(stores, lambda item: replace(item, loops=()))),
    ("stores or reduces", SOFTMAX, block(reduces, lambda item: replace(item, reduces=()))),
    ("is one of plan.ops", SOFTMAX, block(stores, op(-1, name="gamma"))),
    ("arguments of operation", SOFTMAX, block(stores, op(-1, args=(0,)))),
    ("arguments of operation", SOFTMAX, block(stores, op(-1, args=(0, 99)))),
    ("types of operation", SOFTMAX, block(stores, op(-1, dtype=DType.F64))),
    ("attribute of operation", SOFTMAX, block(stores, op(-1, attribute=3))),
    ("results of", SOFTMAX, block(stores, lambda item: replace(item, stores=(replace(item.stores[0], value=99),)))),
    ("type of in_g", NORM, integer_scale),
    ("strides into", SOFTMAX, store_ref(strides=(1,))),
    ("stays inside", SOFTMAX, store_ref(offset=9999)),
    ("vectors of", SOFTMAX, store_ref(strides=(1, 2))),
    ("stores each element once", SOFTMAX, store_ref(strides=(0, 1))),
    ("reduction of", SOFTMAX, block(reduces, lambda item: replace(item, reduces=(replace(item.reduces[0], kind="mean"),)))),
    ("vector length", SOFTMAX, block(stores, lambda item: replace(item, vector_length=128))),
    ("vector length", SOFTMAX, block(stores, lambda item: replace(item, vector_length=1))),
    ("declared reads", SOFTMAX, block(reduces, lambda item: replace(item, reads=item.reads[1:]))),
    ("declared writes", SOFTMAX, block(stores, lambda item: replace(item, writes=(*item.writes, item.writes[0])))),
    ("declared reads", PRODUCT, block(is_array("matmul"), lambda item: replace(item, reads=item.reads[:1]))),
    ("padding is masked", SOFTMAX, block(reduces, unmasked)),
    ("padding is masked", PROLOGUE, block(lambda item: item.split is not None, store_unmasked)),
    ("positions of axis r0", SOFTMAX, block(reduces, lambda item: replace(item, loops=(item.loops[0], replace(item.loops[1], axis=0))))),
    ("runs over the tiles of r0", SOFTMAX, unroll_first),
    ("rows of", PRODUCT, block(is_array("matmul"), lambda item: replace(item, rows=0))),
    ("data of", PRODUCT, block(is_array("matmul"), lambda item: replace(item, rows=7))),
    ("weight of", PRODUCT, block(is_array("preload"), lambda item: replace(item, weight=replace(item.weight, length=16)))),
    # time
    ("comes after the waits for what it reads", RESIDENT, swapped),
    ("every transfer is waited for", RESIDENT, lambda plan: with_body(plan, plan.body[:-1])),
    ("a wait completes a transfer", RESIDENT, twice(Wait)),
    ("a tile loop waits for its own transfers", SOFTMAX, forget_in_loop),
    ("reads what has been written", RESIDENT, drop(Block)),
    ("reads what has been written", PRODUCT, drop(Block, is_array("vector"))),
    ("comes after the waits for what it reads", PRODUCT, drop(Wait, lambda item: item.tag.terms == ())),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "plan", "change"), CASES, ids=[f"{i}-{rule}" for i, (rule, _, _) in enumerate(CASES)])
def test_a_broken_rule_is_named(rule: str, plan: KernelPlan, change: Change) -> None:
    """The error is about the rule that was broken, not about a consequence."""
    with pytest.raises(PlanError) as caught:
        validate(change(plan), MACHINE)
    assert rule in caught.value.summary


def test_a_block_stays_inside_its_buffer() -> None:
    """Ranges of the array with chunk variables are checked at their last value."""

    def longer(item: ChunkLoop) -> list[Item]:
        return [replace(item, stop=item.stop + 1)]

    with pytest.raises(PlanError, match="stays inside"):
        validate(edit(PRODUCT, ChunkLoop, longer), MACHINE)


def test_a_store_runs_over_its_tiles() -> None:
    """A store outside of the loop over an axis that its buffer holds."""

    def hoist(item: TileLoop) -> list[Item]:
        moved = [inner for inner in item.body if isinstance(inner, Transfer) and inner.direction == "store"]
        tags = {store.tag for store in moved}
        waits = [inner for inner in item.body if isinstance(inner, Wait) and inner.tag.constant in tags]
        return [replace(item, body=tuple(inner for inner in item.body if inner not in moved + waits)), *moved, *waits]

    broken = edit(
        SOFTMAX, TileLoop, hoist, lambda item: any(isinstance(inner, Transfer) and inner.direction == "store" for inner in item.body)
    )
    with pytest.raises(PlanError, match="in scope"):
        validate(broken, MACHINE)


def test_a_store_happens_once() -> None:
    """A result on the parallel axes that is stored in every tile of the reduction."""
    plan = build(layer_norm((3, 5, 300), DType.F32), MACHINE, TileOverride({"r0": 100}))
    mean = next(item for item in plan.body if isinstance(item, Transfer) and item.direction == "store")
    waits = [item for item in plan.body if isinstance(item, Wait) and item.tag == Affine(mean.tag)]
    rest = replace(plan, body=tuple(item for item in plan.body if item is not mean and item not in waits))

    def inside(item: TileLoop) -> list[Item]:
        return [replace(item, body=(*item.body, mean, *waits))]

    last = [item for item in rest.body if isinstance(item, TileLoop)][-1]
    broken = edit(rest, TileLoop, inside, lambda item: item is last)
    with pytest.raises(PlanError, match="happens once"):
        validate(broken, MACHINE)


def test_ranges_need_variables_in_scope() -> None:
    """A declared range that follows a chunk variable outside of its loop."""

    def outside(item: Block) -> Block:
        assert item.weight
        weight = Range(item.weight.buffer, Affine(0, (("z", 4),)), item.weight.length)
        return replace(item, weight=weight, reads=(weight,))

    with pytest.raises(PlanError, match="in scope"):
        validate(block(is_array("preload"), outside)(PRODUCT), MACHINE)
