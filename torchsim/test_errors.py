"""The error hierarchy: four parts in every message, and nothing lost between processes."""

from __future__ import annotations

import copy
import pickle

import pytest

from torchsim import errors
from torchsim.errors import CapacityError, SpadOverflowError, TorchsimError, TrapError

pytestmark = pytest.mark.unit

CLASSES = sorted(
    (value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, TorchsimError)), key=lambda cls: cls.__name__
)
PARTS = {"expected": "a tile", "found": "a stone", "where": "kernel 3", "hint": "turn it over"}


def test_the_hierarchy_is_the_documented_one() -> None:
    assert {cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES} == {
        "TorchsimError": "Exception",
        "UnsupportedError": "TorchsimError",
        "InvalidInputError": "TorchsimError",
        "ConfigError": "TorchsimError",
        "CapacityError": "TorchsimError",
        "SpadOverflowError": "CapacityError",
        "PlanError": "TorchsimError",
        "LaneSafetyError": "TorchsimError",
        "TrapError": "TorchsimError",
        "TraceError": "TorchsimError",
        "DeadlockError": "TorchsimError",
        "CacheError": "TorchsimError",
        "DivergenceError": "TorchsimError",
        "InternalError": "TorchsimError",
    }
    assert issubclass(SpadOverflowError, CapacityError)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_message_has_its_parts_in_order(cls: type[TorchsimError]) -> None:
    error = cls("it broke", **PARTS)
    assert str(error).splitlines() == ["it broke", "  expected: a tile", "  found: a stone", "  where: kernel 3", "  try: turn it over"]
    assert (error.summary, error.expected, error.found, error.where, error.hint) == ("it broke", *PARTS.values())


@pytest.mark.parametrize("cls", CLASSES)
def test_empty_parts_are_left_out(cls: type[TorchsimError]) -> None:
    assert str(cls("it broke")) == "it broke"
    assert str(cls("it broke", where="here")) == "it broke\n  where: here"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("cls", CLASSES)
def test_pickling_keeps_class_parts_message_attributes_and_notes(cls: type[TorchsimError], protocol: int) -> None:
    error = cls("it broke", **PARTS)
    error.kernel = "k7"  # type: ignore[attr-defined]  # reports hang their own data on an error
    error.add_note("seen on 8x8")
    back = pickle.loads(pickle.dumps(error, protocol))
    assert type(back) is cls
    assert str(back) == str(error)
    assert back.args == error.args
    assert vars(back) == vars(error)
    assert back.__notes__ == ["seen on 8x8"]


def test_a_trap_keeps_cause_and_pc() -> None:
    error = TrapError("kernel stopped", cause="misaligned_access", pc=0x8000_0010, where="kernel 3")
    for back in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (back.cause, back.pc, back.where) == ("misaligned_access", 0x8000_0010, "kernel 3")
        assert str(back) == str(error)
    assert TrapError("kernel stopped").cause == ""


def test_one_handler_catches_everything_raised_on_purpose() -> None:
    for cls in CLASSES:
        with pytest.raises(TorchsimError):
            raise cls("x")
