"""Stock Spike judges every kernel that the tests of emission run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from oracles.spike.protocol import SpikeWindow
from oracles.stock_spike import spike_of, uses_f64_special_functions
from torchsim.emit.test_support import JUDGES, Execution


def equals_stock_spike(execution: Execution) -> None:
    """Tensors and used scratchpad are equal bit for bit (f64 special functions, defined within 1 ulp, excepted)."""
    plan = execution.plan
    if uses_f64_special_functions(plan):
        return
    windows = [
        SpikeWindow(address, content, True) for address, content in zip(execution.addresses, execution.before, strict=True) if content
    ]
    result = spike_of(execution.machine).run(
        execution.data,
        execution.image.base,
        execution.image.symbols["kernel"],
        execution.argument_block,
        windows,
        mode=execution.mode,
        spad_used_bytes=plan.spad_bytes_per_lane,
    )
    where = f"{plan.name}, {execution.mode}"
    assert result.trap is None, f"stock Spike traps in {where}: {result.trap}"
    for want, got in zip((content for content in execution.after if content), result.windows, strict=True):
        np.testing.assert_array_equal(np.frombuffer(got, np.uint8), np.frombuffer(want, np.uint8), err_msg=f"Spike's DRAM, {where}")
    used = plan.spad_bytes_per_lane
    np.testing.assert_array_equal(result.spad[:, :used], execution.spad[:, :used], err_msg=f"Spike's scratchpad, {where}")


@pytest.fixture(autouse=True)
def stock_spike() -> Iterator[None]:
    """Show every execution of a test to stock Spike."""
    JUDGES.append(equals_stock_spike)
    yield
    JUDGES.remove(equals_stock_spike)
