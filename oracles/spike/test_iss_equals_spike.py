"""The functional simulator equals stock Spike: instruction by instruction, in short programs, and in what DMA moves.

Every case runs from random registers (special values included) and stores all registers, so equal scratchpads are equal
architectural states. ``--examples-factor N`` and TORCHSIM_SPIKE_CASES (cases a table row, default 1) enlarge the budget.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.spike.both import Both
from oracles.spike.campaign import BRANCHES, ROWS, SEQUENCES
from oracles.spike.cases import RESULT, SPAD_BYTES, Case, draw_branch, draw_case, draw_program
from oracles.spike.dma_cases import DmaCase, draw_dma
from oracles.spike.npu_cases import FUNCTIONS, draw_array, draw_function
from oracles.spike.program import SPAD, Program
from oracles.spike.trap_cases import CORE_TRAPS, DMA_TRAPS, TRAP_WINDOWS
from oracles.spike.trap_cases import SPAD_BYTES as TRAP_SPAD_BYTES
from torchsim.target.isa.table import BY_NAME

pytestmark = [pytest.mark.unit, pytest.mark.req("S-1", "S-5", "H-1")]
LANES = 4
PER_ROW = int(os.environ.get("TORCHSIM_SPIKE_CASES", "1"))
FAMILIES = sorted({BY_NAME[name].format for name in ROWS})
FLAGGED = tuple(
    name
    for name in ROWS
    if name.startswith(("f", "vf", "vmf", "vsadd", "vssub", "vsmul", "vnclip")) and name not in ("fld", "fsd", "flw", "fsw", "flh", "fsh")
)
RANDOM = st.randoms(use_true_random=False)


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    """The two machines, four lanes."""
    with Both(LANES, SPAD_BYTES) as pair:
        yield pair


def check(both: Both, case: Case) -> None:
    difference = both.difference(case.program(), case.spad(LANES))
    assert difference is None, f"{case}\n{difference}"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_row(both: Both, family: str) -> None:
    """Each row of the table, grouped by format."""
    found: list[str] = []
    for name in (name for name in ROWS if BY_NAME[name].format == family):
        rng = random.Random(name)
        for _ in range(PER_ROW):
            case = draw_case(rng, name)
            difference = both.difference(case.program(), case.spad(LANES))
            if difference:
                found.append(f"{case}\n{difference}")
    assert not found, "\n".join(found)


@settings(max_examples=300, deadline=None)
@given(rng=RANDOM, name=st.sampled_from(ROWS))
def test_single_instructions(both: Both, rng: random.Random, name: str) -> None:
    check(both, draw_case(rng, name))


@pytest.mark.parametrize("name", BRANCHES)
def test_jumps_and_branches(both: Both, name: str) -> None:
    rng = random.Random(name)
    for _ in range(8 * PER_ROW):
        check(both, draw_branch(rng, name))


@settings(max_examples=60, deadline=None)
@given(rng=RANDOM, length=st.integers(2, 12))
def test_short_programs(both: Both, rng: random.Random, length: int) -> None:
    check(both, draw_program(rng, SEQUENCES, length))


@settings(max_examples=60, deadline=None)
@given(rng=RANDOM)
def test_systolic_array(both: Both, rng: random.Random) -> None:
    check(both, draw_array(rng, LANES))


@settings(max_examples=60, deadline=None)
@given(rng=RANDOM)
def test_special_functions(both: Both, rng: random.Random) -> None:
    check(both, draw_function(rng))


@settings(max_examples=30, deadline=None)
@given(name=st.sampled_from(FUNCTIONS), seed=st.integers(0, 2**32 - 1))
def test_special_functions_in_double(both: Both, name: str, seed: int) -> None:
    """Each side is within 1 ulp of the function, so they are within 2 of each other."""
    case = Case(((name, {"vd": 8, "vs2": 16}),), 64, 8, 32, 0, 0, seed)
    image, spad = case.program().image(), case.spad(LANES)
    ours, theirs = both.run_iss(image, [], spad, "early"), both.spike.run(image, spad=spad)
    assert ours.trap is theirs.trap is None
    a, b = (np.ascontiguousarray(one.spad[:, RESULT + 256 : RESULT + 1024]).view("<i8") for one in (ours, theirs))
    assert (np.abs(a - b) <= 2).all(), case


@settings(max_examples=60, deadline=None)
@given(rng=RANDOM, mode=st.sampled_from(["early", "late"]))
def test_dma(both: Both, rng: random.Random, mode: str) -> None:
    case: DmaCase = draw_dma(rng, LANES)
    difference = both.difference(case.program(), case.spad(LANES), case.windows(), mode, same_cause=False)  # pyright: ignore[reportArgumentType]
    assert difference is None, f"{mode} {case}\n{difference}"


@pytest.mark.req("S-3")
@pytest.mark.parametrize("name", [*CORE_TRAPS, *DMA_TRAPS])
def test_trap_causes(name: str) -> None:
    program, cause = {**CORE_TRAPS, **DMA_TRAPS}[name]
    with Both(8, TRAP_SPAD_BYTES) as pair:
        ours = pair.run_iss(program.image(), TRAP_WINDOWS, np.zeros((8, 1), np.uint8), "early")
    assert ours.trap == cause


@pytest.mark.parametrize("name", ["vfredosum.vs", "vfwredosum.vs", "vfredusum.vs", "vfwredusum.vs"])
def test_reduction_of_no_active_elements(both: Both, name: str) -> None:
    """The ordered sum copies a NaN scalar as it is, the unordered sum makes it canonical (RVV 1.0, 14.3; Spike)."""
    sew, wide = 32, 64 if name.startswith("vfw") else 32
    spad = np.zeros((LANES, 256), np.uint8)
    spad[:, 192 : 192 + wide // 8] = np.frombuffer(((1 << wide) - 2).to_bytes(wide // 8, "little"), np.uint8)  # a NaN with a payload
    program = Program().li(11, SPAD).li(12, SPAD + 192).op("vl4re8.v", vd=0, rs1=11).op("vl1re8.v", vd=4, rs1=12)
    program.setvl(4, sew).op(name, vd=5, vs2=6, vs1=4, vm=0).op("vs1r.v", vs3=5, rs1=12)
    assert both.difference(program, spad) is None


def test_accrued_flags(both: Both) -> None:
    """Every float and saturating row with many values: the flags are part of the state that ``check`` compares."""
    raised: set[str] = set()
    for name in FLAGGED:
        rng = random.Random(name)
        for _ in range(2 * PER_ROW):
            case = draw_case(rng, name)
            check(both, case)
            place = RESULT + 1536
            state = both.iss.scratchpad()[0, place : place + 16]
            raised |= {flag for bit, flag in enumerate(("NX", "UF", "OF", "DZ", "NV")) if state[0] >> bit & 1}
            raised |= {"saturated"} if state[8] else set()
    assert raised == {"NX", "UF", "OF", "DZ", "NV", "saturated"}


def test_the_comparison_can_fail(both: Both) -> None:
    """Two programs that differ in one bit are told apart."""
    case = Case((("vadd.vv", {"vd": 8, "vs2": 16, "vs1": 24, "vm": 1}),), 32, 1, 8, 0, 0, 5)
    other = Case((("vsub.vv", {"vd": 8, "vs2": 16, "vs1": 24, "vm": 1}),), 32, 1, 8, 0, 0, 5)
    spad = case.spad(LANES)
    ours = both.run_iss(other.program().image(), [], spad, "early")
    theirs = both.spike.run(case.program().image(), spad=spad)
    assert not np.array_equal(ours.spad, theirs.spad)
