"""torch element types as the plan's."""

from __future__ import annotations

import torch

from torchsim.errors import UnsupportedError
from torchsim.plan.dtypes import DType

FROM_TORCH: dict[torch.dtype, DType] = {
    torch.float64: DType.F64,
    torch.float32: DType.F32,
    torch.float16: DType.F16,
    torch.bfloat16: DType.BF16,
    torch.int64: DType.I64,
    torch.int32: DType.I32,
    torch.int16: DType.I16,
    torch.int8: DType.I8,
    torch.uint8: DType.U8,
    torch.bool: DType.BOOL,
}
TO_TORCH: dict[DType, torch.dtype] = {ours: theirs for theirs, ours in FROM_TORCH.items()}


def plan_dtype(dtype: torch.dtype, where: str) -> DType:
    """The plan's type.

    Raises:
        UnsupportedError: the device does not compute on that type.
    """
    found = FROM_TORCH.get(dtype)
    if found is None:
        raise UnsupportedError(
            f"no NPU kernels on {dtype}",
            expected=", ".join(str(known).removeprefix("torch.") for known in FROM_TORCH),
            found=str(dtype),
            where=where,
            hint="convert the tensor to a supported type first",
        )
    return found


def promote(first: DType, second: DType) -> DType:
    """Common type of two operands, as torch.promote_types."""
    return first if first is second else FROM_TORCH[torch.promote_types(TO_TORCH[first], TO_TORCH[second])]
