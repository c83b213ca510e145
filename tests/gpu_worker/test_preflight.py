"""The preflight names what cannot be captured, with file and line; on the CPU."""

from __future__ import annotations

import inspect as python_inspect
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from gpu_worker.buffers import StaticInputs
from gpu_worker.preflight import inspect
from gpu_worker.targets import llama
from tests.gpu_worker.conftest import TINY, tiny_spec

X = torch.tensor([0.0, 1.0, 2.0])

BREAKERS: list[tuple[Callable[[], object], str]] = [
    (lambda: X.sum().item(), "waits for the CPU"),
    (lambda: bool(X.sum() > 1), "waits for the CPU"),
    (lambda: [0, 1, 2][X.argmin()], "waits for the CPU"),
    (lambda: X.tolist(), "waits for the CPU"),
    (lambda: X.nonzero(), "shape depends on data"),
    (lambda: X[X > 0], "shape depends on data"),
    (lambda: torch.masked_select(X, X > 0), "shape depends on data"),
    (lambda: torch.unique(X), "shape depends on data"),
]


@pytest.mark.parametrize(("breaker", "kind"), BREAKERS)
def test_breakers_are_named(breaker: Callable[[], object], kind: str) -> None:
    """Kind, and the line of this file in which it happens."""
    line = python_inspect.getsourcelines(breaker)[1]
    for inference in (False, True):
        with torch.inference_mode(inference):
            findings = inspect(breaker)
        assert [finding.kind for finding in findings] == [kind]
        assert (findings[0].file, findings[0].line) == ("test_preflight.py", line)
        assert str(findings[0]).startswith(f"test_preflight.py, line {line}: ")


def test_harmless_operations_are_not() -> None:
    """Masks by where, fixed indices and sums can be captured."""
    harmless = (
        lambda: torch.where(X > 0, X, 0.0),
        lambda: X[torch.tensor([0, 2])],
        lambda: X.cumsum(0).clamp_max(3) @ X,
        lambda: X.topk(2),
    )
    for action in harmless:
        assert inspect(action) == []


def test_each_line_once_in_order() -> None:
    """Two waits in a loop are one finding a line, the first one first."""

    def step() -> None:
        for _ in range(3):
            X.max().item()
            X.nonzero()

    assert [finding.kind for finding in inspect(step)] == [
        "waits for the CPU",
        "shape depends on data",
    ]


@pytest.mark.parametrize("experts", [1, 4])
def test_our_own_step_passes(experts: int) -> None:
    """The Llama step, dense or with experts, has nothing that a capture would refuse."""
    model = replace(TINY, num_experts=experts, experts_per_token=min(2, experts))
    target = llama.build(tiny_spec(2, model=model), torch.device("cpu"))
    inputs = StaticInputs(target.fields(), target.padding(), 2, torch.device("cpu"))
    assert inspect(lambda: target.step(inputs.views(2))) == []
