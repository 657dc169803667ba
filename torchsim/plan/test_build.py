"""Properties of chosen plans: anchors, overrides, overflow, layout of reductions, fusion forms."""

from __future__ import annotations

import numpy as np
import pytest

from torchsim.config import Machine, load_machine
from torchsim.errors import InvalidInputError, PlanError, SpadOverflowError, UnsupportedError
from torchsim.plan.arena import leaves
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Axis, Group, IndexExpr, Node, Op, TensorArg
from torchsim.plan.model import Block, KernelPlan, TileLoop, Transfer
from torchsim.plan.override import TileOverride
from torchsim.plan.test_groups import Case
from torchsim.plan.test_plan_values import check_values
from torchsim.plan.validate import validate
from torchsim.plan.values import encode

pytestmark = pytest.mark.unit
F32 = DType.F32
MACHINES = ("8x8", "32x32", "128x128")


def load(tensor: str, row: tuple[int, ...], offset: int = 0, dtype: DType = F32) -> Op:
    return Op("load", dtype, (), Access(tensor, row, offset))


def pointwise(name: str, extents: tuple[int, ...], args: tuple[TensorArg, ...], body: tuple[Op, ...], store: Access) -> Group:
    """One node; its result is the last operation."""
    node = Node("y", "pointwise", body, (len(body) - 1,), body[-1].dtype, False, store=store)
    return Group(name, args, tuple(Axis(f"p{i}", extent) for i, extent in enumerate(extents)), (node,))


def softmax(rows: int, columns: int) -> Group:
    """Maximum, sum of exponentials, quotient: three nodes, three passes."""
    row = (columns, 1)
    shifted = (load("x", row), Op("value", F32, (), "top"), Op("sub", F32, (0, 1)), Op("exp", F32, (2,)))
    quotient = (*shifted, Op("value", F32, (), "total"), Op("truediv", F32, (3, 4)))
    nodes = (
        Node("top", "reduction", (load("x", row),), (0,), F32, True, "max", origins=("amax",)),
        Node("total", "reduction", shifted, (3,), F32, True, "sum", origins=("sum",)),
        Node("soft", "pointwise", quotient, (5,), F32, True, store=Access("y", row), origins=("div",)),
    )
    args = (TensorArg("x", F32, rows * columns, "input"), TensorArg("y", F32, rows * columns, "output"))
    return Group("softmax", args, (Axis("p0", rows), Axis("r0", columns, True)), nodes)


def layer_norm(shape: tuple[int, int, int], dtype: DType) -> Group:
    """Mean, variance around it, normalised and scaled rows; the mean is stored too."""
    a, b, c = shape
    row, scale = (b * c, c, 1), Op("constant", F32, (), 1.0 / c)
    wide = (load("x", row, dtype=dtype), Op("cast", F32, (0,)))
    centred = (*wide, Op("value", F32, (), "mean"), Op("sub", F32, (1, 2)))
    variance = (Op("value", F32, (), "square"), scale, Op("mul", F32, (0, 1)))
    rstd = (*variance, Op("constant", F32, (), 1e-5), Op("add", F32, (2, 3)), Op("rsqrt", F32, (4,)))
    scaled = (*centred, Op("value", F32, (), "rstd"), Op("mul", F32, (3, 4)), load("g", (0, 0, 1)), Op("mul", F32, (5, 6)))
    mean = (Op("value", F32, (), "sum"), scale, Op("mul", F32, (0, 1)))
    nodes = (
        Node("sum", "reduction", wide, (1,), F32, True, "sum"),
        Node("mean", "pointwise", mean, (2,), F32, False, store=Access("m", (b, 1, 0))),
        Node("square", "reduction", (*centred, Op("mul", F32, (3, 3))), (4,), F32, True, "sum"),
        Node("rstd", "pointwise", rstd, (5,), F32, False),
        Node("y", "pointwise", (*scaled, Op("cast", dtype, (7,))), (8,), dtype, True, store=Access("y", row)),
    )
    args = (
        TensorArg("x", dtype, a * b * c, "input"), TensorArg("g", F32, c, "input"),
        TensorArg("y", dtype, a * b * c, "output"), TensorArg("m", F32, a * b, "output"),
    )  # fmt: skip
    return Group("layer_norm", args, (Axis("p0", a), Axis("p1", b), Axis("r0", c, True)), nodes)


