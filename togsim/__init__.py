"""TOGSim: a deterministic, event-driven, tile-level timing simulator (docs/togsim.md)."""

# ruff: noqa: E402 (the native module has to be chosen before anything imports it by its name)
from __future__ import annotations

from togsim.native import load

load()

from togsim._core import ABI_VERSION
from togsim.errors import ConfigError, DeadlockError, TogsimError, TraceError
from togsim.launches import IndexValues, Launch, LaunchStats, uniform_indices
from togsim.records import (
    SA_WEIGHTS,
    WEIGHTS,
    Compute,
    ComputeType,
    Direction,
    Dma,
    MemoryBar,
    Range,
    Record,
    Records,
    TileBegin,
    TileEnd,
    enumerate_records,
    load_shared_object,
    records_of,
    synthetic_producer,
)
from togsim.simulator import Dependencies, Simulator
from togsim.stats import Result

__all__ = [
    "ABI_VERSION",
    "SA_WEIGHTS",
    "WEIGHTS",
    "Compute",
    "ComputeType",
    "ConfigError",
    "DeadlockError",
    "Dependencies",
    "Direction",
    "Dma",
    "IndexValues",
    "Launch",
    "LaunchStats",
    "MemoryBar",
    "Range",
    "Record",
    "Records",
    "Result",
    "Simulator",
    "TileBegin",
    "TileEnd",
    "TogsimError",
    "TraceError",
    "enumerate_records",
    "load_shared_object",
    "records_of",
    "synthetic_producer",
    "uniform_indices",
]
