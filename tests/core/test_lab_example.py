"""examples/graph_contract.py: a clear sentence without a card, everything as expected with one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from examples import failing_steps, graph_contract
from tests.conftest import ROOT

SCRIPT = ROOT / "examples" / "graph_contract.py"


class PythonAgain:
    """No graph: a replay runs the Python code again. What a graph is not."""

    def __init__(self, step, output) -> None:
        self.step, self.output = step, output

    def replay(self) -> None:
        self.output.copy_(self.step())


def rerun(step, pool=None, warm_ups: int = 2):
    for _ in range(warm_ups):
        step()
    output = step()
    return PythonAgain(step, output), output


@pytest.fixture
def on_cpu(monkeypatch):
    monkeypatch.setattr(graph_contract, "DEVICE", "cpu")
    monkeypatch.setattr(graph_contract, "capture", rerun)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)


def test_without_a_card_it_says_so_in_one_sentence():
    """Exit 2, one line on stderr, no traceback."""
    out = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert (out.returncode, out.stdout) == (2, "")
    assert out.stderr.count("\n") == 1 and "No CUDA card" in out.stderr


@pytest.mark.parametrize(
    "lesson", ["static_input", "rebound_variable", "kv_cache", "shape_buckets"]
)
def test_lessons_agree_with_eager_by_hand(on_cpu, lesson):
    """What does not depend on frozen Python is right with any replay: 10, 17, 1, the sums, 21."""
    report = graph_contract.Report(quiet=True)
    getattr(graph_contract, lesson)(report)
    assert report.lines and report.exit_code == 0, report.differences


@pytest.mark.parametrize("lesson", ["what_a_graph_keeps", "python_side_effects", "piecewise"])
def test_a_replay_that_runs_python_is_caught(on_cpu, lesson):
    """A replay that follows Python values differs from a graph, and the exit code says so."""
    report = graph_contract.Report(quiet=True)
    getattr(graph_contract, lesson)(report)
    assert report.exit_code == 1 and report.differences


def test_every_difference_counts():
    """Tensors are compared element by element, anything else by value."""
    report = graph_contract.Report(quiet=True)
    report.same("equal", torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    assert report.exit_code == 0
    report.same("one element", torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
    report.same("number", 1, 2)
    assert (report.exit_code, len(report.differences)) == (1, 2)


def test_the_failing_steps_run_eagerly():
    """Those that need no stream compute something on the CPU: they are only uncapturable."""
    x = torch.tensor([1.0, 0.0, 2.0, 3.0])
    for name in (".item()", "nonzero()", ".cpu()", "a host tensor"):
        step, _ = failing_steps.HAZARDS[name]
        assert step(x).shape == x.shape


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card on this machine")
def test_on_a_card_everything_is_as_expected():
    """Every lesson agrees with eager, and every hazard shows."""
    out = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert out.returncode == 0, out.stdout + out.stderr
    assert "All as expected." in out.stdout
