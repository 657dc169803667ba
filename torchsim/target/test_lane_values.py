"""The abstract values: every operation is compared with the concrete one."""

from __future__ import annotations

import pytest

from torchsim.target.lane_values import Domain, Region, Value, signed64

_DOMAIN = Domain(0x8000_0000, 0x8000_1000)
_SPAD: Value = (Region.ABSOLUTE, 0xD000_0040)
_CONSTANT: Value = (Region.ABSOLUTE, 0x8000_0800)
_NUMBER: Value = (Region.ABSOLUTE, 96)


@pytest.mark.parametrize(
    ("value", "region"),
    [
        (_SPAD, Region.SPAD), (_CONSTANT, Region.IMAGE), (_NUMBER, None), (None, None), ((Region.ABSOLUTE, 0x8000_1000), None),
        ((Region.ABSOLUTE, 0xE000_0000), None), ((Region.STACK, None), Region.STACK), ((Region.ARGUMENTS, 8), Region.ARGUMENTS),
    ],
)  # fmt: skip
def test_addresses_name_their_memory(value: Value, region: Region | None) -> None:
    assert _DOMAIN.region(value) is region


def test_sums() -> None:
    total = _DOMAIN.sum
    assert total(_SPAD, _NUMBER) == total(_NUMBER, _SPAD) == (Region.ABSOLUTE, 0xD000_00A0)
    assert total((Region.STACK, -16), _NUMBER) == total(_NUMBER, (Region.STACK, -16)) == (Region.STACK, 80)
    assert total(_SPAD, None) == total(None, _SPAD) == (Region.SPAD, None)
    assert total((Region.IMAGE, None), _NUMBER) == (Region.IMAGE, None)
    assert total((Region.SPAD, None), (Region.STACK, 0)) is None
    assert total(None, None) is None and total(None, _NUMBER) is None


def test_differences_products_and_joins() -> None:
    assert _DOMAIN.difference((Region.STACK, 0), _NUMBER) == (Region.STACK, -96)
    assert _DOMAIN.difference(_SPAD, None) == (Region.SPAD, None)
    assert _DOMAIN.difference((Region.SPAD, None), (Region.SPAD, None)) is None
    assert _DOMAIN.product(_NUMBER, (Region.ABSOLUTE, 32)) == (Region.ABSOLUTE, 3072)
    assert _DOMAIN.product(_NUMBER, None) is None
    assert _DOMAIN.joined(_SPAD, (Region.ABSOLUTE, 0xD000_0060)) == (Region.SPAD, None)
    assert _DOMAIN.joined(_SPAD, _CONSTANT) is None
    assert _DOMAIN.joined(_NUMBER, (Region.ABSOLUTE, 97)) is None
    assert _DOMAIN.joined(_NUMBER, _NUMBER) == _NUMBER
    assert _DOMAIN.loosened((Region.STACK, 8)) == (Region.STACK, None)


def test_numbers_wrap_as_64_bits() -> None:
    assert signed64((1 << 63) - 1 + 1) == -(1 << 63)
    assert _DOMAIN.plus((Region.ABSOLUTE, -1), 1) == (Region.ABSOLUTE, 0)
