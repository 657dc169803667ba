"""The generated host program: Inductor's Python wrapper plus the calls into ``torchsim.runtime.hooks``."""

from __future__ import annotations

from typing import Any

from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen
from torch._inductor.virtualized import V

from torchsim.errors import UnsupportedError
from torchsim.inductor.graph_ids import graph_id


class NpuWrapper(PythonWrapperCodegen):
    """Wrapper of a graph with npu tensors. Not cached by Inductor: kernels have a cache of their own, and goldens need the graph."""

    supports_caching = False

    @staticmethod
    def create(
        is_subgraph: bool, subgraph_name: str | None, parent_wrapper: PythonWrapperCodegen | None, partition_signatures: Any = None
    ) -> PythonWrapperCodegen:
        """Inductor's factory."""
        if is_subgraph:
            if subgraph_name is None or parent_wrapper is None:
                raise UnsupportedError("a subgraph without a name", where="NpuWrapper.create")
            return SubgraphPythonWrapperCodegen(subgraph_name, parent_wrapper, partition_signatures)
        return NpuWrapper()

    def write_header(self) -> None:
        """Also import what the generated lines call."""
        super().write_header()
        self.imports.splice("import torchsim.device\nimport torchsim.runtime.hooks\n")

    def codegen_inputs(self) -> None:
        """First thing in ``call``: tell the runtime that the graph runs, and on what."""
        names = self.get_graph_input_names()
        mutated = tuple(position for position, name in enumerate(names) if name in V.graph.mutated_buffers)
        arguments = "".join(f"{name}, " for name in names)
        self.prefix.writeline(f"torchsim.runtime.hooks.graph_called({graph_id(V.graph)!r}, ({arguments}), {mutated!r})")
        super().codegen_inputs()
