"""The pointwise family on every machine, under every oracle."""

from __future__ import annotations

import pytest
import torch

from ops.case import OpCase, parameters
from ops.pointwise import CASES
from oracles.differential import Differential

pytestmark = pytest.mark.op


@pytest.mark.parametrize(("case", "dtype"), parameters(CASES))
def test_pointwise(differential: Differential, case: OpCase, dtype: torch.dtype) -> None:
    for sample in case.samples(dtype):
        differential.check(case.function, *sample, kernels=case.kernels, exact=case.exact, length=case.length)
