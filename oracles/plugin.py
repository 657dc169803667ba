"""pytest plugin: machines, differential checks (requirements H-10, H-14). Other projects get it with ``pip install torchsim``.

Options: ``--machine 8x8,32x32,128x128`` runs every test that takes the fixture ``npu_machine`` (or ``differential``) on each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from oracles.differential import Differential
    from torchsim.config import Machine

DEFAULT_MACHINES = "8x8,32x32,128x128"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register ``--machine``."""
    group = parser.getgroup("torchsim", "NPU machines and oracles")
    group.addoption(
        "--machine",
        default=DEFAULT_MACHINES,
        help=f"comma separated machines (names in configs/ or YAML paths); default {DEFAULT_MACHINES}",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One variant of the test per machine."""
    if "npu_machine" in metafunc.fixturenames:
        names = [name for name in str(metafunc.config.getoption("--machine")).split(",") if name]
        metafunc.parametrize("npu_machine", names, indirect=True)


@pytest.fixture
def npu_machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """The machine under test, selected for the duration of the test."""
    import torchsim

    with torchsim.machine(request.param) as chosen:
        yield chosen


@pytest.fixture
def differential(npu_machine: Any) -> Iterator[Differential]:
    """Runs functions on the NPU under every oracle; see oracles.differential.Differential."""
    from oracles.differential import Differential

    with Differential.on(npu_machine) as checker:
        yield checker
