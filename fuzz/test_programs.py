"""Fuzzing under every oracle: shapes, views, dtypes, op chains and tile overrides on three machines."""

from __future__ import annotations

from contextlib import nullcontext

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings

import torchsim
from fuzz.program import Program
from fuzz.strategies import programs
from oracles.differential import Differential
from torchsim.errors import InvalidInputError, SpadOverflowError


@pytest.mark.req("H-8", "T-8")
# The machine is the same for every example of a variant, so one fixture serves them all.
@settings(max_examples=12, suppress_health_check=(HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large))
@given(program=programs())
def test_program_is_right_under_every_oracle(npu_machine: torchsim.Machine, program: Program) -> None:
    hypothesis.note(f"machine {npu_machine.name}: {program}")
    override = torchsim.tiles(**dict(program.tiles)) if program.tiles else nullcontext()
    with Differential.on(npu_machine) as checker, override:
        try:
            checker.check(program, *program.make_inputs(), length=300)
        except (InvalidInputError, SpadOverflowError):
            if not program.tiles:
                raise
            hypothesis.event("illegal tile override refused")
