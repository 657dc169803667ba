from __future__ import annotations

import pytest

from torchsim.dialect import togsim
from torchsim.errors import InternalError
from torchsim.passes.standard_lowering import standard_lowering
from torchsim.passes.test_support import MACHINE, kernel_module
from torchsim.passes.translate import translate


def test_leftover_operations_are_named_instead_of_crashing() -> None:
    with kernel_module(lambda: togsim.wait(1) and None) as module, pytest.raises(InternalError, match=r"togsim\.wait \(1\)"):
        translate(module)


def test_text() -> None:
    with kernel_module(lambda: None) as module:
        standard_lowering(module, MACHINE)
        text = translate(module)
    assert '@arena = external global [4096 x i8], section ".spad"' in text
    assert "define void @kernel(ptr" in text
    assert '"no-builtins"' in text
