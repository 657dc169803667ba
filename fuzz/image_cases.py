"""The cases of ``fuzz.images``: bytes made from a random generator, put through one part of the simulator."""

from __future__ import annotations

import hashlib
import random
from functools import cache
from typing import Literal

import numpy as np

from fuzz import image_seeds
from torchsim.errors import CacheError, CapacityError, InternalError, LaneSafetyError, TrapError
from torchsim.iss import Simulator, Window
from torchsim.target.address_map import IMAGE_BASE
from torchsim.target.image import Image
from torchsim.target.isa.decoder import decode, expand, instructions
from torchsim.target.isa.disassembler import text_of
from torchsim.target.isa.table import ROWS
from torchsim.target.lane_checker import find_hazards
from torchsim.target.loader import load

TENSORS, SPAD, STACK = image_seeds.TENSORS, image_seeds.SPAD, image_seeds.STACK
_LANES = (1, 2, 5, 8)
_LIMIT = 2000
_INTERESTING = (
    0,
    1,
    3,
    4,
    8,
    255,
    256,
    1 << 16,
    1 << 31,
    (1 << 32) - 1,
    1 << 63,
    (1 << 64) - 1,
    TENSORS,
    SPAD,
    SPAD + 64,
    STACK,
    IMAGE_BASE,
)


def random_word(rng: random.Random) -> int:
    """A row of the table with random operands more often than 32 random bits."""
    if rng.random() < 0.15:
        return rng.getrandbits(30) << 2 | 3
    row = rng.choice(ROWS)
    return (row.match | rng.getrandbits(32) & ~row.mask) & (0xFFFF_FFFF if row.bytes == 4 else 0xFFFF)


def random_code(rng: random.Random) -> bytes:
    """Up to 24 instructions, sometimes cut off in the middle of one."""
    words = [random_word(rng) for _ in range(rng.randrange(1, 25))]
    code = b"".join(word.to_bytes(4 if word & 3 == 3 else 2, "little") for word in words)
    return code[: rng.randrange(1, len(code) + 1)] if rng.random() < 0.1 else code


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Bit flips, overwritten, removed, repeated and inserted bytes; integers that are often wrong put in place of others."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        place = rng.randrange(len(result)) if result else 0
        match rng.randrange(6):
            case 0 if result:
                result[place] ^= 1 << rng.randrange(8)
            case 1 if result:
                result[place] = rng.randrange(256)
            case 2:
                del result[place : place + rng.randrange(1, 9)]
            case 3:
                result[place:place] = result[place : place + rng.randrange(1, 33)]
            case 4:
                result[place:place] = rng.randbytes(rng.randrange(1, 9))
            case _:
                size = rng.choice((1, 2, 4, 8))
                result[place : place + size] = (rng.choice(_INTERESTING) & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(result)


def decode_words(rng: random.Random) -> str:
    """Decoder, expansion of compressed instructions and disassembler."""
    code = random_code(rng)
    for address, decoded in instructions(code, IMAGE_BASE):
        assert text_of(decoded, address)
        assert expand(decoded.word).row is None or decode(decoded.word).row is not None
    return "decoded"


def read_stored_image(rng: random.Random) -> str:
    """A damaged cache entry, half the time with a checksum that fits, so that the header's own checks are reached."""
    data = mutated(rng, image_seeds.stored_image())
    if rng.random() < 0.5 and len(data) > 52:
        payload = data[52:]
        data = data[:12] + len(payload).to_bytes(8, "little") + hashlib.sha256(payload).digest() + payload
    try:
        image = Image.from_bytes(data)
    except CacheError:
        return "refused"
    image.listing()
    return "accepted"


def load_object(rng: random.Random) -> str:
    """A damaged object file; one that still loads is listed, checked and run."""
    data = mutated(rng, rng.choice(image_seeds.objects())) if rng.random() < 0.98 else rng.randbytes(rng.randrange(200))
    try:
        image = load(data, image_seeds.SYMBOLS)
        image.listing()
        find_hazards(image)
    except (InternalError, CapacityError, LaneSafetyError) as error:
        return f"refused: {type(error).__name__}"
    entry = image.symbols.get("kernel", image.base)
    return "loaded, " + _run(rng, image.data, entry)


def run_random_code(rng: random.Random) -> str:
    """Random instructions after one that makes vector instructions legal."""
    code = image_seeds.vector_prologue(rng) + random_code(rng)
    entry = IMAGE_BASE + (rng.randrange(len(code) + 8) if rng.random() < 0.05 else 0)
    return _run(rng, code, entry)


def run_mutated_code(rng: random.Random) -> str:
    """A program that works, damaged."""
    return _run(rng, mutated(rng, rng.choice(image_seeds.programs())), IMAGE_BASE)


@cache
def _simulator(lanes: int) -> Simulator:
    return Simulator(lanes, 4096, 16)


@cache
def _causes() -> frozenset[str]:
    return frozenset(image_seeds.trap_causes())


def _run(rng: random.Random, code: bytes, entry: int) -> str:
    lanes = rng.choice(_LANES)
    data = np.zeros(256, np.uint8)
    windows = [Window(TENSORS, data.ctypes.data, 192), Window(TENSORS + 4096, data.ctypes.data + 192, 64, writable=False)]
    registers = np.frombuffer(rng.randbytes(lanes * 1024), np.uint8).reshape(lanes, 32, 32)
    x = {number: rng.choice(_INTERESTING) + rng.choice((0, 0, 4, 8, -4, 1)) for number in range(3, 32)}
    mode: Literal["early", "late"] = rng.choice(("early", "late"))
    dma: Literal["transfer", "fill"] = "fill" if rng.random() < 0.1 else "transfer"
    try:
        _simulator(lanes).run(
            code,
            IMAGE_BASE,
            entry,
            windows,
            arguments=[rng.choice(_INTERESTING) for _ in range(rng.choice((0, 0, 4, 12)))],
            mode=mode,
            dma=dma,
            instruction_limit=_LIMIT,
            log=rng.random() < 0.5,
            footprint=rng.random() < 0.5,
            check_uninitialised=rng.random() < 0.3,
            check_divergence=rng.random() < 0.3,
            vector_registers=registers,
            x=x,
        )
    except TrapError as trap:
        if trap.cause not in _causes():
            raise
        return trap.cause
    return "returned"
