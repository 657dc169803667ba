"""Small hand-made kernels: an instruction builder for tests and for instruction-level comparison."""

from __future__ import annotations

from torchsim.target.isa.encoder import encode

SPAD = 0xD000_0000
STACK = 0xE000_0000
A0, SP, RA = 10, 2, 1
EIGHT = {8: 0, 16: 1, 32: 2, 64: 3}
LMUL = {1: 0, 2: 1, 4: 2, 8: 3, -8: 5, -4: 6, -2: 7}


def vtype(sew: int, lmul: int = 1) -> int:
    """vtype bits for SEW 8..64 and LMUL 1, 2, 4, 8 or -2, -4, -8 for a half, a quarter, an eighth; tail and mask undisturbed."""
    return EIGHT[sew] << 3 | LMUL[lmul]


class Program:
    """Instructions one after the other; methods return the program, so calls chain."""

    def __init__(self) -> None:
        self._code = bytearray()

    def __len__(self) -> int:
        return len(self._code)

    def image(self) -> bytes:
        """Machine code so far, followed by a return to the caller."""
        return self.machine_code() + encode("jalr", rd=0, rs1=RA, imm=0).to_bytes(4, "little")

    def machine_code(self) -> bytes:
        """Machine code so far, without an end."""
        return bytes(self._code)

    def code(self, code: bytes) -> Program:
        """Machine code as it is."""
        self._code += code
        return self

    def word(self, bits: int) -> Program:
        """A raw 32-bit word."""
        self._code += bits.to_bytes(4, "little")
        return self

    def op(self, name: str, **operands: int) -> Program:
        """An instruction of the table by name."""
        bits = encode(name, **operands)
        self._code += bits.to_bytes(2 if bits & 3 != 3 else 4, "little")
        return self

    def li(self, register: int, value: int) -> Program:
        """Load any 64-bit constant."""
        if -2048 <= value < 2048:
            return self.op("addi", rd=register, rs1=0, imm=value)
        value &= (1 << 64) - 1
        self.op("addi", rd=register, rs1=0, imm=0)
        for shift in range(55, -1, -11):  # eleven bits at a time: never a sign to care for
            part = value >> shift & 0x7FF
            if shift == 55:
                self.op("addi", rd=register, rs1=0, imm=part)
            else:
                self.op("slli", rd=register, rs1=register, imm=11).op("ori", rd=register, rs1=register, imm=part)
        return self

    def setvl(self, vl: int, sew: int, lmul: int = 1, *, scratch: int = 5) -> Program:
        """vsetvli with ``vl`` elements."""
        return self.li(scratch, vl).op("vsetvli", rd=0, rs1=scratch, vtype=vtype(sew, lmul))

    def dma(self, name: str, rs1: int, rs2: int) -> Program:
        """An ``npu.`` instruction of two register operands, with these values."""
        return self.li(6, rs1).li(7, rs2).op(name, rs1=6, rs2=7)