def matmul(m: int, n: int, k: int, dtype: DType = F32, *, epilogue: bool = True, live: bool = False) -> Group:
    """y = relu(x @ w + b), or x @ w alone; ``live``: the product is stored too."""
    ops = (load("x", (k, 0, 1), dtype=dtype), load("w", (0, 1, n), dtype=dtype))
    store = Access("raw", (n, 1, 0)) if live or not epilogue else None
    nodes = [Node("product", "matmul", ops, (0, 1), dtype, True, store=store, origins=("mm",))]
    args = [TensorArg("x", dtype, m * k, "input"), TensorArg("w", dtype, k * n, "input")]
    if store:
        args.append(TensorArg("raw", dtype, m * n, "output"))
    if epilogue:
        body = (Op("value", dtype, (), "product"), load("b", (0, 1, 0), dtype=dtype), Op("add", dtype, (0, 1)), Op("relu", dtype, (2,)))
        nodes.append(Node("y", "pointwise", body, (3,), dtype, False, store=Access("y", (n, 1, 0)), origins=("relu",)))
        args += [TensorArg("b", dtype, n, "input"), TensorArg("y", dtype, m * n, "output")]
    return Group("mm", tuple(args), (Axis("m", m), Axis("n", n), Axis("k", k, True)), tuple(nodes))


def random_case(group: Group, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    return Case(
        group,
        [
            encode(rng.standard_normal(arg.elements).astype(arg.dtype.numpy if arg.dtype is DType.F64 else np.float32), arg.dtype)
            for arg in group.args
        ],
    )


def blocks(plan: KernelPlan) -> list[Block]:
    return [item for item in leaves(plan.body) if isinstance(item, Block)]


def transfers(plan: KernelPlan) -> list[Transfer]:
    return [item for item in leaves(plan.body) if isinstance(item, Transfer)]


def small(name: str, kib: int) -> Machine:
    return load_machine(name).model_copy(update={"vpu_spad_size_kb_per_lane": kib})


@pytest.mark.req("T-9", "T-1")
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("size", [(512, 512, 512), (300, 77, 1000), (4096, 4096, 4096)])
def test_matmul_with_relu_fits(name: str, size: tuple[int, int, int]) -> None:
    """mm + bias + relu at 128x128 and elsewhere stays inside half of the scratchpad."""
    machine = load_machine(name)
    plan = build(matmul(*size), machine)
    validate(plan, machine)
    assert plan.spad_bytes_per_lane <= machine.dispatch_budget_bytes
    assert sum(item.direction == "store" for item in transfers(plan)) == 1


@pytest.mark.req("C-17", "F-6")
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16, DType.F64])
@pytest.mark.parametrize(("epilogue", "live", "stores"), [(True, False, 1), (True, True, 2), (False, True, 1)])
def test_the_product_is_stored_when_somebody_reads_it(dtype: DType, epilogue: bool, live: bool, stores: int) -> None:
    """Live or dead product, with and without epilogue."""
    case, machine = random_case(matmul(37, 21, 50, dtype, epilogue=epilogue, live=live)), load_machine("8x8")
    plan = build(case.group, machine)
    validate(plan, machine)
    assert sum(item.direction == "store" for item in transfers(plan)) == stores
    check_values(case, plan)


@pytest.mark.req("T-6", "C-4")
@pytest.mark.parametrize("kib", [2, 12, 32])
@pytest.mark.parametrize("name", ["8x8", "32x32"])
def test_softmax_rows_that_fit_and_rows_that_do_not(name: str, kib: int) -> None:
    """A row that fits is loaded once; one that does not runs its passes over tiles."""
    machine, case = small(name, kib), random_case(softmax(20, 700))
    plan = build(case.group, machine)
    validate(plan, machine)
    looped = any(isinstance(item, TileLoop) for item in plan.body)
    assert looped == (kib == 2)
    assert sum(item.direction == "load" for item in transfers(plan)) == (3 if looped else 1)
    check_values(case, plan)


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16])
@pytest.mark.parametrize("kib", [2, 32])
def test_layer_norm(dtype: DType, kib: int) -> None:
    """Two reductions, a stored mean, a level between the passes."""
    machine, case = small("8x8", kib), random_case(layer_norm((3, 5, 300), dtype))
    plan = build(case.group, machine)
    validate(plan, machine)
    check_values(case, plan)


