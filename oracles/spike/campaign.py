"""A campaign of fresh random cases: single instructions, short programs, DMA descriptors, array and special functions."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from torchsim.target.isa.table import BY_NAME

from .both import Both
from .cases import SPAD_BYTES, TESTABLE, draw_branch, draw_case, draw_program
from .dma_cases import draw_dma
from .npu_cases import draw_array, draw_function
from .protocol import Mode

LANES = 4
# fault-only-first loads are no instructions of the NPU: each lane would have its own vl
ROWS = tuple(name for name in TESTABLE if not name.endswith("ff.v"))
BRANCHES = tuple(name for name, row in BY_NAME.items() if row.format == "BRANCH" or name == "jal")
# rows that a program may use anywhere: no indices or vtype that earlier instructions would have to prepare
SEQUENCES = tuple(name for name in ROWS if not any(part in BY_NAME[name].format for part in ("INDEXED", "CSR")) and name != "vsetvl")


@dataclass(slots=True)
class Result:
    """Counts of what was run, and what differed."""

    instructions: int = 0
    programs: int = 0
    descriptors: int = 0
    array_programs: int = 0
    special_functions: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.instructions} instruction cases, {self.programs} programs, {self.descriptors} DMA descriptors, "
            f"{self.array_programs} array programs, {self.special_functions} special functions"
        )


def run(seed: int, *, instructions: int, programs: int, dma: int) -> Result:
    """Run that many of each (array programs and special functions: a tenth of ``programs``); rows and orders take turns."""
    result = Result()
    with Both(LANES, SPAD_BYTES) as both:

        def check(case: object, difference: str | None) -> None:
            if difference:
                result.differences.append(f"{case}\n{difference}")

        rng = random.Random(seed)
        for number in range(instructions):
            name = ((*ROWS, *BRANCHES))[number % (len(ROWS) + len(BRANCHES))]
            case = draw_branch(rng, name) if name in BRANCHES else draw_case(rng, name)
            check(case, both.difference(case.program(), case.spad(LANES)))
            result.instructions += 1
        for _ in range(programs):
            case = draw_program(rng, SEQUENCES, rng.randint(2, 12))
            check(case, both.difference(case.program(), case.spad(LANES)))
            result.programs += 1
        for _ in range(programs // 10):
            for case in (draw_array(rng, LANES), draw_function(rng)):
                check(case, both.difference(case.program(), case.spad(LANES)))
            result.array_programs += 1
            result.special_functions += 1
        modes: tuple[Mode, Mode] = ("early", "late")
        while result.descriptors < dma:
            case = draw_dma(rng, LANES)
            for mode in modes:
                check(case, both.difference(case.program(), case.spad(LANES), case.windows(), mode, same_cause=False))
            result.descriptors += len(case.steps)
    return result
