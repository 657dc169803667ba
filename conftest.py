"""pytest set-up of this repository: Hypothesis profiles, and the oracles' plugin (options and fixtures live there)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.database import DirectoryBasedExampleDatabase

# One test process per core: more threads in each would only take turns. Set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The entry point of an installed torchsim carries the same name, so the plugin is registered once either way.
pytest_plugins = ["oracles.plugin"] if (Path(__file__).parent / "oracles" / "plugin.py").is_file() else []

# Every field is given: a profile must not change with Hypothesis's defaults or with its own detection of CI.
_COMMON: dict[str, Any] = {
    "deadline": None,
    "phases": (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink),
    "print_blob": True,
    "report_multiple_bugs": True,
    "stateful_step_count": 50,
    "suppress_health_check": (HealthCheck.too_slow, HealthCheck.data_too_large),
    "verbosity": Verbosity.normal,
    "backend": "hypothesis",
}
# Found failures are replayed first where examples are fresh; where they are derandomised there is nothing to remember.
_FOUND = DirectoryBasedExampleDatabase(Path(__file__).parent / ".hypothesis" / "examples")
hypothesis.settings.register_profile("ci", max_examples=50, derandomize=True, database=None, **_COMMON)
hypothesis.settings.register_profile("dev", max_examples=50, derandomize=False, database=_FOUND, **_COMMON)
hypothesis.settings.register_profile("nightly", max_examples=1000, derandomize=False, database=_FOUND, **_COMMON)
hypothesis.settings.load_profile(os.environ.get("TORCHSIM_HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--examples-factor N``: property tests with their own max_examples draw N times as many."""
    parser.addoption("--examples-factor", type=int, default=1, metavar="N", help="multiply max_examples of every property test by N")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Apply ``--examples-factor``."""
    factor: Any = config.getoption("--examples-factor")
    if factor == 1:
        return
    functions: set[Any] = {getattr(item.function, "__func__", item.function) for item in items if isinstance(item, pytest.Function)}
    for function in functions:
        if hypothesis.is_hypothesis_test(function):
            # Hypothesis offers no public way to change the settings of a test that has been collected.
            own = function._hypothesis_internal_use_settings
            function._hypothesis_internal_use_settings = hypothesis.settings(own, max_examples=own.max_examples * factor)


@pytest.fixture(autouse=True)
def stock_spike_judges_every_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of the runtime and of the documentation launch kernels outside of ``differential``: stock Spike runs those again too."""
    parts = request.path.relative_to(Path(__file__).parent).parts
    if parts[0] != "docs" and not (parts[0] == "torchsim" and (len(parts) == 2 or parts[1] in ("runtime", "accuracy", "demo"))):
        yield
        return
    from oracles.stock_spike import StockSpikeOracle
    from torchsim.runtime.launch import Launch, Observer, add_observer, remove_observer

    class Judge(Observer):
        """A Spike oracle for the machine of each launch."""

        def before(self, launch: Launch) -> None:
            self._oracle = StockSpikeOracle(launch.call.kernel.machine)
            self._oracle.before(launch)

        def after(self, launch: Launch) -> float | None:
            return self._oracle.after(launch)

    judge = Judge()
    add_observer(judge)
    yield
    remove_observer(judge)