@pytest.mark.req("C-6")
def test_reduction_axes_are_outermost_in_the_lane() -> None:
    """Buffers order reduction axes before parallel ones when vectors run along a parallel axis; vectors are innermost, stride 1."""
    axes = (Axis("p0", 7), Axis("p1", 300), Axis("r0", 5, True), Axis("r1", 9, True))
    node = Node("s", "reduction", (load("x", (2700, 1, 7 * 2700, 300)),), (0,), F32, True, "sum", store=Access("y", (300, 1, 0, 0)))
    group = Group("outer", (TensorArg("x", F32, 5 * 7 * 2700, "input"), TensorArg("y", F32, 2100, "output")), axes, (node,))
    plan = build(group, load_machine("8x8"), TileOverride({"p0": 4, "r0": 5, "r1": 9}, split="p1", vector_axis="p1"))
    source = next(buffer for buffer in plan.buffers if buffer.name == "in_x")
    assert [plan.axes[axis].name for axis in source.axes] == ["r0", "r1", "p0", "p1"]
    assert source.strides[-1] == 1
    reducing = next(block for block in blocks(plan) if block.reduces)
    assert [plan.axes[loop.axis].reduction for loop in reducing.loops] == [True, False], (
        "p0 and p1 became one vector loop, r0 and r1 one loop"
    )


@pytest.mark.req("C-19")
@pytest.mark.parametrize("elements", [1, 64, 100, 127, 128, 200, 300, 70000])
def test_a_flat_tile_never_exceeds_the_data(elements: int) -> None:
    """1-D pointwise work on 128 lanes."""
    body = (load("x", (1,)), load("x", (1,)), Op("mul", F32, (0, 1)))
    args = (TensorArg("x", F32, elements, "input"), TensorArg("y", F32, elements, "output"))
    group = pointwise("square", (elements,), args, body, Access("y", (1,)))
    plan = build(group, load_machine("128x128"))
    assert plan.tile.extents[0] <= min(elements, 65535)


@pytest.mark.req("C-18", "C-21")
def test_positions_cost_no_scratchpad() -> None:
    """arange: the only buffer is the output."""
    body = (Op("index", DType.I64, (), IndexExpr((3,), 5)),)
    group = pointwise("arange", (100,), (TensorArg("y", DType.I64, 100, "output"),), body, Access("y", (1,)))
    plan = build(group, load_machine("8x8"), TileOverride({"p0": 40}, vlane_stride=2))
    assert len(plan.buffers) == 1
    check_values(Case(group, [np.zeros(100, np.int64)]), plan)


@pytest.mark.req("T-7")
def test_broadcasts_and_dead_buffers_share() -> None:
    """A bias row holds its own axis only; what the k loop used is free for the epilogue."""
    plan = build(matmul(64, 64, 64), load_machine("32x32"), TileOverride({"m": 64, "n": 64, "k": 64}))
    by_name = {buffer.name: buffer for buffer in plan.buffers}
    assert by_name["in_b"].shape == (2,)
    assert plan.spad_bytes_per_lane < sum(buffer.bytes_per_lane for buffer in plan.buffers)
    assert by_name["out_y"].offset < by_name["x"].offset + by_name["x"].bytes_per_lane


@pytest.mark.req("T-2")
def test_overflow_tells_everything() -> None:
    """Kernel, origins, tile, bytes, budget and buffers by size are in the message."""
    with pytest.raises(SpadOverflowError) as caught:
        build(softmax(64, 4096), load_machine("8x8"), TileOverride({"p0": 64, "r0": 4096}))
    text = str(caught.value)
    for part in ("softmax", "amax, sum, div", "p0=64", "r0=4096", "16384", "in_x 131072", "bytes per lane"):
        assert part in text, part


@pytest.mark.req("T-6")
def test_the_smallest_tile_is_tried_before_giving_up() -> None:
    """A budget of 512 bytes holds eight buffers of the least size, not nine."""

    def chain(inputs: int) -> Group:
        ops = [load(f"x{i}", (1,)) for i in range(inputs)]
        for i in range(1, inputs):
            ops.append(Op("add", F32, (len(ops) - 1 if i > 1 else 0, i)))
        args = (*(TensorArg(f"x{i}", F32, 100, "input") for i in range(inputs)), TensorArg("y", F32, 100, "output"))
        return pointwise("chain", (100,), args, tuple(ops), Access("y", (1,)))

    assert build(chain(7), small("8x8", 1)).spad_bytes_per_lane == 512
    with pytest.raises(SpadOverflowError):
        build(chain(8), small("8x8", 1))


@pytest.mark.req("T-8")
@pytest.mark.parametrize(
    "override",
    [
        TileOverride({"p9": 4}), TileOverride({"p0": 0}), TileOverride({"p0": 21}), TileOverride(split="r0"), TileOverride(vlane_stride=3),
        TileOverride({"p0_r0": 4}), TileOverride(vector_axis="q"),
    ],
)  # fmt: skip
def test_what_is_no_tile_is_refused(override: TileOverride) -> None:
    """Unknown axes, extents outside of the axis, a reduction over the lanes, odd strides."""
    with pytest.raises(InvalidInputError):
        build(softmax(20, 50), load_machine("8x8"), override)


