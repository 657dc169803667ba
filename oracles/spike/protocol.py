"""Requests to the child process and its replies, as bytes.

All numbers are 64-bit little-endian words.

* request: magic, late, traced, instruction limit, entry, address of the argument block, return address, byte that fills the
  scratchpad, scratchpad bytes of a lane wanted back, scratchpad bytes of a lane given, image bytes, number of windows; the
  image from 0x80000000; the given scratchpad bytes lane by lane; each window as base, writable, length, bytes.
* reply: magic, length of the payload; payload: pc, tval, lane, instructions, scratchpad bytes of a lane, length of the
  trap's name, words of registers, steps traced, the name, the registers (pc, x0..x31, f0..f31, fcsr, vcsr, vl, vtype, then v0..v31
  lane by lane), the steps (pc, digest of registers, digest of memory), the scratchpad lane by lane, the writable windows; done marker.

A digest of words is h = 0, then for each word w: h = (h ^ w) * 0x9E3779B97F4A7C15; h ^= h >> 29. That of the registers takes them in the
order above, pc being that of the next instruction. That of memory takes scratchpad, stack (lane by lane), image and windows as words,
what is left of an image or window byte by byte; it is taken afresh after stores, atomics and custom-1 instructions.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from torchsim.errors import InternalError, InvalidInputError

IMAGE_BASE, IMAGE_SPAN = 0x8000_0000, 256 << 20
TENSOR_BASE = 0x10_0000_0000
REQUEST, REPLY, DONE = b"SPKREQ01", b"SPKREP01", b"SPKDONE!"
_PAGE = 4096
_EBREAK = (0x00100073).to_bytes(4, "little")

Mode = Literal["early", "late"]
Bytes = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class SpikeWindow:
    """A tensor that DMA may reach.

    Attributes:
        address: device address of its first byte, 0x10_0000_0000 or above.
        data: contents before the kernel.
        writable: whether MVOUT may write it.
        name: how a difference report calls it.
        element_bytes: size of an element, for reports.
    """

    address: int
    data: Bytes
    writable: bool = True
    name: str = ""
    element_bytes: int = 1


@dataclass(frozen=True, slots=True)
class SpikeTrap:
    """Why a kernel ended other than at its ``ebreak``.

    Attributes:
        cause: a name of docs/isa.md section 6.
        pc: address of the instruction.
        tval: address accessed, encoding, or operand at fault.
        lane: lane whose vector access trapped, or None.
    """

    cause: str
    pc: int
    tval: int
    lane: int | None


@dataclass(frozen=True, slots=True)
class Reply:
    """A decoded reply: ``spad`` is [lanes, bytes], ``windows`` the final contents of the writable windows in order, ``registers`` and
    ``steps`` [n, 3] as above."""

    trap: SpikeTrap | None
    instructions: int
    spad: npt.NDArray[np.uint8]
    windows: list[bytes]
    registers: npt.NDArray[np.uint64]
    steps: npt.NDArray[np.uint64]


def lay_out(image: Bytes, base: int, argument_block: Bytes | int) -> tuple[bytes, int, int]:
    """Image memory from 0x8000_0000, address of the argument block, address of the ebreak that the kernel returns to.

    An argument block given as bytes is placed on the page behind the image; given as an address it lies in the image.
    """
    if not IMAGE_BASE <= base <= base + len(image) <= IMAGE_BASE + IMAGE_SPAN - 2 * _PAGE:
        raise InvalidInputError(
            "the image lies outside the image window",
            expected=f"{IMAGE_BASE:#x}, {IMAGE_SPAN} bytes",
            found=f"{base:#x}, {len(image)} bytes",
        )
    memory = bytearray(base - IMAGE_BASE) + bytearray(image)
    memory += bytes(-len(memory) % _PAGE)
    if isinstance(argument_block, int):
        arguments = argument_block
    else:
        arguments = IMAGE_BASE + len(memory)
        memory += bytes(argument_block) + bytes(-len(argument_block) % 16)
    return_address = IMAGE_BASE + len(memory)
    return bytes(memory + _EBREAK), arguments, return_address


def encode_request(
    memory: bytes,
    *,
    entry: int,
    arguments: int,
    return_address: int,
    windows: Sequence[SpikeWindow],
    spad: npt.NDArray[np.uint8] | None,
    spad_fill: int,
    spad_wanted: int,
    late: bool,
    traced: bool,
    instruction_limit: int,
) -> list[Bytes]:
    """The request as pieces to write one after the other; ``spad`` is [lanes, bytes given]."""
    given = 0 if spad is None else spad.shape[1]
    words = (
        int(late),
        int(traced),
        instruction_limit,
        entry,
        arguments,
        return_address,
        spad_fill,
        spad_wanted,
        given,
        len(memory),
        len(windows),
    )
    pieces: list[Bytes] = [REQUEST + struct.pack("<11Q", *words), memory]
    if spad is not None:
        pieces.append(np.ascontiguousarray(spad).tobytes())
    for window in windows:
        pieces += [struct.pack("<3Q", window.address, int(window.writable), len(window.data)), window.data]
    return pieces


def decode_reply(payload: bytes, lanes: int, windows: Sequence[SpikeWindow]) -> Reply:
    """Take a payload apart.

    Raises:
        InternalError: its length is not what its own words say.
    """
    pc, tval, lane, instructions, spad_bytes, name_bytes, register_words, step_count = struct.unpack_from("<2Qq5Q", payload)
    position = struct.calcsize("<2Qq5Q")
    cause = payload[position : position + name_bytes].decode()
    position += name_bytes
    registers = np.frombuffer(payload, "<u8", register_words, position)
    position += 8 * register_words
    steps = np.frombuffer(payload, "<u8", 3 * step_count, position).reshape(step_count, 3)
    position += 24 * step_count
    spad = np.frombuffer(payload, np.uint8, lanes * spad_bytes, position).reshape(lanes, spad_bytes)
    position += lanes * spad_bytes
    final: list[bytes] = []
    for window in windows:
        if window.writable:
            final.append(payload[position : position + len(window.data)])
            position += len(window.data)
    if position != len(payload):
        raise InternalError("a reply of the Spike child has the wrong length", expected=f"{position} bytes", found=f"{len(payload)} bytes")
    trap = SpikeTrap(cause, pc, tval, None if lane < 0 else lane) if cause else None
    return Reply(trap, instructions, spad, final, registers, steps)
