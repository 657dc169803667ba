"""The in-order cycle model against figures computed by hand from docs/timing-model.md."""

from __future__ import annotations

import pytest

from torchsim.config import load_machine
from torchsim.iss import Simulator
from torchsim.iss._testing import SPAD, Program

pytestmark = [pytest.mark.unit, pytest.mark.req("S-6")]
LANES = 4
Instruction = tuple[str, dict[str, int]]


def cycles(body: list[Instruction], vl: int = 8, sew: int = 32, lmul: int = 1, **pipe: int) -> int:
    """Cycles of a block of these instructions; x8 points into the scratchpad."""
    simulator = Simulator(LANES, 4096, 256, {f"pipe_{name}": value for name, value in pipe.items()})
    program = Program().setvl(vl, sew, lmul).li(8, SPAD).begin()
    for name, operands in body:
        program.op(name, **operands)
    found = program.end().run(simulator).block_cycles[0]
    assert found.executions == 1 and found.lowest == found.highest
    return found.lowest


def add(rd: int, rs1: int = 0) -> Instruction:
    return ("add", {"rd": rd, "rs1": rs1, "rs2": rs1})


def vadd(vd: int, vs2: int) -> Instruction:
    return ("vadd.vv", {"vd": vd, "vs2": vs2, "vs1": vs2})


LOAD: Instruction = ("vle32.v", {"vd": 8, "rs1": 8})
STORE: Instruction = ("vse32.v", {"vs3": 16, "rs1": 8})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([], 0),
        ([add(5)], 1),
        ([add(5), add(6, 5)], 2),  # result latency 1: back to back
        ([("mul", {"rd": 5, "rs1": 6, "rs2": 6})], 3),
        ([("mul", {"rd": 5, "rs1": 6, "rs2": 6}), add(7), add(9)], 3),  # independent work hides in the latency
        ([("mul", {"rd": 5, "rs1": 6, "rs2": 6}), add(7, 5)], 4),
        ([("mul", {"rd": 5, "rs1": 6, "rs2": 6}), add(5)], 4),  # the second write waits for the first
        ([("div", {"rd": 5, "rs1": 6, "rs2": 6})], 20),
        ([("div", {"rd": 5, "rs1": 6, "rs2": 6}), ("div", {"rd": 7, "rs1": 6, "rs2": 6})], 40),  # not pipelined
        ([("ld", {"rd": 5, "rs1": 8, "imm": 0}), add(6, 5)], 4),
        ([("sd", {"rs2": 5, "rs1": 8, "imm": 0})], 1),
        ([("jal", {"rd": 0, "imm": 4})], 2),  # one cycle and one lost
        ([("beq", {"rs1": 0, "rs2": 8, "imm": 4})], 1),  # not taken
        ([("beq", {"rs1": 0, "rs2": 0, "imm": 4}), add(5)], 3),
    ],
)
def test_scalar(body: list[Instruction], expected: int) -> None:
    assert cycles(body) == expected


@pytest.mark.parametrize(
    ("body", "vl", "lmul", "expected"),
    [
        ([vadd(8, 16)], 8, 1, 4),
        ([vadd(8, 16), vadd(9, 16)], 8, 1, 5),  # pipelined
        ([vadd(8, 16), vadd(9, 8)], 8, 1, 8),  # dependent
        ([LOAD, vadd(16, 8), STORE], 8, 1, 4 + 4 + 1),
        ([vadd(8, 16)], 64, 8, 8 - 1 + 4),  # eight registers through a datapath of one
        ([vadd(8, 16), vadd(24, 16)], 64, 8, 8 + 8 - 1 + 4),
        ([LOAD, vadd(16, 8), STORE], 64, 8, (7 + 4) + (7 + 4) + (7 + 1)),  # no chaining
        ([vadd(8, 16)], 0, 1, 4),
        ([vadd(8, 16), add(5)], 64, 8, 11),  # the scalar pipeline goes on
        ([("vfdiv.vv", {"vd": 8, "vs2": 16, "vs1": 17})], 8, 1, 8 * 4 - 1 + 4),
        ([("vlse32.v", {"vd": 8, "rs1": 8, "rs2": 0})], 8, 1, 8 - 1 + 4),  # an element a cycle
        ([("vlseg2e32.v", {"vd": 8, "rs1": 8})], 8, 1, 2 - 1 + 4),
        ([("vl8re32.v", {"vd": 8, "rs1": 8})], 8, 1, 8 - 1 + 4),
        ([LOAD, ("ld", {"rd": 5, "rs1": 8, "imm": 0})], 64, 8, 8 + 3),  # one port
        ([("vwadd.vv", {"vd": 16, "vs2": 8, "vs1": 9})], 8, 1, 2 - 1 + 4),
        ([("vredsum.vs", {"vd": 8, "vs2": 16, "vs1": 17})], 8, 1, 4 * (1 + 3)),
        ([("vredsum.vs", {"vd": 8, "vs2": 16, "vs1": 24})], 64, 8, 7 + 4 * (1 + 3)),
        ([("vfredosum.vs", {"vd": 8, "vs2": 16, "vs1": 17})], 8, 1, 8 * 4),
        ([("npu.exp", {"vd": 8, "vs2": 16})], 8, 1, 10),
        ([("npu.exp", {"vd": 8, "vs2": 16})], 64, 8, 7 + 10),
        ([("vmv.x.s", {"rd": 5, "vs2": 16}), add(6, 5)], 8, 1, 5),
        ([("vadd.vv", {"vd": 8, "vs2": 16, "vs1": 16}), ("vmerge.vim", {"vd": 9, "vs2": 16, "imm": 0})], 8, 1, 5),
        ([("vmseq.vv", {"vd": 0, "vs2": 16, "vs1": 16}), ("vmerge.vim", {"vd": 9, "vs2": 16, "imm": 0})], 8, 1, 8),  # waits for the mask
    ],
)
def test_vector(body: list[Instruction], vl: int, lmul: int, expected: int) -> None:
    assert cycles(body, vl, 32, lmul) == expected


