"""Runs one special-function instruction of the functional simulator over many values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from oracles.special.functions import Function
from oracles.spike.program import SPAD, Program
from torchsim.iss import Simulator, Window

Bits = npt.NDArray[Any]
"""uint16, uint32 or uint64: values of a binary format as bits."""
LANES, _SPAD_BYTES, _TENSOR = 64, 64 << 10, 0x10_0000_0000
_SOURCE, _TARGET, _COUNT, _STEP = 10, 11, 12, 13


class SpecialUnit:
    """The instruction on whole arrays, every vector register group of every lane filled."""

    def __init__(self) -> None:
        self._simulator = Simulator(LANES, _SPAD_BYTES)

    def evaluate(self, function: Function, values: Bits, frm: int = 0) -> Bits:
        """f of values given as bits of binary16, binary32 or binary64; ``frm`` is the rounding mode that the program runs under."""
        size = values.dtype.itemsize
        group = 256 // size  # elements of eight registers
        most = _SPAD_BYTES // (2 * size) // group * group
        result = np.empty_like(values)
        for first in range(0, len(values), LANES * most):
            part = values[first : first + LANES * most]
            rows = -(-len(part) // (LANES * group)) * group
            lanes = np.zeros((rows, LANES), values.dtype)
            lanes.reshape(-1)[: len(part)] = part
            answer = np.zeros_like(lanes)
            self._run(function, lanes, answer, group, frm)
            result[first : first + len(part)] = answer.reshape(-1)[: len(part)]
        return result

    def _run(self, function: Function, lanes: Bits, answer: Bits, group: int, frm: int) -> None:
        rows, size = lanes.shape[0], lanes.dtype.itemsize
        program = Program()
        half = SPAD + _SPAD_BYTES // 2
        for slot in (0, 3):  # [rows, lanes]: axis 3 is split over the lanes
            program.dma("npu.config", 1 << 48 | 1 << 32 | rows << 16 | LANES, 1 << 32 | slot << 17 | 3 << 14 | size)
            program.dma("npu.config2", 0, LANES << 32 | 1).dma("npu.config3", 0, 1 << 32 | 1)
        program.dma("npu.mvin", _TENSOR, SPAD)
        program.li(_STEP, frm).op("csrrw", rd=0, csr=2, rs1=_STEP)
        program.setvl(group, 8 * size, 8).li(_SOURCE, SPAD).li(_TARGET, half).li(_COUNT, rows // group)
        start = len(program)
        program.op(f"vle{8 * size}.v", vd=8, rs1=_SOURCE).op(f"npu.{function}", vd=16, vs2=8).op(f"vse{8 * size}.v", vs3=16, rs1=_TARGET)
        for register, step in ((_SOURCE, group * size), (_TARGET, group * size), (_COUNT, -1)):
            program.op("addi", rd=register, rs1=register, imm=step)
        program.op("bne", rs1=_COUNT, rs2=0, imm=start - len(program))
        program.dma("npu.mvout", _TENSOR + lanes.nbytes, half)
        windows = [
            Window(_TENSOR, lanes.ctypes.data, lanes.nbytes, writable=False),
            Window(_TENSOR + lanes.nbytes, answer.ctypes.data, answer.nbytes, readable=False),
        ]
        self._simulator.run(program.image(), 0x8000_0000, 0x8000_0000, windows)
