from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

class RawResult(TypedDict):
    trap: tuple[str, int, str] | None
    instructions: int
    scalar: int
    vector: int
    dma: int
    blocks: list[tuple[int, int, int]]
    block_summary: dict[int, tuple[int, int, int]]
    events: list[dict[str, Any]]

def kernel_variant() -> str: ...

class Core:
    x: list[int]
    f: list[int]
    def __init__(self, lanes: int, spad_bytes_per_lane: int, sa_queue_rows: int, pipe: Mapping[str, int], kernels: str = "") -> None: ...
    @property
    def vl(self) -> int: ...
    @property
    def vtype(self) -> int: ...
    def start(
        self,
        image: bytes,
        base: int,
        entry: int,
        return_address: int,
        arguments: Sequence[int],
        windows: Sequence[tuple[int, int, int, bool, bool]],
        late: bool,
        fill: bool,
        instruction_limit: int,
        log: bool,
        footprint: bool,
        check_uninitialised: bool,
        check_divergence: bool,
        spad_fill: int,
        accrue: bool = False,
    ) -> None: ...
    def set_fault(self, op: str, kind: str, sibling: str, amount: int, target: str) -> None: ...
    def clear_fault(self) -> None: ...
    @property
    def instructions(self) -> int: ...
    @property
    def pc(self) -> int: ...
    @property
    def fcsr(self) -> int: ...
    @property
    def vcsr(self) -> int: ...
    def steps(self, most: int, record: bool) -> tuple[str | tuple[str, int, str] | None, npt.NDArray[np.uint64]]: ...
    def execute(self) -> RawResult: ...
    def scratchpad(self, bytes: int) -> npt.NDArray[np.uint8]: ...
    def set_scratchpad(self, contents: npt.NDArray[np.uint8]) -> None: ...
    def vector_registers(self) -> npt.NDArray[np.uint8]: ...
    def set_vector_registers(self, contents: npt.NDArray[np.uint8]) -> None: ...
