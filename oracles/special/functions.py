"""Names of the special functions, in the order of docs/isa.md section 5."""

from __future__ import annotations

from typing import Literal, get_args

Function = Literal["erf", "tanh", "sin", "cos", "log", "atan", "exp"]
FUNCTIONS: tuple[Function, ...] = get_args(Function)
