"""Plans as JSON text and back, exactly; a digest that names a plan."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from torchsim.errors import PlanError
from torchsim.plan import group as group_module
from torchsim.plan import model
from torchsim.plan.dtypes import DType
from torchsim.plan.model import KernelPlan

FORMAT = 1
_CLASSES: dict[str, type[Any]] = {
    item.__name__: item
    for item in (
        group_module.Axis, group_module.TensorArg, model.Affine, model.Tile, model.SpadBuffer, model.TransferDim, model.Transfer,
        model.Wait, model.Range, model.BufferRef, model.PositionExpr, model.BlockOp, model.BlockStore, model.BlockReduce,
        model.BlockLoop, model.Block, model.TileLoop, model.ChunkLoop, model.KernelPlan,
    )
}  # fmt: skip


def to_json(plan: KernelPlan) -> str:
    """Canonical text: sorted keys, no blanks, floats in hexadecimal so that every bit (NaN and infinities too) survives."""
    return json.dumps({"format": FORMAT, "plan": _encode(plan)}, sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_json(text: str) -> KernelPlan:
    """The plan of a text made by ``to_json``.

    Raises:
        PlanError: not such a text, or of another format.
    """
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise PlanError("a plan of another format", expected=str(FORMAT), found=str(data["format"]))
        plan = _decode(data["plan"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlanError("not the text of a plan", found=f"{type(error).__name__}: {error}") from error
    if not isinstance(plan, KernelPlan):
        raise PlanError("not the text of a plan", found=type(plan).__name__)
    return plan


def digest(plan: KernelPlan) -> str:
    """sha256 of the canonical text, in hexadecimal: equal plans have equal digests in every process."""
    return hashlib.sha256(to_json(plan).encode()).hexdigest()


def _encode(value: Any) -> Any:
    if isinstance(value, DType):
        return {"dtype": value.value}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    fields = type(value).__dataclass_fields__
    return {"class": type(value).__name__, **{name: _encode(getattr(value, name)) for name in fields}}


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "dtype" in value and "class" not in value:
        return DType(value["dtype"])
    if "float" in value:
        return float.fromhex(value["float"])
    return _CLASSES[value["class"]](**{name: _decode(item) for name, item in value.items() if name != "class"})
