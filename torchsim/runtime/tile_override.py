"""From ``torchsim.tiles(...)`` to the override of one kernel."""

from __future__ import annotations

from collections.abc import Mapping

from torchsim.errors import InvalidInputError
from torchsim.plan.group import Group
from torchsim.plan.normalise import normalise
from torchsim.plan.override import TileOverride


def tile_override(chosen: Mapping[str, object], group: Group) -> TileOverride | None:
    """The part of a process-wide choice that concerns ``group``; None when no name of it is an axis of the group.

    Raises:
        InvalidInputError: an extent or vlane_stride that is no positive integer, a split or vector axis that is no name.
    """
    known = {axis.name for form in (group, normalise(group, merge=True)) for axis in form.axes}
    extents: dict[str, int] = {}
    names: dict[str, str | None] = {"split": None, "vector_axis": None}
    stride: int | None = None
    for name, value in chosen.items():
        if name in names:
            if not isinstance(value, str):
                raise InvalidInputError(f"tile override {name!r} is no axis name", expected="an axis name such as 'p0'", found=repr(value))
            names[name] = value if value in known else None
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InvalidInputError(f"tile override {name!r} is no positive integer", expected=">= 1", found=repr(value))
        if name == "vlane_stride":
            stride = value
        elif name in known:
            extents[name] = value
    override = TileOverride(extents, names["split"], stride, names["vector_axis"])
    return override if override.names or stride is not None else None
