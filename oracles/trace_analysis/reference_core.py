"""One core, cycle by cycle, written from docs/togsim.md ("Core", "Capacity"): when must each instruction issue and finish?

Only what the memory system decides is taken from the run under test: in which cycle a transfer's last request left and in which its last
answer came back. Everything else is simulated again, by scanning every instruction in every cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from oracles.trace_analysis.occupancy import Occupancy, share_of
from oracles.trace_analysis.work_item import WorkItemAnalysis
from togsim import Compute, ComputeType, Dma
from togsim.config import SimConfig
from togsim.records import Direction

Key = tuple[int, int]
"""(work-item, record)."""


@dataclass
class Memory:
    """What the memory system decided, by transfer: cycle of the last request, and cycle of the last answer."""

    injected: dict[Key, int]
    arrived: dict[Key, int]


@dataclass
class Schedule:
    """What the reference found."""

    issues: list[tuple[int, int, int]] = field(default_factory=list)
    """(cycle, work-item, record) in order."""
    finished: dict[Key, int] = field(default_factory=dict)
    started: dict[Key, int] = field(default_factory=dict)
    """Cycle in which the DMA engine took a transfer."""
    array: dict[Key, int] = field(default_factory=dict)
    cycles: int = 0


class _Item:
    """A running work-item."""

    def __init__(self, number: int, analysis: WorkItemAnalysis, spad: int) -> None:
        self.number = number
        self.analysis = analysis
        self.share = share_of(analysis, spad)
        self.occupancy = Occupancy(analysis)
        self.issued: set[int] = set()
        self.done: set[int] = set()
        self.opens = {i: sum(v.size for v in analysis.versions if v.opener == i) for i in analysis.instructions}
        self.preloads = [i for i in analysis.instructions if analysis.on_array(i) and not analysis.is_matmul(i)]
        self.preload_of = {m: max(p for p in self.preloads if p < m) for m in analysis.instructions if analysis.is_matmul(m)}
        self.streams_until: dict[int, int] = {}

    def ready(self, i: int) -> bool:
        """Everything that it depends on has happened."""
        return all(producer in (self.issued if event == "ISSUE" else self.done) for producer, event in self.analysis.needs[i])

    def fits(self, i: int) -> bool:
        """Its versions fit, beside those that are live and those of overtaken instructions."""
        if not self.opens[i] or any(self.opens[j] for j in self.issued if j > i):
            return True
        claimed = sum(size for j, size in self.opens.items() if j < i and j not in self.issued)
        return self.occupancy.bytes + claimed + self.opens[i] <= self.share


class ReferenceCore:
    """One core of a machine and the work-items that were dispatched to it, in order."""

    def __init__(
        self, config: SimConfig, table: Sequence[tuple[int, int]], items: Sequence[tuple[int, WorkItemAnalysis]], memory: Memory
    ) -> None:
        self.config = config
        self.table = table
        self.waiting = [_Item(number, item, config.spad_bytes_per_lane) for number, item in items]
        self.memory = memory
        self.running: list[_Item] = []
        self.vector_finish = 0
        self.array_finish = [0] * config.num_systolic_array_per_core
        self.slots_used = [0] * config.num_systolic_array_per_core
        self.next_array = 0
        self.queues: dict[Direction, list[tuple[_Item, int]]] = {Direction.LOAD: [], Direction.STORE: []}
        self.current: tuple[_Item, int] | None = None
        self.due: list[tuple[int, str, _Item, int]] = []
        self.found = Schedule()

    def run(self) -> Schedule:
        """Simulate until the last work-item has retired."""
        now = 0
        while self.waiting or self.running:
            changed = self._due(now)
            changed |= self._dma(now)
            if not self.running:
                self._admit()
            before = len(self.found.issues)
            issued = self._scan(now)
            changed |= len(self.found.issues) > before
            if not issued and self._retire(now):
                self._admit()
                changed = True
            # nothing moved: the state stays as it is until the next event
            now = now + 1 if changed else max(now + 1, self._next_event())
        return self.found

    def _next_event(self) -> int:
        cycles = [cycle for cycle, *_ in self.due]
        if self.current is not None:
            cycles.append(self.memory.injected[self.current[0].number, self.current[1]])
        return min(cycles, default=0)

    # -- due events --------------------------------------------------------------------------------------------------------
    def _due(self, now: int) -> bool:
        events = [e for e in self.due if e[0] <= now]
        self.due = [e for e in self.due if e[0] > now]
        for _, kind, item, i in events:
            if kind == "slot":
                self.slots_used[self.found.array[item.number, i]] -= 1
            else:
                self._finish(item, i, now)
        return bool(events)

    def _finish(self, item: _Item, i: int, now: int) -> None:
        item.done.add(i)
        item.occupancy.done(i)
        self.found.finished[item.number, i] = now
        barrier = item.analysis.barrier_of.get(i)
        if barrier is not None and barrier in item.issued and set(item.analysis.transfers_of[barrier]) <= item.done:
            self._finish(item, barrier, now)

    # -- DMA engine: one transfer at a time, loads before stores -----------------------------------------------------------
    def _dma(self, now: int) -> bool:
        if self.current is None:
            queue = self.queues[Direction.LOAD] or self.queues[Direction.STORE]
            if not queue:
                return False
            self.current = queue.pop(0)
            self.found.started[self.current[0].number, self.current[1]] = now
        item, i = self.current
        if self.memory.injected[item.number, i] <= now:
            self.current = None
            if (item.number, i) in self.memory.arrived:
                self.due.append((self.memory.arrived[item.number, i], "done", item, i))
            else:
                self._finish(item, i, now)  # no active element: nothing was sent
            return True
        return False

    # -- admission and retirement ------------------------------------------------------------------------------------------
    def _admit(self) -> None:
        half = self.config.spad_bytes_per_lane // 2
        while self.waiting and len(self.running) < 2:
            both = [*self.running, self.waiting[0]]
            if len(both) == 2 and any(item.analysis.footprint > half for item in both):
                return
            self.running.append(self.waiting.pop(0))

    def _retire(self, now: int) -> bool:
        for item in self.running:
            if len(item.done) == len(item.analysis.instructions):
                self.running.remove(item)
                self.found.cycles = now + 1
                return True
        return False

    # -- issue -------------------------------------------------------------------------------------------------------------
    def _scan(self, now: int) -> bool:
        """The first instruction that can issue does; blocks of zero cycles finish on the way."""
        for item in self.running:
            for i in item.analysis.instructions:
                if i not in item.issued and item.ready(i) and self._attempt(item, i, now):
                    return True
        return False

    def _attempt(self, item: _Item, i: int, now: int) -> bool:
        record = item.analysis.records[i]
        if isinstance(record, Dma):
            queue = self.queues[record.direction]
            if len(queue) >= self.config.dma_queue_depth or not item.fits(i):
                return False
            queue.append((item, i))
            self._issue(item, i, now)
            return True
        if isinstance(record, Compute):
            return self._attempt_compute(item, i, record, now)
        self._issue(item, i, now)
        if set(item.analysis.transfers_of[i]) <= item.done:
            self._finish(item, i, now)
        return True

    def _attempt_compute(self, item: _Item, i: int, record: Compute, now: int) -> bool:
        """Whether it took the issue slot of this cycle."""
        if not item.fits(i):
            return False
        if record.compute_type is ComputeType.PRELOAD:
            arrays = len(self.slots_used)
            free = [a for k in range(arrays) if self.slots_used[a := (self.next_array + k) % arrays] < self.config.sa_weight_buffer_depth]
            in_turn = all(p in item.issued for p in item.preloads if p < i)
            if not in_turn or not free:
                return False
            self.slots_used[free[0]] += 1
            self.next_array = (free[0] + 1) % arrays
            self.found.array[item.number, i] = free[0]
        elif record.compute_type is ComputeType.MATMUL:
            self.found.array[item.number, i] = self.found.array[item.number, item.preload_of[i]]
        cycles, overlapping = self.table[record.block_id]
        finish = now
        if cycles:
            finish = self._occupy(self.found.array.get((item.number, i)), now, cycles, overlapping)
            self.due.append((finish, "done", item, i))
        self._issue(item, i, now)
        if record.compute_type is ComputeType.MATMUL:
            self._stream(item, item.preload_of[i], finish - overlapping, now)
        if not cycles:
            self._finish(item, i, now)
        return cycles > 0

    def _occupy(self, array: int | None, now: int, cycles: int, overlapping: int) -> int:
        last = self.vector_finish if array is None else self.array_finish[array]
        finish = now + cycles if last <= now else last + cycles - min(last - now, overlapping)
        if array is None:
            self.vector_finish = finish
        else:
            self.array_finish[array] = finish
        return finish

    def _stream(self, item: _Item, preload: int, until: int, now: int) -> None:
        """The slot is free when the last consumer has stopped streaming."""
        item.streams_until[preload] = max(until, item.streams_until.get(preload, 0))
        if all(m in item.issued for m, p in item.preload_of.items() if p == preload):
            if item.streams_until[preload] <= now:
                self.slots_used[self.found.array[item.number, preload]] -= 1
            else:
                self.due.append((item.streams_until[preload], "slot", item, preload))

    def _issue(self, item: _Item, i: int, now: int) -> None:
        item.issued.add(i)
        item.occupancy.issue(i)
        self.found.issues.append((now, item.number, i))
