"""Systolic array and special functions of the Spike oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oracles.spike import SpikeOracle, SpikeResult
from oracles.spike.program import SPAD, Program

pytestmark = [pytest.mark.unit, pytest.mark.req("S-5")]
LANES = 8


def fma_matmul(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x [M, K] times w [K, N] in f32: k ascends, one rounding a step.

    For magnitudes in [1, 2) every product and every sum is a multiple of 2^-46 below 2^6: exact in the 64-bit significand of
    a long double, so the only rounding is the one to f32.
    """
    acc = np.zeros((x.shape[0], w.shape[1]), np.float32)
    for k in range(x.shape[1]):
        acc = (x[:, k, None].astype(np.longdouble) * w[k].astype(np.longdouble) + acc).astype(np.float32)
    return acc


def full_width(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """f32 values of either sign with magnitudes in [1, 2), all significand bits in use."""
    return (rng.choice([-1, 1], shape) * (1 + rng.integers(0, 1 << 23, shape) / (1 << 23))).astype(np.float32)


def matmul_program(rows: int) -> Program:
    """Lane j holds column j of W at 0 and column j of X at 64; the result goes to 512."""
    program = Program().li(11, SPAD).li(12, SPAD + 64).li(13, SPAD + 512)
    program.setvl(LANES, 32).op("vle32.v", vd=8, rs1=11).op("npu.weight_push", vs2=8)
    program.setvl(rows, 32, 2).op("vle32.v", vd=10, rs1=12).op("npu.input_push", vs2=10).op("npu.compute")
    return program.op("npu.pop", vd=12).op("vse32.v", vs3=12, rs1=13)


def spad_of(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Scratchpad bytes [lanes, 512] with the columns of w and x in their lanes."""
    spad = np.zeros((LANES, 128), "<f4")
    spad[:, : w.shape[0]] = w.T
    spad[:, 16 : 16 + x.shape[0]] = x.T
    return spad.view(np.uint8)


def popped(result: SpikeResult, rows: int) -> np.ndarray:
    assert result.trap is None, result.trap
    return result.spad[:, 512 : 512 + 4 * rows].view("<f4").T


def test_matmul_rounds_once_a_step_with_k_ascending(spike: SpikeOracle) -> None:
    rng = np.random.default_rng(0)
    x, w = full_width(rng, 16, LANES), full_width(rng, LANES, LANES)
    found = popped(spike.run(matmul_program(16).image(), spad=spad_of(x, w)), 16)
    expected = fma_matmul(x, w)
    assert found.tobytes() == expected.tobytes()
    separate = np.zeros_like(expected)  # two roundings a step differ: the test can tell
    for k in range(LANES):
        separate += x[:, k, None] * w[k]
    assert found.tobytes() != separate.tobytes()
    assert found.tobytes() != fma_matmul(x[:, ::-1], w[::-1]).tobytes()


def test_weights_stay_and_the_oldest_fall_out(spike: SpikeOracle) -> None:
    rng = np.random.default_rng(1)
    old, new, x = full_width(rng, LANES, LANES), full_width(rng, LANES, LANES), full_width(rng, 4, LANES)
    program = Program().li(11, SPAD).li(12, SPAD + 64).li(13, SPAD + 512).li(14, SPAD + 128)
    program.setvl(LANES, 32).op("vle32.v", vd=8, rs1=11).op("npu.weight_push", vs2=8)
    program.op("vle32.v", vd=8, rs1=14).setvl(3, 32).op("npu.weight_push", vs2=8)  # three of eight replaced
    program.setvl(4, 32).op("vle32.v", vd=10, rs1=12)
    for _ in range(2):  # twice with the same weights
        program.op("npu.input_push", vs2=10).op("npu.compute").op("npu.pop", vd=12)
        program.op("vse32.v", vs3=12, rs1=13).op("addi", rd=13, rs1=13, imm=16)
    spad = np.zeros((LANES, 128), "<f4")
    spad[:, :8], spad[:, 16:20], spad[:, 32:40] = old.T, x.T, new.T
    found = popped(spike.run(program.image(), spad=spad.view(np.uint8)), 8)
    expected = fma_matmul(x, np.concatenate([old[3:], new[:3]]))
    assert found[:4].tobytes() == found[4:].tobytes() == expected.tobytes()


def test_nan_results_are_canonical(spike: SpikeOracle) -> None:
    x, w = np.ones((2, LANES), np.float32), np.ones((LANES, LANES), np.float32)
    x[0, 3], w[3, 2] = np.inf, -np.inf
    x[1, 0] = np.frombuffer(b"\x01\x00\xc0\xff", "<f4")[0]  # a negative NaN with a payload
    bits = popped(spike.run(matmul_program(2).image(), spad=spad_of(x, w)), 2).copy().view("<u4")
    assert (bits[1] == 0x7FC00000).all()
    assert bits[0, 2] == 0xFF800000
    assert bits[0, 1] == 0x7F800000


def queue_program(pushes: int, computes: int, pops: int) -> Program:
    """Push 32 rows, compute, pop 32 rows, so many times each."""
    program = Program().setvl(LANES, 32).op("npu.weight_push", vs2=8).setvl(32, 32, 4)
    for name, count in (("npu.input_push", pushes), ("npu.compute", computes), ("npu.pop", pops)):
        for _ in range(count):
            program.op(name, **{"npu.input_push": {"vs2": 8}, "npu.compute": {}, "npu.pop": {"vd": 8}}[name])
    return program


QUEUES = {
    "full input queue": (queue_program(8, 1, 8), None),
    "input queue overflow": (queue_program(9, 0, 0), "sa_queue_overflow"),
    "pop of more than there is": (queue_program(2, 1, 3), "sa_queue_underflow"),
    "output queue overflow": (queue_program(8, 1, 0).op("npu.input_push", vs2=8).op("npu.compute"), "sa_queue_overflow"),
    "too few weights": (Program().setvl(7, 32).op("npu.weight_push", vs2=8).op("npu.compute"), "sa_queue_underflow"),
}


@pytest.mark.req("S-3")
@pytest.mark.parametrize("name", QUEUES)
def test_queue_limits(spike: SpikeOracle, name: str) -> None:
    program, cause = QUEUES[name]
    trap = spike.run(program.image()).trap
    assert (trap and trap.cause) == cause


FUNCTIONS = {"exp": np.exp, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "log": np.log, "atan": np.arctan, "erf": np.vectorize(math.erf)}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 88.7, 89.0, -104.0, 1e-30, 1e-45, 1e30, -1e30, np.inf, -np.inf, np.nan]


def special(spike: SpikeOracle, name: str, values: np.ndarray) -> np.ndarray:
    """Apply a function to values [lanes, n]."""
    count, bits = values.shape[1], values.dtype.itemsize * 8
    program = Program().li(11, SPAD).li(12, SPAD + 4096).setvl(count, bits, 8).op(f"vle{bits}.v", vd=8, rs1=11)
    program.op(f"npu.{name}", vd=16, vs2=8).op(f"vse{bits}.v", vs3=16, rs1=12)
    program.op("csrrs", rd=13, csr=1, rs1=0).op("sd", rs2=13, rs1=12, imm=2040)
    result = spike.run(program.image(), spad=np.ascontiguousarray(values).view(np.uint8))
    assert result.trap is None, result.trap
    assert not result.spad[:, 4096 + 2040 : 4096 + 2048].any()  # fflags
    return result.spad[:, 4096 : 4096 + count * bits // 8].view(values.dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["<f2", "<f4"])
def test_special_functions(spike: SpikeOracle, name: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        values = (rng.standard_normal((LANES, 32)) * 8).astype(dtype)
        values[3, : len(SPECIAL)] = np.array(SPECIAL).astype(dtype)
        expected = FUNCTIONS[name](values.astype(np.float64)).astype(np.float32).astype(dtype)
    found = special(spike, name, values)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    canonical = {"<f2": 0x7E00, "<f4": 0x7FC00000}[dtype]
    bits, wanted = found.copy().view(f"<u{found.itemsize}"), expected.view(f"<u{found.itemsize}")
    assert (bits[nan] == canonical).all()
    # numpy has its own exp, sin, .. in double; after rounding they agree with the C library's but for rare ties
    ulp = np.abs(bits[~nan].astype(np.int64) - wanted[~nan].astype(np.int64))
    assert ulp.max() <= 1
    assert (ulp != 0).mean() < 0.01


@pytest.mark.parametrize("name", ["erf", "exp", "tanh"])
def test_special_functions_in_double(spike: SpikeOracle, name: str) -> None:
    values = np.random.default_rng(6).standard_normal((LANES, 16))
    expected = np.vectorize(getattr(math, name))(values)
    found = special(spike, name, values)
    assert np.abs(found.copy().view("<i8") - expected.view("<i8")).max() <= 1
