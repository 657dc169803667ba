"""A loaded kernel: bytes at fixed addresses, and what the simulators need to know about them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from torchsim.errors import CacheError
from torchsim.target.address_map import IMAGE_BASE, IMAGE_LIMIT
from torchsim.target.isa.disassembler import disassemble_image

_MAGIC = b"TORCHSIM"
_VERSION = 1
_DIGEST_BYTES = 32
_PREFIX_BYTES = len(_MAGIC) + 4 + 8 + _DIGEST_BYTES

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Image:
    """Machine code and constants of one kernel.

    Attributes:
        base: address of the first byte.
        data: the bytes.
        symbols: addresses of the exported functions (``kernel``, ``kernel_tile``).
        text_ranges: (first, past the last) address of each run of code, ascending.
        readonly_ranges: the same for constants.
        spad_symbols: addresses of the external buffers that the code refers to.
        exit_address: holds an ``ebreak``; the return address of a kernel.
    """

    base: int
    data: bytes
    symbols: Mapping[str, int]
    text_ranges: Ranges
    readonly_ranges: Ranges
    spad_symbols: Mapping[str, int]
    exit_address: int

    @property
    def end(self) -> int:
        """Address past the last byte."""
        return self.base + len(self.data)

    def code(self) -> list[tuple[int, bytes]]:
        """(address, bytes) of each run of code."""
        return [(first, self.data[first - self.base : last - self.base]) for first, last in self.text_ranges]

    def listing(self) -> str:
        """Disassembly of all code with labels."""
        labels = {**self.symbols, "(exit)": self.exit_address}
        return "".join(disassemble_image(code, address, labels) for address, code in self.code())

    def to_bytes(self) -> bytes:
        """Serialise: magic, version, length and SHA-256 of the rest, so that any damage is noticed."""
        header = json.dumps(
            {
                "base": self.base,
                "symbols": dict(self.symbols),
                "text_ranges": self.text_ranges,
                "readonly_ranges": self.readonly_ranges,
                "spad_symbols": dict(self.spad_symbols),
                "exit_address": self.exit_address,
            },
            sort_keys=True,
        ).encode()
        payload = len(header).to_bytes(4, "little") + header + self.data
        return _MAGIC + _VERSION.to_bytes(4, "little") + len(payload).to_bytes(8, "little") + hashlib.sha256(payload).digest() + payload

    @classmethod
    def from_bytes(cls, raw: bytes) -> Image:
        """Undo ``to_bytes``.

        Raises:
            CacheError: not an image, another version, truncated or damaged.
        """
        if raw[: len(_MAGIC)] != _MAGIC:
            raise _damaged(f"magic {raw[: len(_MAGIC)]!r}", f"magic {_MAGIC!r}")
        version = int.from_bytes(raw[8:12], "little")
        if version != _VERSION:
            raise _damaged(f"version {version}", f"version {_VERSION}")
        payload = raw[_PREFIX_BYTES:]
        length = int.from_bytes(raw[12:20], "little")
        if len(raw) < _PREFIX_BYTES or length != len(payload):
            raise _damaged(f"{len(payload)} bytes", f"{length} bytes")
        if hashlib.sha256(payload).digest() != raw[20:_PREFIX_BYTES]:
            raise _damaged("other contents", "contents that match the checksum")
        return _from_payload(payload)


def _from_payload(payload: bytes) -> Image:
    size = int.from_bytes(payload[:4], "little")
    try:
        header = json.loads(payload[4 : 4 + size])
        image = Image(
            _whole(header["base"]),
            payload[4 + size :],
            {str(name): _whole(value) for name, value in header["symbols"].items()},
            tuple((_whole(first), _whole(last)) for first, last in header["text_ranges"]),
            tuple((_whole(first), _whole(last)) for first, last in header["readonly_ranges"]),
            {str(name): _whole(value) for name, value in header["spad_symbols"].items()},
            _whole(header["exit_address"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(f"a bad header: {error}", "a header as written by to_bytes") from error
    inside = all(image.base <= first <= last <= image.end for first, last in (*image.text_ranges, *image.readonly_ranges))
    if image.base != IMAGE_BASE or len(image.data) > IMAGE_LIMIT or not inside:
        raise _damaged("ranges outside the image", "ranges inside the image")
    return image


def _whole(value: object) -> int:
    """An address: a JSON number may also be a fraction or Infinity, which no header holds."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{value!r} is no address")
    return value


def _damaged(found: str, expected: str) -> CacheError:
    return CacheError(
        "a stored kernel image is damaged", expected=expected, found=found, hint="delete the cache folder; the kernel is compiled again"
    )
