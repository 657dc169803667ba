"""Text of a trap: cause, place, disassembled neighbourhood, registers."""

from __future__ import annotations

from collections.abc import Sequence

from torchsim.errors import TrapError
from torchsim.target.isa.decoder import instructions
from torchsim.target.isa.disassembler import X_NAMES, text_of

_AROUND = 4
HINTS = {
    "illegal_instruction": "docs/isa.md section 7 lists what the machine executes; a word that looks like data: a jump went astray",
    "misaligned_access": "every address must be a multiple of the element's size; see where the base register comes from",
    "scratchpad_out_of_range": "the kernel addresses more than vpu_spad_size_kb_per_lane; see the tile's strides and the buffer's place",
    "dram_out_of_range": "bounds or strides of the transfer lead outside the tensors of this call",
    "image_out_of_range": "code and constants end before this address; a wrong return address or table index leads here",
    "vector_store_to_image": "the image is one for all lanes and read-only for vectors: results belong in the scratchpad",
    "tensor_access_without_dma": "MVIN brings a tile into the scratchpad first; the register holds a tensor's address",
    "unmapped_address": "docs/isa.md section 1 has the address map; a small address is often a null pointer or an offset without its base",
    "stack_overflow": "a frame larger than 16 KiB: fewer or smaller spilled register groups, a smaller tile",
    "dma_configuration": "docs/isa.md section 3 gives the ranges; CONFIG comes first and selects the slot that the other CONFIGs write",
    "wait_without_transfer": "a WAIT names more transfers than were issued under its tag slot",
    "transfer_not_waited_for": "every tagged transfer needs a WAIT before the kernel returns",
    "transfer_inside_block": "close the compute block before the transfer: blocks hold computation only",
    "block_nesting": "every begin has one end with its id before the next begin",
    "sa_queue_overflow": "pop results, or compute, before more rows are pushed; sa_queue_rows is the depth",
    "sa_queue_underflow": "a compute needs one weight per lane for every row of the array; a pop needs computed rows",
    "instruction_limit": "a loop that does not end, or raise the limit",
    "ecall": "kernels run without an operating system; they return to their caller",
    "uninitialised_scratchpad_read": "no MVIN or store wrote these bytes before",
    "lane_divergence": "per-lane values must not pass through scalar registers; see docs/lane-safety.md",
}
"""What to try, by cause."""


def neighbourhood(image: bytes, base: int, pc: int, around: int = _AROUND) -> list[str]:
    """Lines of disassembly from ``around`` instructions before pc to as many after it; pc's own line begins with ``>``."""
    if not base <= pc < base + len(image):
        return [f"> {pc:#x} lies outside the image"]
    # instructions have two lengths: take the farthest start from which decoding hits pc
    for distance in range(4 * around, -1, -2):
        start = pc - distance
        if start < base:
            continue
        before = [(at, decoded) for at, decoded in instructions(image[start - base : pc - base], start)]
        if sum(decoded.bytes for _, decoded in before) == distance:
            after = list(instructions(image[pc - base : pc - base + 4 * (around + 1)], pc))[: around + 1]
            return [f"{'>' if at == pc else ' '} {at:#x}: {text_of(decoded, at)}" for at, decoded in [*before[-around:], *after]]
    return [f"> {pc:#x} is no multiple of 2"]


def trap_error(
    cause: str, pc: int, detail: str, *, image: bytes, base: int, registers: Sequence[int], vl: int, vtype: int, context: str
) -> TrapError:
    """The error of a run that trapped."""
    lines = neighbourhood(image, base, pc)
    shown = "  ".join(f"{name}={value:#x}" for name, value in zip(X_NAMES, registers, strict=True) if value)
    where = "\n    ".join(
        [f"pc {pc:#x}" + (f" of {context}" if context else ""), *lines, f"registers: {shown}", f"vl={vl} vtype={vtype:#x}"]
    )
    return TrapError(f"{cause}: {detail}", cause=cause, pc=pc, where=where, hint=HINTS[cause])
