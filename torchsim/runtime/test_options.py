"""Options and machine selection: scoping, validation."""

from __future__ import annotations

import pytest

from torchsim.config import load_machine
from torchsim.errors import ConfigError, InvalidInputError
from torchsim.runtime import selection
from torchsim.runtime.options import current_options, options, set_options


@pytest.mark.req("D-5")
def test_scope_restores_options() -> None:
    before = current_options()
    with options(functional=False, timing=False) as inside:
        assert (inside.functional, inside.timing) == (False, False)
        assert current_options() is inside
    assert current_options() == before


@pytest.mark.parametrize(
    ("change", "part"),
    [({"speed": True}, "speed"), ({"fallback": "gpu"}, "fallback"), ({"timing": "yes"}, "timing"), ({"dma_order": "never"}, "dma_order")],
)
def test_bad_option_is_named(change: dict[str, object], part: str) -> None:
    with pytest.raises(InvalidInputError, match=part):
        set_options(**change)


@pytest.mark.req("D-4")
def test_machine_scope_and_default(monkeypatch: pytest.MonkeyPatch) -> None:
    with selection.machine("8x8") as small:
        assert small.lanes == 8
        assert selection.current_machine() is small
        with selection.machine("32x32"):
            assert selection.current_machine().lanes == 32
        assert selection.current_machine().lanes == 8
    monkeypatch.setenv("TORCHSIM_MACHINE", "32x32")
    assert load_machine().lanes == 32


def test_unknown_machine_suggests_a_name() -> None:
    with pytest.raises(ConfigError, match="nearest valid: '128x128'"):
        selection.set_machine("128x12")


def test_tiles_nest() -> None:
    assert selection.current_tiles() == {}
    with selection.tiles(p0=4):
        with selection.tiles(p0=8, split="p0"):
            assert selection.current_tiles() == {"p0": 8, "split": "p0"}
        assert selection.current_tiles() == {"p0": 4}