def test_systolic_array() -> None:
    """L = 4: weights 0..4, inputs 4..8, the rows enter at 8, the first result is ready 2L - 1 = 7 cycles later, then one a cycle."""
    weights, inputs, compute, pop = (
        ("npu.weight_push", {"vs2": 8}),
        ("npu.input_push", {"vs2": 9}),
        ("npu.compute", {}),
        ("npu.pop", {"vd": 10}),
    )
    assert cycles([weights], vl=4) == 4
    assert cycles([weights, inputs], vl=4) == 8
    assert cycles([weights, inputs, compute], vl=4) == 8 + 7 + 3
    assert cycles([weights, inputs, compute, pop], vl=4) == 8 + 7 + 3 + 1
    assert cycles([weights, inputs, compute, pop, vadd(11, 10)], vl=4) == 19 + 4
    # a second group of rows follows the first through the array
    assert cycles([weights, inputs, compute, inputs, compute, pop, pop], vl=4) == 12 + 7 + 3 + 1
    assert cycles([weights, inputs, compute, pop], vl=4, sa_push_rows_per_cycle=2) == 4 + 7 + 1 + 1


def test_figures_come_from_the_machine() -> None:
    body = [LOAD, vadd(16, 8), STORE]
    assert cycles(body, vector_load_latency=9) == 9 + 4 + 1
    assert cycles(body, 64, 32, 8, vector_bits_per_cycle=512) == (3 + 4) + (3 + 4) + (3 + 1)
    assert cycles([add(5), add(6), add(7), add(9)], issue_width=2) == 2
    assert cycles([("jal", {"rd": 0, "imm": 4})], branch_taken_cycles=0) == 1
    machine = load_machine("8x8")
    pipe = {name: value for name, value in machine.model_dump().items() if name.startswith("pipe_")}
    Simulator(machine.lanes, machine.spad_bytes_per_lane, machine.sa_queue_rows, pipe)


SPILL: list[Instruction] = [
    ("addi", {"rd": 2, "rs1": 2, "imm": -256}),
    ("vs8r.v", {"vs3": 8, "rs1": 2}),
    ("vl8re32.v", {"vd": 16, "rs1": 2}),
]
GATHER: Instruction = ("vluxei32.v", {"vd": 8, "rs1": 8, "vs2": 16})
PUSHES: list[Instruction] = [("npu.weight_push", {"vs2": 8}), ("npu.input_push", {"vs2": 9}), ("npu.compute", {}), ("npu.pop", {"vd": 10})]
# Micro-kernel, vl of 32-bit elements, LMUL, expected cycles with default figures. t is the cycle of issue, "ready" that of the result.
MICRO_KERNELS: dict[str, tuple[list[Instruction], int, int, int]] = {
    # sp at 0; 2048 bits at 256 a cycle: the store holds the port for cycles 1-8, the reload issues at 9, ready at 9 + 8 - 1 + 4
    "spill and reload of a group of eight": (SPILL, 64, 8, 20),
    # the gather needs v16, ready at 4; it issues at 4, eight elements one a cycle, ready at 4 + 8 - 1 + 4
    "indices computed, then a gather": ([("vmv.v.i", {"vd": 16, "imm": 0}), GATHER], 8, 1, 15),
    # two fields of eight elements, one element a cycle
    "strided store of two fields": ([("vssseg2e32.v", {"vs3": 8, "rs1": 8, "rs2": 0})], 8, 1, 16),
    # loads issue at 0 and 1 (ready 4, 5), the product at 5 (ready 9), the sum at 9 (ready 13), the store at 13 (1 cycle)
    "multiply and add of two vectors": (
        [LOAD, ("vle32.v", {"vd": 9, "rs1": 8}), ("vfmul.vv", {"vd": 10, "vs2": 8, "vs1": 9}), vadd(16, 10), STORE],
        8,
        1,
        14,
    ),
    # division: 8 x 4 cycles on the unit, ready at 0 + 32 - 1 + 4; the independent sum waits for the unit until 32, ready at 36
    "a sum behind a division": ([("vfdiv.vv", {"vd": 8, "vs2": 16, "vs1": 17}), vadd(9, 18)], 8, 1, 36),
    # exp at 0 ready 10, sum over it: tree of 8 elements, 4 x (1 + 3), issue at 10, ready at 26
    "softmax denominator": ([("npu.exp", {"vd": 8, "vs2": 16}), ("vfredusum.vs", {"vd": 9, "vs2": 8, "vs1": 17})], 8, 1, 26),
    # 8 elements of 64 bits are 2 cycles: ready at 0 + 2 - 1 + 4; the narrowing one issues at 5 and costs the same
    "widen and narrow": ([("vwadd.vv", {"vd": 16, "vs2": 8, "vs1": 9}), ("vnsrl.wi", {"vd": 20, "vs2": 16, "imm": 0})], 8, 1, 10),
    # the mask is ready at 4, the masked sum issues then
    "mask, then a masked sum": (
        [("vmseq.vv", {"vd": 0, "vs2": 16, "vs1": 17}), ("vadd.vv", {"vd": 8, "vs2": 16, "vs1": 17, "vm": 0})],
        8,
        1,
        8,
    ),
    # scalar read-back: ready at 4, address arithmetic at 4, store at 5 (1 cycle)
    "vector to scalar to memory": (
        [("vmv.x.s", {"rd": 5, "vs2": 16}), add(6, 5), ("sd", {"rs2": 6, "rs1": 8, "imm": 0})],
        8,
        1,
        6,
    ),
    # L = 4: weights 0-3, rows 4-7, they enter at 8; result i is ready at 8 + 7 + i; the pop ends at 8 + 7 + 3 + 1; then the sum
    "preload, matmul of four rows, bias": ([*PUSHES, vadd(11, 10)], 4, 1, 23),
}


