"""torchsim: compile PyTorch models for NPUs that do not exist yet, execute the machine code, and simulate its time.

``import torchsim`` registers the device ``npu`` and nothing else; compiler and simulators load at the first compile. The public
interface is what ``__all__`` lists; docs/quickstart.md shows it in use.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from torchsim import device as _device
from torchsim import inductor as _inductor

if TYPE_CHECKING:
    from torchsim.config import Machine, load_machine
    from torchsim.errors import (
        CapacityError,
        ConfigError,
        DivergenceError,
        InvalidInputError,
        SpadOverflowError,
        TorchsimError,
        TrapError,
        UnsupportedError,
    )
    from torchsim.runtime.options import options, set_options
    from torchsim.runtime.selection import machine, set_machine, tiles
    from torchsim.runtime.session import Session, session

__version__ = "0.1.0"

__all__ = [
    "CapacityError",
    "ConfigError",
    "DivergenceError",
    "InvalidInputError",
    "Machine",
    "Session",
    "SpadOverflowError",
    "TorchsimError",
    "TrapError",
    "UnsupportedError",
    "load_machine",
    "machine",
    "options",
    "session",
    "set_machine",
    "set_options",
    "tiles",
]

# Reading a machine file needs pydantic and yaml (0.2 s), so the names that lead there load at their first use.
_HOME = {
    "Machine": "config",
    "load_machine": "config",
    "options": "runtime.options",
    "set_options": "runtime.options",
    "machine": "runtime.selection",
    "set_machine": "runtime.selection",
    "tiles": "runtime.selection",
    "Session": "runtime.session",
    "session": "runtime.session",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


_device.register()
_inductor.install()
if _choice := os.environ.get("TORCHSIM_LOGS"):
    from torchsim import logs as _logs

    _logs.configure(_choice)
