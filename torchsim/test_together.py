"""Two compiled programs on two partitions of one machine, on the real path."""

from __future__ import annotations

import pytest
import torch

import torchsim
from torchsim.config import Machine, load_machine, machine_from_mapping
from torchsim.errors import ConfigError, InvalidInputError
from torchsim.runtime.session import Session
from torchsim.runtime.together import simulate_together

pytestmark = pytest.mark.system


def _session(machine: Machine, rows: int) -> Session:
    torch._dynamo.reset()
    with torchsim.machine(machine), torchsim.options(functional=False, timing=True), torchsim.session() as session:
        torch.compile(lambda x, w: torch.softmax(x @ w, -1), backend="torchsim", dynamic=False)(torch.ones(rows, 64), torch.ones(64, 32))
    return session


@pytest.mark.req("G-2", "G-14")
def test_two_programs_share_the_memory() -> None:
    keys = load_machine("8x8").model_dump()
    two = {**keys, "num_cores": 2, "num_partition": 2, "partition": {"core_0": 0, "core_1": 1}, "dram_channels": 1}
    machine = machine_from_mapping(two)
    first, second = _session(machine, 64), _session(machine, 40)
    result = simulate_together([first, second])
    assert [launch.partition for launch in result.launches] == [0] * len(first.kernels) + [1] * len(second.kernels)
    for number, session in enumerate((first, second)):
        assert result.partition_cycles(number) >= session.cycles
        assert sum(core.work_items for core in result.partition_cores(number)) == sum(run.work_items for run in session.kernels)
    assert result.cycles == max(result.partition_cycles(0), result.partition_cycles(1)) < first.cycles + second.cycles
    assert result.cycles > max(first.cycles, second.cycles), "one DRAM channel for two programs"
    assert simulate_together([first]).cycles < result.partition_cycles(0), "sharing costs"

    with pytest.raises(ConfigError, match="partition that does not exist"):
        simulate_together([first, second, first])
    with pytest.raises(ConfigError, match="different machines"):
        simulate_together([first, _session(machine_from_mapping({**two, "dram_channels": 2}), 64)])
    with pytest.raises(InvalidInputError, match="no timed kernel"):
        simulate_together([first, Session()])


@pytest.mark.req("G-2")
def test_more_cores_share_the_work_items() -> None:
    keys = load_machine("8x8").model_dump()
    cycles = [_session(machine_from_mapping({**keys, "num_cores": cores}), 256).cycles for cores in (1, 2, 4)]
    assert cycles[0] > cycles[1] > cycles[2]
