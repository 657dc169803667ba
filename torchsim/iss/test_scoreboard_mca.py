"""The scalar rules of the cycle model against llvm-mca's in-order simulation of Rocket, where an llvm-mca for riscv64 is on the PATH.

Rocket has no vector unit, so issue order, dependences and result latencies of scalar code are compared, with our figures set to llvm-mca's
of Rocket. llvm-mca also writes results back in program order, which our scoreboard does not: code of one latency must cost the same, mixed
code may cost us less. Registers are written again only long after their last result is there, because llvm-mca has no rule for that.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from functools import cache

import pytest

from torchsim.iss import Simulator
from torchsim.iss._testing import SPAD, Program

pytestmark = [pytest.mark.unit, pytest.mark.req("S-6")]
ROCKET = {"pipe_scalar_latency": 1, "pipe_scalar_mul_latency": 4, "pipe_scalar_load_latency": 2}
TARGETS = (5, 6, 7, *range(9, 30))
START_UP = 1
"""llvm-mca counts the cycle in which the last result retires."""


@cache
def mca() -> str | None:
    """Path of an llvm-mca that knows riscv64."""
    for name in ("llvm-mca", *(f"llvm-mca-{version}" for version in range(30, 13, -1))):
        path = shutil.which(name)
        if path and "riscv64" in subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout:
            return path
    return None


needs_mca = pytest.mark.skipif(mca() is None, reason="no llvm-mca with a riscv64 target on PATH (Debian: apt install llvm)")


def mca_cycles(assembly: str) -> int:
    """Total cycles of one pass through straight-line code on Rocket."""
    path = mca()
    assert path is not None
    command = [path, "-mtriple=riscv64", "-mcpu=rocket-rv64", "-mattr=+m", "-iterations=1"]
    answer = subprocess.run(command, input=assembly, capture_output=True, text=True, check=True, timeout=60)
    found = re.search(r"^Total Cycles:\s+(\d+)$", answer.stdout, re.MULTILINE)
    assert found, answer.stdout + answer.stderr
    return int(found[1])


def random_code(rng: random.Random, count: int, kinds: tuple[str, ...]) -> tuple[str, Program]:
    """The same additions, multiplications, loads and stores as text and as machine code; x8 stays the scratchpad's address."""
    lines: list[str] = []
    program = Program().li(8, SPAD).begin()
    for position in range(count):
        rd = TARGETS[position % len(TARGETS)]
        rs1, rs2 = (TARGETS[(position - rng.randrange(1, 6)) % len(TARGETS)] for _ in range(2))  # recent results: dependences that stall
        kind, offset = rng.choice(kinds), 8 * rng.randrange(16)
        if kind == "ld":
            lines.append(f"ld x{rd}, {offset}(x8)")
            program.op("ld", rd=rd, rs1=8, imm=offset)
        elif kind == "sd":
            lines.append(f"sd x{rs2}, {offset}(x8)")
            program.op("sd", rs2=rs2, rs1=8, imm=offset)
        else:
            lines.append(f"{kind} x{rd}, x{rs1}, x{rs2}")
            program.op(kind, rd=rd, rs1=rs1, rs2=rs2)
    return "\n".join(lines) + "\n", program.end()


@needs_mca
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kinds", [("add", "xor", "sub"), ("mul",), ("ld",)])
def test_code_of_one_latency_costs_what_llvm_mca_says(kinds: tuple[str, ...], seed: int) -> None:
    assembly, program = random_code(random.Random(seed), 5 + 9 * seed, kinds)
    found = program.run(Simulator(2, 4096, 16, ROCKET)).block_cycles[0].lowest
    assert found + START_UP == mca_cycles(assembly), assembly


@needs_mca
@pytest.mark.parametrize("seed", range(8))
def test_mixed_code_costs_at_most_what_llvm_mca_says(seed: int) -> None:
    count = 4 + 4 * seed
    assembly, program = random_code(random.Random(seed), count, ("add", "xor", "mul", "ld", "sd"))
    found = program.run(Simulator(2, 4096, 16, ROCKET)).block_cycles[0].lowest
    assert count <= found and found + START_UP <= mca_cycles(assembly), assembly


@needs_mca
def test_a_wrong_latency_shows() -> None:
    program = Program().begin().op("mul", rd=5, rs1=6, rs2=7).op("add", rd=9, rs1=5, rs2=5).end()
    found = program.run(Simulator(2, 4096, 16, {**ROCKET, "pipe_scalar_mul_latency": 3})).block_cycles[0].lowest
    assert found + START_UP == mca_cycles("mul x5, x6, x7\nadd x9, x5, x5\n") - 1
