"""Random rounding errors for the plan interpreter: what another order of additions or another last bit may do to a kernel's outputs."""

from __future__ import annotations

import math

import numpy as np

from torchsim.plan.dtypes import DType
from torchsim.plan.values import Array, to_float

_UNIT = {DType.F64: 2.0**-53, DType.F32: 2.0**-24, DType.F16: 2.0**-11, DType.BF16: 2.0**-8}


class RoundingNoise:
    """Moves float results by a random part of their rounding unit, the same way for the same seed.

    An ill-conditioned kernel (layer norm of nearly equal values) turns one such error into a large one, so a run with noise says how
    far apart two right executions may be.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def __call__(self, value: Array, dtype: DType, terms: int = 1) -> Array:
        """``value`` times 1 + 2 u r sqrt(terms): u the rounding unit of ``dtype``, r uniform in -1..1 for each element.

        A result moved by less than one unit would round back to itself, hence the 2.

        Args:
            value: computed elements, as ``plan.values`` holds them.
            dtype: their type; integers and booleans come back as they are.
            terms: additions behind each element; the errors of a sum grow with the square root of their number.
        """
        if not dtype.is_float:
            return value
        relative = 2 * _UNIT[dtype] * math.sqrt(terms) * self._generator.uniform(-1, 1, value.shape)
        with np.errstate(all="ignore"):
            return to_float((value.astype(np.longdouble) * (1 + relative.astype(np.longdouble))).astype(np.float64), dtype)
