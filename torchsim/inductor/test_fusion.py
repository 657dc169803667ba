"""Fusion decisions: pure, logged, and made again at the commit."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch

from torchsim.errors import InternalError
from torchsim.inductor import fusion, templates
from torchsim.inductor.analysis.domain import Declined
from torchsim.inductor.fusion import FusionPlan
from torchsim.inductor.scheduling import NpuScheduling

R = torch.randn


def state(node: Any) -> list[Any]:
    """What a decision could change about a scheduler node."""
    return [(part.get_name(), id(getattr(part, "_body", None)), getattr(part, "_sizes", None), part.group) for part in node.get_nodes()]


@pytest.mark.req("F-1", "F-2")
def test_decisions_change_nothing_and_commits_plan_again(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    committed: list[FusionPlan] = []
    can_fuse, commit = NpuScheduling._can_fuse, fusion.commit_fusion

    def watch(self: NpuScheduling, node1: Any, node2: Any, horizontal: bool) -> bool:
        before = state(node1), state(node2)
        first = can_fuse(self, node1, node2, horizontal)
        assert (state(node1), state(node2)) == before
        assert can_fuse(self, node1, node2, horizontal) == first
        asked.append(first)
        return first

    def record(*args: Any) -> FusionPlan:
        committed.append(commit(*args))
        return committed[-1]

    monkeypatch.setattr(NpuScheduling, "_can_fuse", watch)
    monkeypatch.setattr(fusion, "commit_fusion", record)
    check(lambda x, w, b, y: (torch.relu((x * 2) @ w + b), torch.softmax(y, -1)), R(6, 8), R(8, 5), R(5), R(7, 9), kernels=2)
    assert any(asked)
    assert {plan.kind for plan in committed} == {"prologue", "epilogue", "fusion", "reduction_reduction"}
    assert all(plan.remap for plan in committed)


@pytest.mark.req("F-2")
def test_a_commit_without_a_plan_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Node:
        def get_name(self) -> str:
            return "buf0"

    def decline(*args: Any, **kwargs: Any) -> FusionPlan:
        raise Declined("changed its mind")

    monkeypatch.setattr(fusion, "plan_fusion", decline)
    with pytest.raises(InternalError, match="changed its mind"):
        fusion.commit_fusion(None, Node(), Node())  # pyright: ignore[reportArgumentType]


@pytest.mark.req("F-3", "F-5")
def test_declines_are_logged_with_their_reason(check: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "torchsim.fusion"):
        check(lambda x: (x.sum(0), x.sum(1)), R(6, 6), kernels=2)  # rows and columns of a square matrix: equal loops, no common access
        check(lambda x, w: torch.relu((x @ w).view(4, 2, 9) * x[:4, :2, None]), R(12, 8), R(8, 6), kernels=2)
    reasons = [message for message in caplog.messages if message.startswith("why_no_fuse")]
    assert any("divide" in reason or "split" in reason for reason in reasons), reasons


@pytest.mark.req("F-1")
def test_templates_own_their_conditions(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler has no opinion of its own on templates: what the template refuses does not fuse."""
    monkeypatch.setattr(templates, "try_fuse_epilogue", lambda *args: None)
    check(lambda x, w: torch.relu(x @ w), R(6, 8), R(8, 5), kernels=2)
