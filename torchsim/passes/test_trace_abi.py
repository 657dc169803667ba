from __future__ import annotations

import pytest

from togsim import _core
from torchsim.errors import InternalError
from torchsim.passes.trace_abi import header_path, parse, trace_abi


@pytest.mark.req("L-8")
def test_the_header_is_read() -> None:
    abi = trace_abi()
    assert abi.version == _core.ABI_VERSION
    assert list(abi.offsets.items()) == [("dma", 8), ("compute", 16), ("memory_barrier", 24), ("dispatch", 32)]
    assert "(*dispatch)" in abi.call_formats


@pytest.mark.parametrize("lost", ["#define TOGSIM_ABI_VERSION", "TOGSIM_CALL_FORMATS begin", "} togsim_api;"])
def test_another_form_is_refused(lost: str) -> None:
    with pytest.raises(InternalError, match="another form"):
        parse(header_path().read_text().replace(lost, ""))


def test_a_table_that_does_not_start_with_a_pair_of_integers_is_refused() -> None:
    with pytest.raises(InternalError, match="togsim_api has another form"):
        parse(header_path().read_text().replace("int32_t reserved;", ""))
