"""A user's or a fuzzer's tile in place of the heuristic's."""

from __future__ import annotations

from dataclasses import dataclass, field

from torchsim.errors import InvalidInputError
from torchsim.plan.group import Group

MAX_EXTENT = 65535
"""Largest tile extent: the DMA has 16-bit dimension fields."""


@dataclass(frozen=True)
class TileOverride:
    """What to fix; everything left out is chosen by the heuristic.

    Args:
        extents: tile extent by axis name, in elements.
        split: name of the axis that is spread over the lanes (parallel; n for a matmul).
        vlane_stride: neighbouring positions per lane, a power of two (1 for a matmul).
        vector_axis: name of the axis along which compute vectors run (m for a matmul).

    Axis names are those of the plan (merged axes are joined by ``_``) or those of the group, never a mixture.
    """

    extents: dict[str, int] = field(default_factory=lambda: {})
    split: str | None = None
    vlane_stride: int | None = None
    vector_axis: str | None = None

    @property
    def names(self) -> set[str]:
        """Every axis name that the override mentions."""
        return set(self.extents) | {name for name in (self.split, self.vector_axis) if name is not None}


def choose_domain(override: TileOverride | None, merged: Group, plain: Group) -> Group:
    """The form of the group whose axis names the override uses; ``merged`` when it names none.

    Raises:
        InvalidInputError: a name that neither form has, or names of both.
    """
    names = override.names if override else set[str]()
    for group in (merged, plain):
        if names <= {axis.name for axis in group.axes}:
            return group
    known = " or ".join(sorted({", ".join(axis.name for axis in group.axes) for group in (merged, plain)}))
    raise InvalidInputError(
        "a tile override names an unknown axis", expected=f"axes {known}", found=", ".join(sorted(names)), where=merged.name
    )


def check_override(override: TileOverride, group: Group, multiples: dict[str, int]) -> None:
    """Refuse an override that is no tile of the group.

    Args:
        multiples: axes whose tile extent must be a multiple of a number (array side) and may then exceed the axis extent by rounding up.

    Raises:
        InvalidInputError: extent out of range, split axis not parallel, bad vlane_stride.
    """
    axes = {axis.name: axis for axis in group.axes}
    for name, extent in override.extents.items():
        multiple = multiples.get(name, 1)
        limit = min(max(-(-axes[name].extent // multiple) * multiple, multiple), MAX_EXTENT // multiple * multiple)
        if not 1 <= extent <= limit or extent % multiple:
            unit = f"a multiple of {multiple} in " if multiple > 1 else ""
            raise InvalidInputError(
                f"the tile extent of axis {name!r} is no tile",
                expected=f"{unit}{multiple}..{limit}",
                found=str(extent),
                where=group.name,
                hint="choose a smaller extent",
            )
    if override.split is not None and axes[override.split].reduction:
        raise InvalidInputError(
            f"axis {override.split!r} cannot be split over the lanes",
            expected="a parallel axis",
            found="a reduction axis",
            where=group.name,
        )
    stride = override.vlane_stride
    if stride is not None and (not 1 <= stride <= 1024 or stride & (stride - 1)):
        raise InvalidInputError("bad vlane_stride", expected="a power of two in 1..1024", found=str(stride), where=group.name)