@pytest.mark.parametrize("name", MICRO_KERNELS)
def test_micro_kernel(name: str) -> None:
    body, vl, lmul, expected = MICRO_KERNELS[name]
    assert cycles(body, vl, 32, lmul) == expected


# For every figure a micro-kernel and its cycles at the default and with the figure set to the value.
FIGURES: dict[str, tuple[list[Instruction], int, int, int]] = {
    "issue_width": ([add(5), add(6), add(7), add(9)], 2, 4, 2),
    "scalar_latency": ([add(5), add(6, 5)], 3, 2, 1 + 2 + 3),  # the second issues when the first is ready, at 3
    "scalar_mul_latency": ([("mul", {"rd": 5, "rs1": 6, "rs2": 6})], 7, 3, 7),
    "scalar_div_latency": ([("div", {"rd": 5, "rs1": 6, "rs2": 6})], 9, 20, 9),
    "scalar_load_latency": ([("ld", {"rd": 5, "rs1": 8, "imm": 0})], 6, 3, 6),
    "branch_taken_cycles": ([("jal", {"rd": 0, "imm": 4})], 4, 2, 5),
    "vector_latency": ([vadd(8, 16), vadd(9, 8)], 6, 8, 12),
    "vector_bits_per_cycle": ([vadd(8, 16)], 64, 4, 4 - 1 + 4),
    "vector_div_cycles_per_element": ([("vfdiv.vv", {"vd": 8, "vs2": 16, "vs1": 17})], 2, 32 - 1 + 4, 16 - 1 + 4),
    "vector_load_latency": ([LOAD], 11, 4, 11),
    "special_function_latency": ([("npu.exp", {"vd": 8, "vs2": 16})], 20, 10, 20),
    "sa_push_rows_per_cycle": ([("npu.input_push", {"vs2": 8})], 4, 8, 2),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_acts(figure: str) -> None:
    body, value, default, changed = FIGURES[figure]
    assert (cycles(body), cycles(body, **{figure: value})) == (default, changed)


def test_no_figure_is_left_out() -> None:
    assert {f"pipe_{name}" for name in FIGURES} == {name for name in load_machine("8x8").model_dump() if name.startswith("pipe_")}


def test_only_blocks_are_measured_and_their_cost_depends_on_nothing_before() -> None:
    simulator = Simulator(LANES, 4096)
    program = Program().setvl(64, 32, 8).li(8, SPAD)
    for prefix in range(3):
        for _ in range(prefix):
            program.op("vfdiv.vv", vd=8, vs2=16, vs1=16)
        program.begin(5).op("vadd.vv", vd=8, vs2=16, vs1=16).end()
    result = program.run(simulator, log=True)
    assert result.block_cycles == {5: (3, 11, 11)}
    assert [instructions for _, _, instructions in result.blocks] == [1, 1, 1]


def test_a_loop_costs_its_trips() -> None:
    def loop(trips: int) -> int:
        program = Program().li(8, SPAD).li(20, trips).begin()
        start = len(program.code)
        program.op("addi", rd=20, rs1=20, imm=-1).op("bne", rs1=20, rs2=0, imm=start - len(program.code))
        return program.end().run(Simulator(LANES, 4096)).block_cycles[0].lowest

    assert [loop(trips) for trips in (1, 2, 10)] == [2, 5, 29]  # two cycles, one more lost when the branch is taken
