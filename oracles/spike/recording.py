"""A kernel with everything that it was given, in a file: what lock-step can run again."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np

from torchsim.errors import InvalidInputError

from .lockstep import Kernel
from .protocol import Mode, SpikeWindow

_FORMAT = 1


def save(path: Path, kernel: Kernel, lanes: int, spad_bytes: int, queue_rows: int) -> None:
    """Write a kernel and the machine that it was compiled for (``.npz``)."""
    block = kernel.argument_block
    about = {
        "format": _FORMAT,
        "lanes": lanes,
        "spad_bytes": spad_bytes,
        "queue_rows": queue_rows,
        "base": kernel.base,
        "entry": kernel.entry,
        "argument_block": block if isinstance(block, int) else block.hex(),
        "spad_fill": kernel.spad_fill,
        "mode": kernel.mode,
        "windows": [{"address": one.address, "writable": one.writable, "name": one.name} for one in kernel.windows],
    }
    arrays: dict[str, Any] = {"about": np.array(json.dumps(about)), "image": np.frombuffer(kernel.image, np.uint8)}
    arrays |= {f"window{number}": np.frombuffer(bytes(one.data), np.uint8) for number, one in enumerate(kernel.windows)}
    if kernel.spad is not None:
        arrays["spad"] = kernel.spad
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def load(path: Path) -> tuple[Kernel, int, int, int]:
    """(kernel, lanes, scratchpad bytes of a lane, queue rows).

    Raises:
        InvalidInputError: the file is no recording.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        about = json.loads(str(arrays["about"]))
        if about["format"] != _FORMAT:
            raise ValueError(f"format {about['format']}")
        windows = tuple(
            SpikeWindow(one["address"], arrays[f"window{number}"].tobytes(), one["writable"], one["name"])
            for number, one in enumerate(about["windows"])
        )
        block = about["argument_block"]
        kernel = Kernel(
            arrays["image"].tobytes(),
            about["base"],
            about["entry"],
            block if isinstance(block, int) else bytes.fromhex(block),
            windows,
            arrays.get("spad"),
            about["spad_fill"],
            cast(Mode, about["mode"]),
        )
        return kernel, about["lanes"], about["spad_bytes"], about["queue_rows"]
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            "not a recorded kernel", expected="a file that the stock Spike oracle wrote", found=str(error), where=str(path)
        ) from error
