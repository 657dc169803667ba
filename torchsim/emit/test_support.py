"""Groups for the tests of emission, and comparison of a compiled kernel with the plan interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from hypothesis import reject
from numpy.typing import NDArray

from torchsim.config import Machine
from torchsim.emit.kernel import compile_kernel
from torchsim.errors import SpadOverflowError
from torchsim.iss import Simulator, Window
from torchsim.plan.build import build
from torchsim.plan.dtypes import DType
from torchsim.plan.group import Access, Axis, Group, Node, Op, TensorArg
from torchsim.plan.interpreter import run as interpret
from torchsim.plan.model import KernelPlan
from torchsim.plan.ops import OPS
from torchsim.plan.override import TileOverride
from torchsim.plan.values import decode, encode
from torchsim.target.address_map import TENSOR_BASE
from torchsim.target.image import Image


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1] * len(shape)
    for i in reversed(range(len(shape) - 1)):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def size_of(shape: Sequence[int]) -> int:
    """Number of elements."""
    return int(np.prod(shape)) if shape else 1


def axes_of(shape: Sequence[int], reduced: Sequence[int] = ()) -> tuple[Axis, ...]:
    """Parallel axes, then the reduced ones."""
    order = [i for i in range(len(shape)) if i not in reduced] + list(reduced)
    return tuple(Axis(f"i{i}", shape[i], i in reduced) for i in order)


def pointwise_group(shape: Sequence[int], ops: Sequence[Op], inputs: Sequence[TensorArg], dtype: DType) -> Group:
    """One node over ``shape`` whose last op is stored to ``z``, contiguous."""
    node = Node("node", "pointwise", tuple(ops), (len(ops) - 1,), dtype, True, store=Access("z", strides_of(shape)), origins=("fx",))
    return Group("pointwise", (*inputs, TensorArg("z", dtype, size_of(shape), "output")), axes_of(shape), (node,))


def op_group(name: str, types: Sequence[DType], result: DType, shape: Sequence[int]) -> Group:
    """``z = name(x0, x1, ..)`` on contiguous tensors."""
    inputs = [TensorArg(f"x{i}", dtype, size_of(shape), "input") for i, dtype in enumerate(types)]
    ops = [Op("load", arg.dtype, (), Access(arg.name, strides_of(shape))) for arg in inputs]
    return pointwise_group(shape, [*ops, Op(name, result, tuple(range(len(types))))], inputs, result)


def argument_types(name: str, dtype: DType) -> tuple[list[DType], DType]:
    """Argument types and result type of an op on one type."""
    spec = OPS[name]
    types = [DType.BOOL, dtype, dtype] if name == "where" else [dtype] * spec.arity
    return types, DType.BOOL if spec.result == "bool" else dtype


def reduction_group(kind: str, dtype: DType, shape: Sequence[int], reduced: Sequence[int], accumulate: DType | None = None) -> Group:
    """``z = kind(x)`` over the axes ``reduced``; half types are cast to ``accumulate`` first."""
    kept = [i for i in range(len(shape)) if i not in reduced]
    order = [*kept, *reduced]
    strides = strides_of(shape)
    out = strides_of([shape[i] for i in kept])
    ops = [Op("load", dtype, (), Access("x", tuple(strides[i] for i in order)))]
    result = accumulate or dtype
    if result is not dtype:
        ops.append(Op("cast", result, (0,)))
    node = Node(
        "node",
        "reduction",
        tuple(ops),
        (len(ops) - 1,),
        result,
        True,
        reduction=kind,
        store=Access("z", (*out, *[0] * len(reduced))),
        origins=("fx",),
    )
    args = (TensorArg("x", dtype, size_of(shape), "input"), TensorArg("z", result, size_of([shape[i] for i in kept]), "output"))
    return Group(f"reduce_{kind}", args, axes_of(shape, reduced), (node,))


def matmul_group(m: int, n: int, k: int, *, dtype: DType = DType.F32, relu: bool = False) -> Group:
    """``z = a @ b`` (row-major), with or without a fused relu."""
    axes = (Axis("m", m), Axis("n", n), Axis("k", k, True))
    loads = (Op("load", dtype, (), Access("a", (k, 0, 1))), Op("load", dtype, (), Access("b", (0, 1, n))))
    store = Access("z", (n, 1, 0))
    nodes = [Node("mm", "matmul", loads, (0, 1), dtype, True, store=None if relu else store, origins=("mm",))]
    if relu:
        nodes.append(
            Node(
                "act",
                "pointwise",
                (Op("value", dtype, (), "mm"), Op("relu", dtype, (0,))),
                (1,),
                dtype,
                False,
                store=store,
                origins=("relu",),
            )
        )
    args = (TensorArg("a", dtype, m * k, "input"), TensorArg("b", dtype, k * n, "input"), TensorArg("z", dtype, m * n, "output"))
    return Group("matmul", args, axes, tuple(nodes))


@dataclass(frozen=True)
class Execution:
    """One finished run of a compiled kernel, for a judge that runs it again elsewhere.

    Attributes:
        data: image with the argument block behind it, loaded at ``image.base``.
        argument_block: device address of that block.
        before, after: contents of every tensor (device addresses in ``addresses``).
        spad: final scratchpad, uint8 [lanes, used bytes].
    """

    plan: KernelPlan
    machine: Machine
    image: Image
    data: bytes
    argument_block: int
    addresses: tuple[int, ...]
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    spad: NDArray[np.uint8]
    mode: Literal["early", "late"]


JUDGES: list[Callable[[Execution], None]] = []
"""Each sees every execution and raises when it disagrees; conftest.py adds stock Spike."""


def execute(
    plan: KernelPlan, image: Image, arrays: Sequence[NDArray[np.generic]], machine: Machine, mode: Literal["early", "late"]
) -> Execution:
    """Run a kernel with the arrays as tensors, written in place; every tensor stands alone between unmapped addresses.

    Reading scratchpad bytes that nothing wrote and values that leak out of a lane are traps.
    """
    address, addresses, windows, block = TENSOR_BASE, [], [], b""
    for array in arrays:
        addresses.append(address)
        if array.nbytes:
            windows.append(Window(address, array.ctypes.data, array.nbytes, True, True))
        block += address.to_bytes(8, "little")
        address += -(-array.nbytes // 4096) * 4096 + 4096
    data = image.data + bytes(-len(image.data) % 8)
    before = tuple(array.tobytes() for array in arrays)
    simulator = Simulator(machine.lanes, machine.spad_bytes_per_lane, machine.sa_queue_rows)
    start = image.base + len(data)
    simulator.run(
        data + block,
        image.base,
        image.symbols["kernel"],
        windows,
        argument_block=start,
        mode=mode,
        check_divergence=True,
        check_uninitialised=True,
    )
    after = tuple(array.tobytes() for array in arrays)
    spad = simulator.scratchpad(plan.spad_bytes_per_lane)
    return Execution(plan, machine, image, data + block, start, tuple(addresses), before, after, spad, mode)


def check_against_plan(
    plan: KernelPlan, machine: Machine, arrays: Sequence[NDArray[np.generic]], rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Compile, run with early and with late transfers, compare every output with the plan interpreter's (equal when rtol is 0), and
    show each run to the JUDGES.

    NaN equals NaN whatever its bits.
    """
    compiled = compile_kernel(plan, machine)
    expected = [array.copy() for array in arrays]
    interpret(plan, expected)
    modes: tuple[Literal["early", "late"], ...] = ("early", "late")
    for mode in modes:
        found = [array.copy() for array in arrays]
        execution = execute(plan, compiled.image, found, machine, mode)
        for arg, want, got in zip(plan.args, expected, found):
            a, b = (decode(one, arg.dtype) for one in (want, got))
            if arg.dtype.is_float and (rtol or atol):
                a, b = a.astype(np.float64), b.astype(np.float64)
                np.testing.assert_allclose(b, a, rtol=rtol, atol=atol, equal_nan=True, err_msg=f"{plan.name}, {mode}, {arg.name}")
            else:
                np.testing.assert_array_equal(b, a, err_msg=f"{plan.name}, {mode}, {arg.name}")
        for judge in JUDGES:
            judge(execution)


