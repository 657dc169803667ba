"""The instruction table: every row, in an order in which the first match is the right one."""

from __future__ import annotations

from . import compressed, npu, scalar, vector_arith, vector_memory
from .row import Cost, Row

ROWS: tuple[Row, ...] = (*scalar.ROWS, *compressed.ROWS, *vector_arith.ROWS, *vector_memory.ROWS, *npu.ROWS)
BY_NAME: dict[str, Row] = {row.name: row for row in ROWS}

__all__ = ["BY_NAME", "ROWS", "Cost", "Row"]
