"""Systolic array, lane index and special functions against independent references."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from torchsim.errors import TrapError
from torchsim.iss import Simulator
from torchsim.iss._exact import RNE, Format, round_fraction
from torchsim.iss._testing import SPAD, Program

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1")]
SINGLE, HALF = Format(8, 23), Format(5, 10)


def fma(a: int, b: int, c: int) -> int:
    """Bits of a * b + c in f32, all finite, one rounding."""
    exact = SINGLE.value(a) * SINGLE.value(b) + SINGLE.value(c)
    return round_fraction(SINGLE, exact, RNE) if exact else 0


def chain(x: npt.NDArray[np.uint32], w: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """out[r, j]: fused sum over k ascending of x[r, k] * w[k, j], from +0."""
    out = np.zeros((x.shape[0], w.shape[1]), np.uint32)
    for r in range(x.shape[0]):
        for j in range(w.shape[1]):
            acc = 0
            for k in range(w.shape[0]):
                acc = fma(int(x[r, k]), int(w[k, j]), acc)
            out[r, j] = acc
    return out


def in_lanes(simulator: Simulator, rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Rows of L elements as per-lane columns: lane j holds column j, contiguous."""
    return np.ascontiguousarray(rows.T).view(np.uint8).reshape(simulator.lanes, -1)


@pytest.mark.parametrize(("lanes", "rows"), [(4, 11), (8, 6), (16, 3)])
def test_matrix_product_is_a_fused_chain_in_k_order(lanes: int, rows: int) -> None:
    rng = np.random.default_rng(lanes)
    simulator = Simulator(lanes, 4096)
    x = (rng.standard_normal((rows, lanes)) * 10.0 ** rng.integers(-4, 4, (rows, lanes))).astype(np.float32)
    w = rng.standard_normal((lanes, lanes)).astype(np.float32)
    x[0, :2], w[:2, 0] = [1e8, -1e8], [1, 1]  # cancels: the order of the sum shows
    spad = np.concatenate([in_lanes(simulator, w.view(np.uint32)), in_lanes(simulator, x.view(np.uint32))], axis=1)
    program = Program().li(8, SPAD).li(9, SPAD + 4 * lanes).li(18, SPAD + 1024)
    program.setvl(lanes, 32, 4).op("vle32.v", vd=8, rs1=8).op("npu.weight_push", vs2=8)
    program.setvl(rows, 32, 4).op("vle32.v", vd=8, rs1=9).op("npu.input_push", vs2=8).op("npu.compute")
    program.setvl(rows - 1, 32, 4).op("npu.pop", vd=16).op("vse32.v", vs3=16, rs1=18).setvl(1, 32).op("npu.pop", vd=16).op(
        "addi", rd=18, rs1=18, imm=4 * (rows - 1)
    ).op("vse32.v", vs3=16, rs1=18)
    program.run(simulator, spad=spad)
    found = simulator.scratchpad()[:, 1024 : 1024 + 4 * rows].copy().view(np.uint32).T
    assert (found == chain(x.view(np.uint32), w.view(np.uint32))).all()


def test_weights_beyond_the_array_fall_out_and_stay_between_computes() -> None:
    simulator = Simulator(2, 4096)
    registers = np.zeros((2, 32, 32), np.uint8)
    registers.view("<f4")[:, 8, :4] = [[9, 9, 1, 2], [9, 9, 3, 4]]  # the last two weights of each lane count
    registers.view("<f4")[:, 9, :1] = [[10], [100]]
    program = Program().setvl(4, 32).op("npu.weight_push", vs2=8).setvl(1, 32)
    for vd in (16, 17):
        program.op("npu.input_push", vs2=9).op("npu.compute").op("npu.pop", vd=vd)
    program.run(simulator, vector_registers=registers)
    after = simulator.vector_registers().view("<f4")
    assert after[:, 16, 0].tolist() == after[:, 17, 0].tolist() == [10 * 1 + 100 * 2, 10 * 3 + 100 * 4]


def test_nan_results_are_canonical() -> None:
    simulator = Simulator(2, 4096)
    registers = np.zeros((2, 32, 32), np.uint8)
    registers.view("<u4")[:, 8, :2] = 0xFFC0_1234
    Program().setvl(2, 32).op("npu.weight_push", vs2=8).op("npu.input_push", vs2=8).op("npu.compute").op("npu.pop", vd=9).run(
        simulator, vector_registers=registers
    )
    assert (simulator.vector_registers().view("<u4")[:, 9, :2] == 0x7FC0_0000).all()


