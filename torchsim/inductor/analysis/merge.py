"""Fewer axes: two axes that every access walks as one become one."""

from __future__ import annotations

from collections.abc import Sequence

from torchsim.inductor.analysis.expr import Affine


def merge_axes(axes: Sequence[int], extents: dict[int, int], forms: Sequence[Affine]) -> list[int]:
    """Merge what can be merged within one class of axes.

    Args:
        axes: the class, outermost first.
        extents: extent by axis; the entry of an axis that takes another in is updated.
        forms: all accesses and index expressions of the group.

    Returns:
        The remaining axes. The inner axis of a merged pair keeps its number and its coefficient in every form and counts the
        positions of both; the outer one is gone.
    """
    remaining = list(axes)
    changed = True
    while changed:
        changed = False
        for outer in remaining:
            for inner in remaining:
                if outer != inner and all(form.terms.get(outer, 0) == form.terms.get(inner, 0) * extents[inner] for form in forms):
                    extents[inner] *= extents[outer]
                    remaining = (
                        [axis for axis in remaining if axis != outer]
                        if remaining.index(inner) < remaining.index(outer)
                        else _replace(remaining, outer, inner)
                    )
                    changed = True
                    break
            if changed:
                break
    return remaining


def _replace(axes: list[int], outer: int, inner: int) -> list[int]:
    """The merged axis (numbered ``inner``) stands where ``outer`` stood."""
    return [inner if axis == outer else axis for axis in axes if axis != inner]
