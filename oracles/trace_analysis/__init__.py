"""Independent analysis of traces and of what TOGSim made of them (requirements H-5, H-7, H-12).

Everything here is written from docs/togsim.md and docs/trace-abi.md and shares no code with the simulator: slow, quadratic, obvious. It
is an oracle, so it lies in ``oracles``: the simulator must not know it.
"""

from oracles.trace_analysis.check import analyse_order, analyse_run

__all__ = ["analyse_order", "analyse_run"]
