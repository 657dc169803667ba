"""TORCHSIM_DUMP=folder: every stage of every compiled kernel is written below it."""

from __future__ import annotations

import os
from pathlib import Path


def dump_folder(kernel_name: str, key: str) -> Path | None:
    """Folder for one kernel's stages, made on demand; None when TORCHSIM_DUMP is not set."""
    root = os.environ.get("TORCHSIM_DUMP")
    if not root:
        return None
    folder = Path(root) / f"{kernel_name}_{key[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
