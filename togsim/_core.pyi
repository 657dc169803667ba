from collections.abc import Sequence
from typing import Any

ABI_VERSION: int

class Producer:
    def work_items(self) -> int: ...
    def records(self) -> list[tuple[Any, ...]]: ...

class CompiledProducer(Producer):
    def __init__(self, kernel_fn: int, abi_fn: int, shape_args: Sequence[int]) -> None: ...

class SyntheticProducer(Producer):
    def __init__(self, records: Sequence[tuple[Any, ...]]) -> None: ...

def load_shared_object(path: str) -> tuple[int, int]: ...
def check_config(config: dict[str, Any]) -> None: ...
def simulate(
    config: dict[str, Any],
    producer: Producer,
    bases: Sequence[int],
    cycle_table: Sequence[tuple[int, int]],
    mode: str,
    trace_log: bool,
    events: bool,
    issue_order: bool,
    faults: dict[str, Any],
) -> dict[str, Any]: ...
def dependencies(
    producer: Producer,
    item: int,
    bases: Sequence[int],
    cycle_table: Sequence[tuple[int, int]],
    spad_bytes: int,
    faults: dict[str, Any],
) -> dict[str, Any]: ...
def fault_names() -> dict[str, list[str]]: ...
def dram_channel_run(
    dram_type: str,
    dram_mapper: str,
    request_bytes: int,
    dram_latency: int,
    requests: Sequence[tuple[int, int, bool]],
    every_cycle: bool,
    window: int,
) -> tuple[list[int], dict[str, int]]: ...
def granules_of(producer: Producer, base: int, granule: int) -> list[tuple[int, int]]: ...
def interleave(channels: int, granules: Sequence[int]) -> list[tuple[int, int]]: ...
def dram_places(dram_type: str, dram_mapper: str, transactions: Sequence[int]) -> list[tuple[int, int, int]]: ...
