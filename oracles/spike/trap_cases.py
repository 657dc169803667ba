"""Kernels that trap, each with the name of its cause: what any implementation of docs/isa.md has to say."""

from __future__ import annotations

from .descriptor import TYPE_CODES, Descriptor, Index, fields
from .program import SP, SPAD, STACK, Program
from .protocol import IMAGE_BASE, TENSOR_BASE, SpikeWindow

SPAD_BYTES = 32768  # of the machine that these kernels are for
A, B = TENSOR_BASE, TENSOR_BASE + (1 << 20)
TRAP_WINDOWS = [SpikeWindow(A, bytes(64)), SpikeWindow(B, bytes(64), writable=False)]
_ROW = Descriptor((1, 1, 1, 16), (0, 0, 0, 1), (0, 0, 0, 1))
TrapCases = dict[str, tuple[Program, str]]

CORE_TRAPS: TrapCases = {
    "zero word": (Program().word(0), "illegal_instruction"),
    "custom-1, other funct7": (Program().word(0x0E00302B), "illegal_instruction"),
    "custom-1, rd not x0": (Program().word(0x0000302B | 1 << 7), "illegal_instruction"),
    "vector without vtype": (Program().op("npu.compute"), "illegal_instruction"),
    "group out of line": (Program().setvl(4, 32, 4).op("npu.exp", vd=4, vs2=6), "illegal_instruction"),
    "push with SEW 64": (Program().setvl(4, 64).op("npu.input_push", vs2=6), "illegal_instruction"),
    "special function with SEW 8": (Program().setvl(4, 8).op("npu.exp", vd=4, vs2=6), "illegal_instruction"),
    "wfi": (Program().word(0x10500073), "illegal_instruction"),
    "machine-mode register": (Program().op("csrrs", rd=5, csr=0x300, rs1=0), "illegal_instruction"),
    "ecall": (Program().op("ecall"), "ecall"),
    "misaligned scalar": (Program().li(11, SPAD + 2).op("lw", rd=5, rs1=11, imm=0), "misaligned_access"),
    "misaligned vector": (Program().li(11, SPAD + 2).setvl(4, 32).op("vle32.v", vd=8, rs1=11), "misaligned_access"),
    "vector past the scratchpad": (
        Program().li(11, SPAD + SPAD_BYTES - 8).setvl(4, 32).op("vse32.v", vs3=8, rs1=11),
        "scratchpad_out_of_range",
    ),
    "scalar past the scratchpad": (Program().li(11, SPAD + SPAD_BYTES).op("sb", rs2=5, rs1=11, imm=0), "scratchpad_out_of_range"),
    "vector store to the image": (Program().li(11, IMAGE_BASE).setvl(4, 32).op("vse32.v", vs3=8, rs1=11), "vector_store_to_image"),
    "vector store after load": (
        Program().li(11, IMAGE_BASE).setvl(4, 8).op("vle8.v", vd=8, rs1=11).op("vse8.v", vs3=8, rs1=11),
        "vector_store_to_image",
    ),
    "image": (Program().li(11, IMAGE_BASE + (1 << 20)).op("lw", rd=5, rs1=11, imm=0), "image_out_of_range"),
    "scalar access to a tensor": (Program().li(11, TENSOR_BASE).op("lw", rd=5, rs1=11, imm=0), "tensor_access_without_dma"),
    "vector access to a tensor": (Program().li(11, TENSOR_BASE).setvl(4, 32).op("vle32.v", vd=8, rs1=11), "tensor_access_without_dma"),
    "above the stack": (Program().op("sd", rs2=5, rs1=SP, imm=0), "stack_overflow"),
    "below the stack": (Program().li(11, STACK - 8).op("sd", rs2=5, rs1=11, imm=0), "stack_overflow"),
    "nowhere": (Program().op("lw", rd=5, rs1=0, imm=64), "unmapped_address"),
    "jump nowhere": (Program().op("jalr", rd=0, rs1=0, imm=0), "image_out_of_range"),
    "jump to the scratchpad": (Program().li(11, SPAD).op("jalr", rd=0, rs1=11, imm=0), "image_out_of_range"),
    "endless loop": (Program().op("jal", rd=0, imm=0), "instruction_limit"),
}