def build_or_reject(group: Group, machine: Machine, override: TileOverride) -> KernelPlan:
    """For Hypothesis: the plan under a drawn tile; a tile that does not fit the scratchpad is no example."""
    try:
        return build(group, machine, override)
    except SpadOverflowError:
        reject()


def random_array(dtype: DType, size: int, rng: np.random.Generator, *, small: bool = False) -> NDArray[np.generic]:
    """Stored elements: for floats numbers of several magnitudes with special values, for integers the whole range; ``small``: near 1."""
    if dtype is DType.BOOL:
        return rng.integers(0, 2, size).astype(np.uint8)
    if not dtype.is_float:
        info = np.iinfo(dtype.numpy)
        low, high = (-5, 6) if small and info.min < 0 else (0, 6) if small else (info.min, info.max)
        values = rng.integers(low, high, size, dtype=dtype.numpy, endpoint=not small)
        return values if small else np.where(rng.random(size) < 0.3, rng.integers(0, 40, size), values).astype(dtype.numpy)
    values = rng.standard_normal(size)
    if not small:
        values *= 10.0 ** rng.integers(-6, 7, size)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, 3e9, -3e9, 1e20, 1e-40, 127.5, 255.5, -128.5])
        values = np.where(rng.random(size) < 0.3, rng.choice(special, size), values)
    with np.errstate(over="ignore"):
        return encode(values.astype(np.float32), dtype) if dtype is DType.BF16 else values.astype(dtype.numpy)
