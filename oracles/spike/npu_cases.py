"""Random kernels of systolic-array and special-function instructions, on the register frame of ``cases``."""

from __future__ import annotations

import random

from .cases import Case, Instruction
from .program import vtype

FUNCTIONS = ("npu.erf", "npu.tanh", "npu.sin", "npu.cos", "npu.log", "npu.atan", "npu.exp")


def draw_function(rng: random.Random) -> Case:
    """One special function or the lane index; sometimes with a SEW that it does not have."""
    name = rng.choice([*FUNCTIONS, "npu.lane_index"])
    sew = rng.choice([16, 16, 32, 32, 32, 8 if rng.random() < 0.2 else 32])
    lmul = rng.choice([1, 2, 4, 8, -2])
    operands = {"vd": _group(rng, lmul)}
    if name in FUNCTIONS:
        operands["vs2"] = _group(rng, lmul)
    return _case(rng, ((name, operands),), sew, lmul)


def draw_array(rng: random.Random, lanes: int) -> Case:
    """Pushes, computes and pops with changing lengths; most kernels keep the queues in their bounds."""
    instructions: list[Instruction] = [_length(rng, lanes, 4), ("npu.weight_push", {"vs2": _group(rng, 8)})]
    for _ in range(rng.randint(2, 10)):
        rows = rng.randint(0, 31)
        kind = rng.random()
        if kind < 0.2:
            instructions += [_length(rng, rows, rng.choice([4, 8])), ("npu.weight_push", {"vs2": _group(rng, 8)})]
        elif kind < 0.9:  # rows in, rows out, now and then in two parts
            lmul = rng.choice([4, 8])
            instructions += [_length(rng, rows, lmul), ("npu.input_push", {"vs2": _group(rng, 8)}), ("npu.compute", {})]
            first = rng.choice([rows, rng.randint(0, rows)])
            instructions += [_length(rng, first, lmul), ("npu.pop", {"vd": _group(rng, 8)})]
            instructions += [_length(rng, rows - first, lmul), ("npu.pop", {"vd": _group(rng, 8)})]
        elif rng.random() < 0.5:
            instructions.append((rng.choice(["npu.input_push", "npu.weight_push"]), {"vs2": _group(rng, 8)}))
        else:
            instructions.append(("npu.pop", {"vd": _group(rng, 8)}))
    return _case(rng, tuple(instructions), 32, 4)


def _length(rng: random.Random, vl: int, lmul: int) -> Instruction:
    return "vsetivli", {"rd": rng.choice([0, 6]), "imm": min(vl, 31), "vtype": vtype(32, lmul)}


def _group(rng: random.Random, lmul: int) -> int:
    return rng.randrange(0, 32, max(lmul, 1))


def _case(rng: random.Random, instructions: tuple[Instruction, ...], sew: int, lmul: int) -> Case:
    return Case(instructions, sew, lmul, rng.randint(0, 64), rng.randrange(5), 0, rng.getrandbits(32))
