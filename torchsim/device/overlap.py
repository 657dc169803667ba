"""Two storages over the same bytes: legal to read, wrong to compile against when one of them is written."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from torchsim.errors import InvalidInputError


def check_overlap(tensors: Sequence[torch.Tensor], roles: Sequence[str], names: Sequence[str] | None = None) -> None:
    """Refuse distinct storages that share host bytes when a tensor over one of them is written.

    Args:
        tensors: kernel or graph arguments.
        roles: "input", "output" or "inout", one per tensor.
        names: what to call the tensors in the message.

    Raises:
        InvalidInputError: the compiled program assumes that distinct storages are distinct memory, and would order these accesses freely.
    """
    spans: dict[int, tuple[int, int, bool, int]] = {}
    for position, (tensor, role) in enumerate(zip(tensors, roles, strict=True)):
        storage = tensor.untyped_storage()
        begin, end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        if begin == end:
            continue
        key = storage._cdata
        written = role != "input" or (key in spans and spans[key][2])
        spans[key] = (begin, end, written, spans[key][3] if key in spans else position)
    ordered = sorted(spans.values())
    reach: tuple[int, int, bool, int] | None = None
    for span in ordered:
        if reach is not None and span[0] < reach[1] and (span[2] or reach[2]):
            first, second = (str(position) if names is None else names[position] for position in (reach[3], span[3]))
            raise InvalidInputError(
                "two storages share memory and one of them is written",
                expected="distinct storages over distinct bytes, or views of one storage",
                found=f"arguments {first} and {second} share {min(reach[1], span[1]) - span[0]} bytes",
                hint="pass views of one tensor, or clone() one of them",
            )
        if reach is None or span[1] > reach[1]:
            reach = span
