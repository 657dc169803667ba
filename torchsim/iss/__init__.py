"""Functional simulator: executes kernels' machine code on all lanes and counts the cycles of compute blocks.

Semantics are those of docs/isa.md; the cycle model is documented in docs/timing-model.md.
"""

from torchsim.iss.result import BlockCycles, Event, RunResult, Window
from torchsim.iss.simulator import Simulator

__all__ = ["BlockCycles", "Event", "RunResult", "Simulator", "Window"]
