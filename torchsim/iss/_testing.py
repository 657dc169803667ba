"""Small hand-made programs for the tests of this package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torchsim.iss import RunResult, Simulator, Window
from torchsim.target.isa.encoder import encode

BASE, SPAD, STACK, TENSORS = 0x8000_0000, 0xD000_0000, 0xE000_0000, 0x10_0000_0000
RA, SP, T0, T1, S0, A0 = 1, 2, 5, 6, 8, 10
_SEW = {8: 0, 16: 1, 32: 2, 64: 3}
_LMUL = {1: 0, 2: 1, 4: 2, 8: 3, -2: 7, -4: 6, -8: 5}


def vtype(sew: int, lmul: int = 1) -> int:
    """vtype of SEW 8..64 and LMUL 1, 2, 4, 8, or -2, -4, -8 for a half, a quarter, an eighth."""
    return _SEW[sew] << 3 | _LMUL[lmul]


@dataclass(frozen=True)
class Tile:
    """Operands of a transfer's configuration, axis 0 outermost, strides in elements; bounds None = the whole tile."""

    dims: Sequence[int]
    dram: Sequence[int]
    spad: Sequence[int]
    split: int = 3
    v: int = 1
    size: int = 4
    low: Sequence[int] | None = None
    high: Sequence[int] | None = None
    fill: int = 0
    type_code: int = 0
    accumulate: bool = False
    index: tuple[int, int, int] | None = None  # address, stride, bytes


def four(values: Sequence[int]) -> int:
    """Four 16-bit fields, the first in the highest place."""
    return sum((value & 0xFFFF) << (48 - 16 * place) for place, value in enumerate(values))


def pair(first: int, second: int) -> int:
    """Two signed 32-bit fields."""
    return (first & 0xFFFF_FFFF) << 32 | second & 0xFFFF_FFFF


@dataclass
class Program:
    """Instructions one after the other; methods return the program."""

    code: bytearray = field(default_factory=bytearray)

    def op(self, name: str, **operands: int) -> Program:
        """One instruction by its name in the table."""
        word = encode(name, **operands)
        self.code += word.to_bytes(4 if word & 3 == 3 else 2, "little")
        return self

    def word(self, bits: int) -> Program:
        """A raw 32-bit word."""
        self.code += bits.to_bytes(4, "little")
        return self

    def li(self, rd: int, value: int) -> Program:
        """Any 64-bit constant."""
        if -2048 <= value < 2048:
            return self.op("addi", rd=rd, rs1=0, imm=value)
        value &= (1 << 64) - 1
        self.op("addi", rd=rd, rs1=0, imm=value >> 55)
        for shift in range(44, -1, -11):
            self.op("slli", rd=rd, rs1=rd, imm=11).op("ori", rd=rd, rs1=rd, imm=value >> shift & 0x7FF)
        return self

    def two(self, name: str, rs1: int, rs2: int) -> Program:
        """An NPU instruction with two register operands of these values."""
        return self.li(T0, rs1).li(T1, rs2).op(name, rs1=T0, rs2=T1)

    def setvl(self, vl: int, sew: int, lmul: int = 1) -> Program:
        """vl and vtype."""
        return self.li(T0, vl).op("vsetvli", rd=0, rs1=T0, vtype=vtype(sew, lmul))

    def configure(self, slot: int, tile: Tile) -> Program:
        """CONFIG and its companions."""
        self.two("npu.config", four(tile.dims), tile.v << 32 | slot << 17 | (tile.index is not None) << 16 | tile.split << 14 | tile.size)
        self.two("npu.config2", pair(tile.dram[0], tile.dram[1]), pair(tile.dram[2], tile.dram[3]))
        self.two("npu.config3", pair(tile.spad[0], tile.spad[1]), pair(tile.spad[2], tile.spad[3]))
        if tile.index is not None:
            self.two("npu.config4", tile.index[0], tile.index[1] | tile.index[2] << 16)
        if tile.low is not None or tile.high is not None:
            self.two("npu.config_mask", four(tile.low or [0] * 4), four(tile.high or tile.dims))
        return self.two("npu.config_fill", tile.fill, tile.type_code | tile.accumulate << 8)

    def mvin(self, tile: Tile, dram: int, spad: int, tag: int | None = None) -> Program:
        """Configure slot 0 and load."""
        return self._transfer("npu.mvin", 0, tile, dram, spad, tag)

    def mvout(self, tile: Tile, dram: int, spad: int, tag: int | None = None) -> Program:
        """Configure slot 3 and store."""
        return self._transfer("npu.mvout", 3, tile, dram, spad, tag)

    def _transfer(self, name: str, slot: int, tile: Tile, dram: int, spad: int, tag: int | None) -> Program:
        self.configure(slot, tile)
        if tag is not None:
            self.two("npu.tag", tag, 0)
        return self.two(name, dram, spad)

    def wait(self, tag: int, count: int = 0) -> Program:
        """WAIT."""
        return self.two("npu.wait", tag, count)

    def begin(self, block: int = 0) -> Program:
        """Start of a block. x30 and x31 keep the operands of ``end``, so that nothing but the block's own instructions is measured."""
        return self.li(30, block).li(31, 1).op("npu.block", rs1=30, rs2=0)

    def end(self) -> Program:
        """End of the block that ``begin`` started, without further instructions."""
        return self.op("npu.block", rs1=30, rs2=31)

    def image(self) -> bytes:
        """The program, returning to its caller."""
        return bytes(self.code) + encode("jalr", rd=0, rs1=RA, imm=0).to_bytes(4, "little")

    def run(self, simulator: Simulator, windows: Sequence[Window] = (), **options: object) -> RunResult:
        """Run on a simulator; options of ``Simulator.run``."""
        return simulator.run(self.image(), BASE, BASE, windows, **options)  # type: ignore[arg-type]
