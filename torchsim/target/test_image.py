"""Images survive serialisation, and no damage goes unnoticed."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchsim.errors import CacheError
from torchsim.target.address_map import IMAGE_BASE
from torchsim.target.image import Image

_CODE = bytes.fromhex("8280") + bytes(2) + (0x0010_0073).to_bytes(4, "little") + bytes(range(16))
_IMAGE = Image(
    IMAGE_BASE,
    _CODE,
    {"kernel": IMAGE_BASE},
    ((IMAGE_BASE, IMAGE_BASE + 2), (IMAGE_BASE + 4, IMAGE_BASE + 8)),
    ((IMAGE_BASE + 8, IMAGE_BASE + 24),),
    {"spad": 0xD000_0000},
    IMAGE_BASE + 4,
)


def test_round_trip_and_views() -> None:
    again = Image.from_bytes(_IMAGE.to_bytes())
    assert again == _IMAGE
    assert again.end == IMAGE_BASE + 24
    assert again.code() == [(IMAGE_BASE, _CODE[:2]), (IMAGE_BASE + 4, _CODE[4:8])]
    assert again.listing().splitlines()[0] == "kernel:" and "ebreak" in again.listing()


def test_every_flipped_bit_is_noticed() -> None:
    raw = _IMAGE.to_bytes()
    for position in range(len(raw)):
        for bit in (1, 0x80):
            damaged = raw[:position] + bytes([raw[position] ^ bit]) + raw[position + 1 :]
            with pytest.raises(CacheError, match="damaged"):
                Image.from_bytes(damaged)


def test_every_truncation_is_noticed() -> None:
    raw = _IMAGE.to_bytes()
    for length in range(len(raw)):
        with pytest.raises(CacheError, match="damaged"):
            Image.from_bytes(raw[:length])
    with pytest.raises(CacheError):
        Image.from_bytes(raw + b"\0")


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=300)
def test_random_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(CacheError):
        Image.from_bytes(raw)


@pytest.mark.parametrize(
    "broken",
    [
        Image(0, _CODE, {}, (), (), {}, 4),
        Image(IMAGE_BASE, _CODE, {}, ((IMAGE_BASE, IMAGE_BASE + 999),), (), {}, IMAGE_BASE),
        Image(IMAGE_BASE, _CODE, {}, (), ((IMAGE_BASE + 8, IMAGE_BASE),), {}, IMAGE_BASE),
    ],
)
def test_ranges_outside_the_image_are_refused(broken: Image) -> None:
    with pytest.raises(CacheError, match="ranges"):
        Image.from_bytes(broken.to_bytes())


NO_ADDRESS = ("Infinity", "-Infinity", "NaN", "1e999", "2147483648.5", '"2147483648"', "true", "null", "{}", "[" * 100_000)


@pytest.mark.parametrize("address", NO_ADDRESS, ids=range(len(NO_ADDRESS)))
@pytest.mark.parametrize("key", ["base", "exit_address"])
def test_an_address_that_is_no_whole_number_is_refused(key: str, address: str) -> None:
    """The checksum fits: the header's own checks have to refuse it."""
    payload = _IMAGE.to_bytes()[52:]
    size = int.from_bytes(payload[:4], "little")
    header = re.sub(rf'("{key}": )\d+', lambda match: match[1] + address, payload[4 : 4 + size].decode())
    assert address in header
    forged = len(header.encode()).to_bytes(4, "little") + header.encode() + payload[4 + size :]
    prefix = _IMAGE.to_bytes()[:12] + len(forged).to_bytes(8, "little") + hashlib.sha256(forged).digest()
    with pytest.raises(CacheError, match="damaged"):
        Image.from_bytes(prefix + forged)