def _dma_traps() -> TrapCases:
    one, step = (1, 1, 1, 1), (0, 0, 0, 1)
    word = Descriptor(one, step, step)
    begin, end = ("npu.block", 5, 0), ("npu.block", 5, 1)

    def dma(*steps: tuple[str, int, int]) -> Program:
        program = Program()
        for step in steps:
            program.dma(*step)
        return program

    def configured(*steps: tuple[str, int, int]) -> Program:
        program = _ROW.issue(Program(), "npu.mvin", A, SPAD)
        for step in steps:
            program.dma(*step)
        return program

    f16_sum = Descriptor(one, step, step, 2, fill=0, type_code=TYPE_CODES["f2"], accumulate=True)
    wrong_size = Descriptor(one, step, step, 2, fill=0, type_code=TYPE_CODES["f4"], accumulate=True)
    return {
        "extent 0": (Descriptor((1, 0, 1, 1), (0, 0, 0, 1), (0, 0, 0, 1)).issue(Program(), "npu.mvin", A, SPAD), "dma_configuration"),
        "vlane_stride 0": (Descriptor(one, step, step, vlane_stride=0).issue(Program(), "npu.mvin", A, SPAD), "dma_configuration"),
        "3-byte elements": (Descriptor(one, step, step, 3).issue(Program(), "npu.mvin", A, SPAD), "dma_configuration"),
        "2-byte indices": (
            Descriptor(one, step, step, index=Index(SPAD, 1, 2)).issue(Program(), "npu.mvin", A, SPAD),
            "dma_configuration",
        ),
        "no configuration": (dma(("npu.mvin", A, SPAD)), "dma_configuration"),
        "no slot selected": (dma(("npu.config2", 0, 0)), "dma_configuration"),
        "indirect without indices": (dma(("npu.config", fields(one), 1 << 32 | 1 << 16 | 4), ("npu.mvin", A, SPAD)), "dma_configuration"),
        "tag 1024": (dma(("npu.tag", 1024, 0)), "dma_configuration"),
        "f16 sums": (f16_sum.issue(Program(), "npu.mvout", A, SPAD), "dma_configuration"),
        "sum of another size": (wrong_size.issue(Program(), "npu.mvout", A, SPAD), "dma_configuration"),
        "before the window": (word.issue(Program(), "npu.mvin", A - 4, SPAD), "dram_out_of_range"),
        "partly behind the window": (word.issue(Program(), "npu.mvin", A + 62, SPAD), "dram_out_of_range"),
        "read-only window": (word.issue(Program(), "npu.mvout", B, SPAD), "dram_out_of_range"),
        "behind the scratchpad": (_ROW.issue(Program(), "npu.mvin", A, SPAD + SPAD_BYTES - 4), "scratchpad_out_of_range"),
        "below the scratchpad": (word.issue(Program(), "npu.mvout", A, SPAD - 4), "scratchpad_out_of_range"),
        "wait without transfer": (dma(("npu.wait", 0, 1)), "wait_without_transfer"),
        "wait for too many": (configured(("npu.tag", 2, 0), ("npu.mvin", A, SPAD), ("npu.wait", 2, 2)), "wait_without_transfer"),
        "wait on another slot": (configured(("npu.tag", 2, 0), ("npu.mvin", A, SPAD), ("npu.wait", 3, 1)), "wait_without_transfer"),
        "never waited for": (configured(("npu.tag", 2, 0), ("npu.mvin", A, SPAD)), "transfer_not_waited_for"),
        "nested blocks": (dma(begin, begin), "block_nesting"),
        "end without begin": (dma(end), "block_nesting"),
        "end of another block": (dma(begin, ("npu.block", 6, 1)), "block_nesting"),
        "transfer in a block": (configured(begin, ("npu.mvin", A, SPAD)), "transfer_inside_block"),
        "tag in a block": (dma(begin, ("npu.tag", 0, 0)), "transfer_inside_block"),
        "wait in a block": (dma(begin, ("npu.wait", 0, 0)), "transfer_inside_block"),
    }


DMA_TRAPS = _dma_traps()
