"""Encode one instruction from its name and operands."""

from __future__ import annotations

from torchsim.errors import InvalidInputError

from .fields import FORMATS, Field
from .table import BY_NAME, Row


def insert(field: Field, value: int) -> int:
    """The bits of ``value`` in their places of the instruction word; bits that the field cannot hold are dropped."""
    word = 0
    for low, width, value_low in field.pieces:
        word |= (value >> value_low & (1 << width) - 1) << low
    return word


def field_range(field: Field) -> range:
    """All values that an operand can take."""
    if field.kind in "cd":
        return range(8, 16)
    step = 1 << field.lowest
    if field.signed:
        half = 1 << (field.width - 1)
        return range(-half, half, step)
    return range(0, 1 << field.width, step)


def encode(name: str, **operands: int) -> int:
    """The instruction word: 32 bits, or 16 bits for ``c.`` instructions.

    Args:
        name: a row of the table, such as ``vfmacc.vf`` or ``npu.mvin``.
        operands: register numbers and integers by the names of the row's format (``fields.FORMATS``); branch and
            jump targets are byte offsets from the instruction. ``vm`` (1 = unmasked), ``rm`` (7 = dynamic), ``aq``, ``rl``
            have defaults.

    Raises:
        InvalidInputError: unknown name, missing or unknown operand, value out of range, reserved encoding.
    """
    row = BY_NAME.get(name)
    if row is None:
        raise InvalidInputError(f"no instruction {name!r}", hint="names are listed in docs/isa.md section 7")
    fields = FORMATS[row.format].fields
    unknown = operands.keys() - fields.keys()
    if unknown:
        raise InvalidInputError(f"{name} has no operand {sorted(unknown)[0]!r}", expected=", ".join(fields) or "no operands")
    word = row.match
    for operand, field in fields.items():
        word |= _checked(row, operand, field, operands.get(operand, field.default))
    return word


def _checked(row: Row, operand: str, field: Field, value: int | None) -> int:
    if value is None:
        raise InvalidInputError(f"{row.name} needs operand {operand!r}")
    legal = field_range(field)
    if value not in legal:
        step = f" in steps of {legal.step}" if legal.step > 1 else ""
        raise InvalidInputError(
            f"{row.name}: operand {operand!r} is out of range", expected=f"{legal[0]} .. {legal[-1]}{step}", found=str(value)
        )
    if operand == row.nonzero and value == 0:
        raise InvalidInputError(f"{row.name}: operand {operand!r} = 0 is a reserved encoding")
    return insert(field, value - 8 if field.kind in "cd" else value)
