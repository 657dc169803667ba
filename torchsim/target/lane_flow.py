"""Forward data flow over the code of an image: which memory each scalar access and vector store can reach."""

from __future__ import annotations

from torchsim.errors import InternalError
from torchsim.target.image import Image
from torchsim.target.isa.decoder import decode
from torchsim.target.lane_effects import Effect, Kind, effect_of
from torchsim.target.lane_rules import Hazard, Rule
from torchsim.target.lane_state import State, entry_state, merge, store_slot
from torchsim.target.lane_values import Domain, Region, Value, sign_extended32

_RA = 1
_ARGUMENT_REGISTERS = range(10, 18)
_CALLER_SAVED = (1, 5, 6, 7, *range(10, 18), *range(28, 32))


class Flow:
    """Fixpoint over all code. ``hazards`` maps pc to the rule broken there; filled by ``run``."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.domain = Domain(image.base, image.end)
        self.words: dict[int, int] = {}
        self.effects: dict[int, Effect] = {}
        self.hazards: dict[int, Rule] = {}
        self.states: dict[int, State] = {}
        self.pending: list[int] = []
        self.visited: set[int] = set()
        self.spills: dict[int, set[tuple[int, int] | None]] = {}
        self.stack_loads: dict[int, set[tuple[int, int | None, int]]] = {}
        self.table_targets: list[int] | None = None
        self._sweep()

    def run(self) -> list[Hazard]:
        """All hazards in address order."""
        for name, address in sorted(self.image.symbols.items(), key=lambda item: item[1]):
            if address not in self.effects:
                raise InternalError(f"the exported function {name} does not start at an instruction", found=f"{address:#x}")
            self._join(address, entry_state(address, (Region.ARGUMENTS, 0)))
        self._drain()
        for pc in self.effects:  # code that no path reaches is checked with nothing known
            if pc not in self.visited:
                self._join(pc, entry_state(pc, None, (Region.STACK, None)))
                self._drain()
        self._check_spilled_loads()
        return [Hazard(pc, decode(self.words[pc]), rule) for pc, rule in sorted(self.hazards.items())]

    def _sweep(self) -> None:
        """Decode everything once; note hazards that need no data flow and the leaders of basic blocks."""
        self.leaders: set[int] = set(self.image.symbols.values())
        for start, code in self.image.code():
            offset, size = 0, len(code)
            while offset < size:
                pc = start + offset
                half = code[offset] | (code[offset + 1] << 8 if offset + 1 < size else 0)
                word = half | code[offset + 2] << 16 | code[offset + 3] << 24 if half & 3 == 3 and offset + 4 <= size else half
                effect = effect_of(word)
                self.words[pc], self.effects[pc] = word, effect
                if effect.rule is not None:
                    self.hazards[pc] = effect.rule
                if effect.kind is Kind.BRANCH or effect.kind is Kind.JUMP:
                    self.leaders.add(pc + effect.imm)
                offset += effect.length

    def _join(self, address: int, state: State) -> None:
        old = self.states.get(address)
        if old is None:
            self.states[address] = state.copy()
            self.leaders.add(address)
            self.pending.append(address)
            return
        if merge(old, state, self.domain):
            self.pending.append(address)

    def _drain(self) -> None:
        while self.pending:
            self._walk(self.pending.pop())

    def _walk(self, pc: int) -> None:
        """Follow one path from a leader to the next leader or the end of the path."""
        state = self.states[pc].copy()
        effects, leaders = self.effects, self.leaders
        while True:
            self.visited.add(pc)
            effect = effects[pc]
            kind = effect.kind
            following = pc + effect.length
            if kind >= Kind.BRANCH:
                if not self._transfer_control(pc, following, effect, state):
                    return
            elif kind is not Kind.NONE:
                self._execute(pc, effect, state)
            pc = following
            if pc not in effects:
                return
            if pc in leaders:
                self._join(pc, state)
                return

    def _execute(self, pc: int, effect: Effect, state: State) -> None:
        registers, domain = state.registers, self.domain
        kind = effect.kind
        value: Value = None
        if kind is Kind.ADDI:
            value = domain.plus(registers[effect.rs1], effect.imm)
        elif kind is Kind.ADD:
            value = domain.sum(registers[effect.rs1], registers[effect.rs2])
        elif kind is Kind.LOAD:
            value = self._load(pc, effect, state)
        elif kind >= Kind.STORE:
            self._access(pc, effect, state)
            return
        elif kind is Kind.CONSTANT:
            value = (Region.ABSOLUTE, effect.imm)
        elif kind is Kind.PC_RELATIVE:
            value = (Region.ABSOLUTE, pc + effect.imm)
        elif kind is Kind.SUB:
            value = domain.difference(registers[effect.rs1], registers[effect.rs2])
        elif kind is Kind.SHIFT_LEFT:
            value = domain.product(registers[effect.rs1], (Region.ABSOLUTE, 1 << effect.imm))
        elif kind is Kind.MULTIPLY:
            value = domain.product(registers[effect.rs1], registers[effect.rs2])
        elif kind is Kind.ADDIW:
            value = sign_extended32(domain.plus(registers[effect.rs1], effect.imm))
        elif kind is Kind.BITWISE:
            value = domain.loosened(registers[effect.rs1])
        if effect.rd:
            registers[effect.rd] = value

    def _load(self, pc: int, effect: Effect, state: State) -> Value:
        base = state.registers[effect.rs1]
        region = self.domain.region(base)
        if region is Region.STACK:
            assert base is not None
            offset = None if base[1] is None else base[1] + effect.imm
            self.stack_loads.setdefault(pc, set()).add((state.function, offset, effect.size))
            return state.slots.get(offset) if offset is not None and effect.size == 8 else None
        if region is not Region.IMAGE and region is not Region.ARGUMENTS:
            self.hazards[pc] = Rule.SCALAR_LOAD
        return None

    def _access(self, pc: int, effect: Effect, state: State) -> None:
        kind = effect.kind
        base = state.registers[effect.rs1]
        region = self.domain.region(base)
        if kind is Kind.FLOAT_LOAD:
            self._load(pc, effect, state)
        elif kind is Kind.VECTOR_STORE or kind is Kind.VECTOR_SPILL:
            if region is Region.IMAGE or region is Region.ARGUMENTS:
                self.hazards[pc] = Rule.IMAGE_STORE
            elif region is Region.STACK and kind is Kind.VECTOR_STORE:
                self.hazards[pc] = Rule.STACK_TEMPORARY
            elif region is Region.STACK:
                assert base is not None
                place = None if base[1] is None else (base[1], base[1] + effect.size)
                self.spills.setdefault(state.function, set()).add(place)
        elif region is not Region.STACK:
            self.hazards[pc] = Rule.SCALAR_STORE
        else:
            assert base is not None
            value = state.registers[effect.rs2] if kind is Kind.STORE and effect.size == 8 else None
            store_slot(state, None if base[1] is None else base[1] + effect.imm, effect.size, value)

    def _transfer_control(self, pc: int, following: int, effect: Effect, state: State) -> bool:
        """Propagate the state to all targets; False when nothing falls through."""
        kind = effect.kind
        if kind is Kind.BRANCH:
            self._go(pc, pc + effect.imm, state)
            return True
        if kind is Kind.HAZARD:
            if effect.rd:
                state.registers[effect.rd] = None
            return True
        if kind is Kind.STOP:
            return False
        if kind is Kind.JUMP:
            target: int | None = pc + effect.imm
        else:
            if effect.rd == 0 and effect.rs1 == _RA and state.registers[_RA] is None:
                return False  # a return
            base = self.domain.plus(state.registers[effect.rs1], effect.imm)
            target = base[1] if base is not None and base[0] is Region.ABSOLUTE else None
        if effect.rd:
            return self._call(pc, target, state)
        if target is not None:
            self._go(pc, target, state)
        else:
            self._go_through_table(pc, state)
        return False

    def _go(self, pc: int, target: int, state: State) -> None:
        if target not in self.effects:
            self.hazards[pc] = Rule.FOREIGN_CALL
        elif target in self.image.symbols.values() and target != state.function:
            self._enter(target, state)  # a tail call
        else:
            self._join(target, state)

    def _go_through_table(self, pc: int, state: State) -> None:
        """A jump through a table: its targets are the addresses of code that constants hold."""
        if self.table_targets is None:
            self.table_targets = _addresses_of_code(self.image, self.effects)
        if not self.table_targets:
            self.hazards[pc] = Rule.COMPUTED_JUMP
        for target in self.table_targets:
            self._join(target, state)

    def _call(self, pc: int, target: int | None, state: State) -> bool:
        if target is None or target not in self.effects:
            self.hazards[pc] = Rule.FOREIGN_CALL if target is not None else Rule.COMPUTED_JUMP
        else:
            self._enter(target, state)
        registers = state.registers
        if any(value is not None and value[0] is Region.STACK for value in registers[10:18]):
            state.slots.clear()  # the callee may write through the pointer
        for register in _CALLER_SAVED:
            registers[register] = None
        return True

    def _enter(self, target: int, state: State) -> None:
        entry = entry_state(target, None)
        for register in _ARGUMENT_REGISTERS:
            value = state.registers[register]
            entry.registers[register] = (Region.STACK, None) if value is not None and value[0] is Region.STACK else value
        self._join(target, entry)

    def _check_spilled_loads(self) -> None:
        """Scalar loads must not overlap the stack bytes that hold vector registers."""
        everywhere = set[tuple[int, int] | None]().union(*self.spills.values())
        for pc, loads in self.stack_loads.items():
            for function, offset, size in loads:
                spills = everywhere if offset is None else self.spills.get(function, set())
                if any(spill is None or offset is None or (spill[0] < offset + size and offset < spill[1]) for spill in spills):
                    self.hazards[pc] = Rule.SPILLED_VECTOR_LOAD


def _addresses_of_code(image: Image, code: dict[int, Effect]) -> list[int]:
    targets: set[int] = set()
    for first, last in image.readonly_ranges:
        data = image.data[first - image.base : last - image.base]
        for size in (4, 8):
            start = -first % size
            for offset in range(start, len(data) - size + 1, size):
                address = int.from_bytes(data[offset : offset + size], "little")
                if address in code:
                    targets.add(address)
    return sorted(targets)
