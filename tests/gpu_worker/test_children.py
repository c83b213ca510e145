"""Which workers a host has, by its options, and who they are."""

from __future__ import annotations

import os

import pytest

from core.errors import JobError, SettingError
from core.store.kinds import MEASURE, SWEEP
from gpu_worker import __main__ as command
from gpu_worker.child import measuring_child
from gpu_worker.device import Card
from gpu_worker.engine import start_engine

CARDS = [Card("nvidia-l4", "NVIDIA L4", 0), Card("nvidia-h200", "NVIDIA H200", 1)]


def ids(devices: str, simulate: bool = True) -> list[tuple[str, str, str]]:
    children = command.children_of(devices, "node7", simulate)
    return [(child.executor_id, child.queue, child.protocol) for child in children]


def test_a_worker_a_card_and_one_that_simulates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are the host's name and the card's number, the same at every start."""
    monkeypatch.setattr(command, "list_cards", lambda: CARDS)
    sim = ("node7-sim", "simulate", SWEEP.protocol)
    first = ("node7-gpu0", "measure.nvidia-l4", MEASURE.protocol)
    second = ("node7-gpu1", "measure.nvidia-h200", MEASURE.protocol)
    assert ids("all") == [first, second, sim]
    assert ids("1") == [second, sim] and ids("1, 1,0") == [second, first, sim]
    assert ids("all", simulate=False) == [first, second]
    assert ids("none") == [sim]
    assert ids("cpu") == [("node7-cpu", "measure.cpu", MEASURE.protocol), sim]


def test_a_host_without_a_card_measures_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """All visible cards are none: so the CPU."""
    monkeypatch.setattr(command, "list_cards", list)
    assert [name for name, _, _ in ids("all")] == ["node7-cpu", "node7-sim"]


def test_options_that_leave_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card that is not there, and a host with nothing to do."""
    monkeypatch.setattr(command, "list_cards", lambda: CARDS)
    with pytest.raises(SettingError, match="card '2' is not visible; there: 0, 1"):
        ids("2")
    with pytest.raises(SettingError, match="leaves nothing to run"):
        ids("none", simulate=False)


def test_only_its_own_card_is_visible_to_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Card 1 of the visible ones, by whatever name they are visible; no card on the CPU and for
    simulating."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aaa,GPU-bbb")
    assert measuring_child("h", CARDS[1]).environment["CUDA_VISIBLE_DEVICES"] == "GPU-bbb"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert measuring_child("h", CARDS[1]).environment["CUDA_VISIBLE_DEVICES"] == "1"
    for child in command.children_of("cpu", "h", True):
        assert child.environment["CUDA_VISIBLE_DEVICES"] == ""
        assert child.environment["PATH"] == os.environ["PATH"]


def test_a_protocol_that_is_not_spoken_starts_nothing() -> None:
    """A newer worker's jobs cannot be given back by an older version; it says so."""
    with pytest.raises(JobError, match="Protocol sweep-99 is not spoken here, only measure-1"):
        start_engine("sqlite:////nowhere.db", "node7-sim", "sweep-99")