@pytest.mark.req("S-3")
@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (["npu.compute"], "sa_queue_underflow"),
        (["npu.weight_push", "npu.pop"], "sa_queue_underflow"),
        (["npu.weight_push", *["npu.input_push"] * 5], "sa_queue_overflow"),
        (["npu.weight_push", *["npu.input_push"] * 3, "npu.compute", *["npu.input_push"] * 2, "npu.compute"], "sa_queue_overflow"),
    ],
)
def test_queues_have_limits(body: list[str], cause: str) -> None:
    simulator = Simulator(4, 4096, sa_queue_rows=16)
    program = Program().setvl(4, 32)
    for name in body:
        program.op(name, **({"vs2": 8} if "push" in name else {"vd": 8} if "pop" in name else {}))
    with pytest.raises(TrapError) as caught:
        program.run(simulator)
    assert caught.value.cause == cause


def test_lane_index_has_every_width() -> None:
    simulator = Simulator(300, 4096)
    for sew in (8, 16, 32, 64):
        Program().setvl(3, sew).op("npu.lane_index", vd=8).run(simulator)
        found = simulator.vector_registers().view(f"<u{sew // 8}")[:, 8]
        assert (found[:, :3] == (np.arange(300, dtype=np.uint64) & np.uint64((1 << sew) - 1))[:, None]).all() and (found[:, 3:] == 0).all()


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "erf": math.erf,
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
    "log": math.log,
    "atan": math.atan,
    "exp": math.exp,
}


def evaluate(function: Callable[[float], float], value: float) -> float:
    try:
        return function(value)
    except OverflowError:
        return math.inf
    except ValueError:
        return -math.inf if function is math.log and value == 0 else math.nan


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_functions_round_the_double_result_once(name: str) -> None:
    simulator, rng = Simulator(64, 4096), np.random.default_rng(3)
    count = 64
    any_bits = rng.integers(0, 2**32, 16 * count, dtype=np.uint32).view(np.float32)
    values = np.concatenate([rng.normal(0, 1, 32 * count).astype(np.float32), rng.normal(0, 40, 16 * count).astype(np.float32), any_bits])
    values[:10] = [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 88.8, 3.4e38, -104]
    values = values.reshape(64, count)
    registers = np.zeros((64, 32, 32), np.uint8)
    registers[:, 8:16] = values.view(np.uint8).reshape(64, 8, 32)
    Program().setvl(count, 32, 8).op(f"npu.{name}", vd=16, vs2=8).run(simulator, vector_registers=registers)
    found = simulator.vector_registers()[:, 16:24].reshape(64, -1).view("<u4")
    with np.errstate(all="ignore"):
        wanted = np.array([np.float32(evaluate(FUNCTIONS[name], float(value))) for value in values.flat], np.float32)
    bits = np.where(np.isnan(wanted), np.uint32(0x7FC0_0000), wanted.view(np.uint32)).reshape(64, count)
    assert (found == bits).all()


@pytest.mark.parametrize("name", ["exp", "tanh"])
def test_special_functions_of_other_widths(name: str) -> None:
    simulator = Simulator(8, 4096)
    function = FUNCTIONS[name]
    halves = np.linspace(-12, 12, 8 * 16).astype(np.float16).reshape(8, 16)
    registers = np.zeros((8, 32, 32), np.uint8)
    registers[:, 8] = halves.view(np.uint8)
    registers.view("<f8")[:, 10] = halves[:, :4]
    program = Program().setvl(16, 16).op(f"npu.{name}", vd=16, vs2=8).setvl(4, 64).op(f"npu.{name}", vd=17, vs2=10)
    program.run(simulator, vector_registers=registers)
    after = simulator.vector_registers()
    with np.errstate(over="ignore"):
        wanted = np.array([np.float16(np.float32(function(float(value)))) for value in halves.flat]).reshape(8, 16)
    assert (after[:, 16].view(np.float16) == wanted).all()
    for value, found in zip(halves[:, :4].flat, after.view("<f8")[:, 17].flat, strict=True):
        assert abs(found - function(float(value))) <= math.ulp(found)
    with pytest.raises(TrapError, match="illegal_instruction"):
        Program().setvl(4, 8).op(f"npu.{name}", vd=16, vs2=8).run(simulator)
