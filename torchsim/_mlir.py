"""The one place that imports the MLIR Python bindings, so that their provider can be exchanged here.

The bindings carry no types; ``ir``, ``scf``, ``llvm``, ``irdl`` and ``passmanager`` are modules of unknown content to the type checker.
"""

from __future__ import annotations

from mlir import ir, passmanager
from mlir._mlir_libs import _mlir
from mlir.dialects import irdl, llvm, scf

# The bindings look for a Python module of every dialect they meet, again and again while there is none; this gives them ours.
_mlir.globals.append_dialect_search_prefix("torchsim.dialect")

__all__ = ["ir", "irdl", "llvm", "new_context", "passmanager", "scf"]


def new_context() -> ir.Context:
    """A context without threads: a context that ran threads hangs in forked children and gains nothing on small kernels."""
    context = ir.Context()
    context.enable_multithreading(False)
    return context
