"""Plans as JSON and as text: exact round trips, stable digests, readable print."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings

from torchsim.config import Machine, load_machine
from torchsim.errors import PlanError, SpadOverflowError
from torchsim.plan.build import build
from torchsim.plan.describe import describe
from torchsim.plan.model import Block, BlockOp
from torchsim.plan.poison import poisoned
from torchsim.plan.serialize import digest, from_json, to_json
from torchsim.plan.test_build import matmul, softmax
from torchsim.plan.test_groups import Case, machines, matmul_cases, vector_cases

pytestmark = pytest.mark.unit


@pytest.mark.req("D-6")
@settings(max_examples=40, deadline=None)
@given(vector_cases(300) | matmul_cases(), machines())
def test_round_trip(case: Case, machine: Machine) -> None:
    """The text gives back an equal plan, and equal plans have equal texts."""
    try:
        plan = build(case.group, machine)
    except SpadOverflowError:
        return
    text = to_json(plan)
    assert from_json(text) == plan
    assert to_json(from_json(text)) == text
    assert digest(build(case.group, machine)) == digest(plan)


def test_special_numbers_survive() -> None:
    """NaN and infinities in fills and constants, 0.0 against -0.0, True against 1."""
    plan = build(softmax(20, 30), load_machine("8x8"))
    text = to_json(poisoned(plan))
    assert to_json(from_json(text)) == text
    block = next(item for item in plan.body if isinstance(item, Block))
    texts = set()
    for value in (0.0, -0.0, 0, False, math.inf, math.nan):
        ops = (BlockOp("constant", block.ops[0].dtype, (), value), *block.ops[1:])
        texts.add(digest(replace(plan, body=(replace(block, ops=ops),))))
    assert len(texts) == 6


@pytest.mark.req("D-6", "G-23")
def test_digest_is_the_same_in_another_process() -> None:
    """No dependence on hash seeds."""
    group = softmax(20, 30)
    code = (
        "import pickle, sys; from torchsim.config import load_machine; from torchsim.plan.build import build;"
        "from torchsim.plan.serialize import digest; print(digest(build(pickle.load(sys.stdin.buffer), load_machine('8x8'))))"
    )
    other = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(group), capture_output=True, check=True)
    assert other.stdout.decode().strip() == digest(build(group, load_machine("8x8")))


NO_PLANS = [
    "",
    "{}",
    "[]",
    '{"format": 1, "plan": {"class": "Axis"}}',
    '{"format": 1, "plan": 3}',
    '{"format": 99, "plan": 3}',
    '{"format":1',
]


@pytest.mark.parametrize("text", NO_PLANS)
def test_other_texts_are_refused(text: str) -> None:
    """Truncated, foreign or future texts are plan errors."""
    with pytest.raises(PlanError):
        from_json(text)


def test_description_shows_the_program() -> None:
    """Axes, buffers, transfers with bounds, loops, waits and blocks appear."""
    text = describe(build(matmul(40, 40, 50), load_machine("8x8")))
    parts = ("kernel mm: 8 lanes", "origins: mm, relu", "axis k: 50", "(split over lanes, 1 each)", "buffer acc: f32", "load w <- w[")
    for part in (*parts, "for k_chunk in 0..", "preload w+", "matmul acc+", "relu", "store y <- out_y", "?"):
        assert part in text, part
    assert "for r0=30, vectors of" in describe(build(softmax(8, 30), load_machine("8x8")))