@pytest.mark.req("T-8")
@pytest.mark.parametrize(
    "override",
    [TileOverride({"n": 12}), TileOverride({"k": 64}), TileOverride(split="m"), TileOverride(vlane_stride=2), TileOverride({"p0": 1})],
)
def test_what_is_no_matmul_tile_is_refused(override: TileOverride) -> None:
    """n and k come in chunks of the array side, up to the axis rounded up."""
    with pytest.raises(InvalidInputError):
        build(matmul(20, 20, 50), load_machine("8x8"), override)


def test_merged_and_plain_axis_names() -> None:
    """An override may name merged or original axes, not a mixture."""
    body = (load("x", (30, 1)), Op("neg", F32, (0,)))
    args = (TensorArg("x", F32, 600, "input"), TensorArg("y", F32, 600, "output"))
    group = pointwise("neg", (20, 30), args, body, Access("y", (30, 1)))
    machine = load_machine("8x8")
    assert [axis.name for axis in build(group, machine).axes] == ["p0_p1"]
    assert build(group, machine, TileOverride({"p0_p1": 123})).tile.extents == (123,)
    assert build(group, machine, TileOverride({"p0": 7, "p1": 11})).tile.extents == (7, 11)
    with pytest.raises(InvalidInputError, match="unknown axis"):
        build(group, machine, TileOverride({"p0": 7, "p0_p1": 11}))


@pytest.mark.req("C-23")
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1)])
def test_empty_and_single_domains(shape: tuple[int, int]) -> None:
    """Nothing to do, a sum over nothing, one element."""
    rows, columns = shape
    node = Node("s", "reduction", (load("x", (columns, 1)),), (0,), F32, True, "sum", store=Access("y", (1, 0)))
    args = (TensorArg("x", F32, rows * columns, "input"), TensorArg("y", F32, rows, "output"))
    group = Group("sum", args, (Axis("p0", rows), Axis("r0", columns, True)), (node,))
    machine, case = load_machine("8x8"), random_case(group)
    plan = build(group, machine)
    validate(plan, machine)
    check_values(case, plan)
    product = matmul(3, 4, 0)
    check_values(random_case(product), build(product, machine))


@pytest.mark.parametrize("writer", [Access("x", (1, 20)), Access("x", (20, 1), 1)])
def test_a_transposed_or_shifted_update_is_two_kernels(writer: Access) -> None:
    """x.add_(x.t()): the read and written places differ (rule 10)."""
    body = (load("x", (20, 1)), Op("neg", F32, (0,)))
    group = pointwise("update", (20, 20), (TensorArg("x", F32, 401, "inout"),), body, writer)
    with pytest.raises(UnsupportedError, match="different places"):
        build(group, load_machine("8x8"))


def test_disjoint_halves_of_one_tensor_are_fine() -> None:
    """x[100:] = -x[:100]."""
    body = (load("x", (1,)), Op("neg", F32, (0,)))
    group = pointwise("halves", (100,), (TensorArg("x", F32, 200, "inout"),), body, Access("x", (1,), 100))
    machine, case = load_machine("8x8"), random_case(group)
    plan = build(group, machine)
    validate(plan, machine)
    check_values(case, plan)


def test_groups_that_cannot_be() -> None:
    """A value before its node, a broadcast store, a reduction behind the array, an operand on the wrong axis."""
    machine = load_machine("8x8")
    args, axes = (TensorArg("y", F32, 9, "output"),), (Axis("p0", 3), Axis("p1", 3))
    early = Node("y", "pointwise", (Op("value", F32, (), "later"),), (0,), F32, False, store=Access("y", (3, 1)))
    with pytest.raises(PlanError):
        build(Group("early", args, axes, (early,)), machine)
    one = Node("y", "pointwise", (Op("constant", F32, (), 1.0),), (0,), F32, False, store=Access("y", (0, 1)))
    with pytest.raises(UnsupportedError, match="several times"):
        build(Group("one", args, axes, (one,)), machine)
    product = matmul(9, 9, 9)
    behind = Node("top", "reduction", (Op("value", F32, (), "product"),), (0,), F32, True, "max", store=Access("y", (9, 1, 0)))
    with pytest.raises(UnsupportedError, match="epilogues"):
        build(Group("behind", product.args, product.axes, (product.nodes[0], behind)), machine)
    crossed = Node("product", "matmul", (load("x", (9, 1, 0)), load("w", (0, 1, 9))), (0, 1), F32, True, store=Access("y", (9, 1, 0)))
    with pytest.raises(UnsupportedError, match="other operand"):
        build(Group("crossed", product.args, product.axes, (crossed,)), machine)
