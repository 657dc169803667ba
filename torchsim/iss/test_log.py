"""The execution log and footprints, counts, and independence of runs."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from torchsim.errors import InvalidInputError
from torchsim.iss import Simulator, Window
from torchsim.iss._testing import BASE, SPAD, TENSORS, Program, Tile

pytestmark = pytest.mark.unit
TILE = Tile((1, 1, 2, 10), (0, 0, 10, 1), (0, 0, 8, 1), v=2, high=(1, 1, 2, 9))


def doubled(tag: int = 3) -> Program:
    """Load a tile under a tag, add it to itself in a block, store it."""
    program = Program().mvin(TILE, TENSORS, SPAD + 32, tag=tag).wait(tag, 1).li(8, SPAD + 32).setvl(4, 32).begin(12)
    for _ in range(2):
        program.op("vle32.v", vd=8, rs1=8).op("vadd.vv", vd=8, vs2=8, vs1=8).op("vse32.v", vs3=8, rs1=8).op("addi", rd=8, rs1=8, imm=32)
    return program.end().mvout(TILE, TENSORS + 256, SPAD + 32)


def run(simulator: Simulator, **options: object) -> tuple[np.ndarray, object]:
    data, out = np.arange(20, dtype="<i4"), np.zeros(20, "<i4")
    result = doubled().run(simulator, [Window(TENSORS, data.ctypes.data, 80, False), Window(TENSORS + 256, out.ctypes.data, 80)], **options)
    return out, result


@pytest.mark.req("H-4")
def test_log_lists_what_was_executed() -> None:
    simulator = Simulator(4, 4096)
    out, result = run(simulator, log=True, footprint=True)
    wanted = 2 * np.arange(20)
    wanted[[9, 19]] = 0  # beyond the bound
    assert out.tolist() == wanted.tolist()
    events = result.log
    assert [event.kind for event in events] == ["load", "wait", "block_begin", "block_end", "store"]
    load, wait, begin, end, store = events
    assert (load.dram_address, load.spad_address, load.dims, load.dram_strides, load.spad_strides) == (
        TENSORS,
        SPAD + 32,
        (1, 1, 2, 10),
        (0, 0, 10, 1),
        (0, 0, 8, 1),
    )
    assert (load.low, load.high, load.element_bytes, load.split_axis, load.vlane_stride, load.tag, load.slot) == (
        (0, 0, 0, 0),
        (1, 1, 2, 9),
        4,
        3,
        2,
        3,
        0,
    )
    assert load.writes == ((32, 48), (64, 80)) and load.reads == ()
    assert (wait.tag, wait.count) == (3, 1)
    assert begin.block_id == end.block_id == 12 and end.cycles == result.block_cycles[12].lowest
    assert end.reads == end.writes == ((32, 48), (64, 80))
    assert store.reads == ((32, 44), (64, 76)) and store.writes == () and store.tag == -1
    assert [event.pc for event in events] == sorted(event.pc for event in events)


def test_counts_by_kind() -> None:
    _, result = run(Simulator(4, 4096))
    assert result.log == result.blocks == ()
    _, result = run(Simulator(4, 4096), log=True)
    assert result.instructions == result.scalar + result.vector + result.dma
    assert result.vector == 7 and result.dma == 2 * 6 + 1 + 1 + 2
    assert result.blocks == ((12, result.block_cycles[12].lowest, 8),)


@pytest.mark.req("S-4")
def test_the_same_result_on_any_thread_and_after_any_run() -> None:
    simulator = Simulator(4, 4096)
    reference = run(simulator, log=True)
    found: list[tuple[np.ndarray, object]] = []
    threads = [threading.Thread(target=lambda: found.append(run(simulator, log=True))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Program().setvl(8, 32).li(8, SPAD).op("vse32.v", vs3=8, rs1=8).run(simulator)
    found.append(run(simulator, log=True))
    assert len(found) == 5
    for out, result in found:
        assert out.tolist() == reference[0].tolist() and result == reference[1]


def test_bad_calls_are_refused() -> None:
    for lanes, size in ((0, 4096), (4, 0), (4, 12), (1 << 20, 4096)):
        with pytest.raises(InvalidInputError):
            Simulator(lanes, size)
    with pytest.raises(InvalidInputError, match="pipe_issue_width"):
        Simulator(4, 4096, 256, {"pipe_issue_width": 0})
    simulator = Simulator(4, 4096)
    with pytest.raises(InvalidInputError):
        simulator.run(b"", BASE, BASE, mode="middle")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        simulator.run(b"", BASE, BASE, spad_used_bytes=8192)
