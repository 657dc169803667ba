"""The state that the lane-safety data flow carries: integer registers and scalar stack slots."""

from __future__ import annotations

from dataclasses import dataclass

from torchsim.target.lane_values import Domain, Region, Value

_SP, _A0 = 2, 10
_SLOT_BYTES = 8


@dataclass(slots=True)
class State:
    """Registers and scalar stack slots (by offset from sp at entry of ``function``) before an instruction."""

    registers: list[Value]
    slots: dict[int, Value]
    function: int

    def copy(self) -> State:
        """A state that can change on its own."""
        return State(self.registers.copy(), self.slots.copy(), self.function)


def entry_state(function: int, arguments: Value, sp: Value = (Region.STACK, 0)) -> State:
    """The state at the first instruction of a function: a0 and sp are given, nothing else is known."""
    registers: list[Value] = [None] * 32
    registers[0], registers[_SP], registers[_A0] = (Region.ABSOLUTE, 0), sp, arguments
    return State(registers, {}, function)


def merge(old: State, new: State, domain: Domain) -> bool:
    """Join ``new`` into ``old`` where paths meet; whether ``old`` changed."""
    changed = False
    if old.registers != new.registers:
        registers = [domain.joined(a, b) for a, b in zip(old.registers, new.registers)]
        changed = registers != old.registers
        old.registers = registers
    if old.slots != new.slots:
        joined = {offset: domain.joined(old.slots[offset], new.slots[offset]) for offset in old.slots.keys() & new.slots.keys()}
        slots: dict[int, Value] = {offset: value for offset, value in joined.items() if value is not None}
        changed = changed or slots != old.slots
        old.slots = slots
    return changed


def store_slot(state: State, offset: int | None, size: int, value: Value) -> None:
    """A scalar store of ``size`` bytes to the stack; ``value`` is what eight-byte stores leave there."""
    if offset is None:
        state.slots.clear()
        return
    for other in [slot for slot in state.slots if slot < offset + size and offset < slot + _SLOT_BYTES]:
        del state.slots[other]
    if value is not None:
        state.slots[offset] = value
