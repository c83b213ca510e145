"""Launch-bound or GPU-bound, row by row, and where it turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cost.row_bound import Bound, crossover, row_bound, saved_us
from core.profiles import comparison_profiles, shipped_profiles
from core.records import MeasureRow, SizeUnit
from tests.core.cases import case


def row(size: int, host: float, device: float, launch: float = 10.0, copy: float = 0.0):
    """An eager step of max(host, device), a replay of max(launch, device) [us]."""
    return MeasureRow(
        size,
        eager_us=max(host, device),
        replay_us=max(launch, device),
        eager_host_us=host,
        replay_host_us=launch,
        copy_us=copy,
    )


def test_a_row_by_hand():
    """The case of 4.4 ms on the host, 2.7 on the card, 0.05 to launch the graph."""
    given_, expect = case("D-SPEED-01")
    host, device, launch = (1e3 * given_[k] for k in ("cpu_ms", "gpu_ms", "graph_launch_ms"))
    found = row_bound(row(1, host, device, launch, copy=100.0))
    assert found is not None and expect["bound"] == "cpu"
    assert (found.bound, found.host_us, found.device_us) == (Bound.LAUNCH, host, device)
    assert found.saved_us == pytest.approx(4400 - 2700 - 100)
    assert row_bound(row(1, 1000, 2000)).bound is Bound.GPU  # type: ignore[union-attr]
    assert row_bound(row(1, 1000, 1040)).bound is Bound.EVEN  # type: ignore[union-attr]


def test_a_replay_that_waits_for_its_launches_shows_no_device_time():
    """33 launches take 900 us of a 950 us replay: the card may be faster, so the eager step tells:
    it ended 50 us after its last submission, the host's own time."""
    slow = MeasureRow(1, 9_050.0, replay_us=950.0, eager_host_us=9_000.0, replay_host_us=900.0)
    found = row_bound(slow)
    assert found is not None and found.bound is Bound.LAUNCH
    busy = MeasureRow(1, 20_000.0, replay_us=19_000.0, eager_host_us=9_000.0, replay_host_us=18e3)
    found = row_bound(busy)
    assert found is not None and (found.bound, found.device_us) == (Bound.GPU, 20_000.0)


def test_rows_that_cannot_tell():
    """A failed row, and a CPU's row, have no bound; without any row there is no crossing."""
    assert row_bound(MeasureRow(4, error="gone")) is None
    assert row_bound(MeasureRow(4, eager_us=100.0)) is None
    assert row_bound(MeasureRow(4, eager_us=100.0, eager_host_us=99.0)) is None
    assert saved_us(MeasureRow(4, eager_us=100.0)) is None
    assert crossover([MeasureRow(4, error="gone")]) is None


def test_the_crossing_by_hand():
    """Host 1000 us always; card 200, 600, 1400: the lines meet half-way between 8 and 16."""
    rows = [row(16, 1000, 1400), row(1, 1000, 200), row(8, 1000, 600)]
    found = crossover(rows)
    assert found is not None
    assert (found.launch_to, found.gpu_from, found.at) == (8, 16, 12.0)
    words = found.sentence(SizeUnit.TOKENS)
    assert "launch-bound up to 8 tokens and GPU-bound from 16" in words
    assert "equally long at about 12 tokens" in words


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([row(1, 100, 900), row(2, 100, 950)], "GPU-bound at every measured size (1 to 2"),
        ([row(1, 900, 100), row(2, 900, 150)], "Launch-bound at the largest measured size (1 to 2"),
        ([row(1, 100, 101), row(2, 100, 102)], "about equally long at every measured size"),
    ],
)
def test_no_crossing(rows, says):
    """All on one side of it is an answer too."""
    found = crossover(rows)
    assert found is not None and found.at is None and says in found.sentence()


def test_shipped_profiles_turn_where_the_measurements_say():
    """8B: about 135 requests at 512 tokens of context, 61 at 2,048, where the card reads four
    times the KV cache; 0.5B at 512 tokens never, up to 512 requests; prefill chunks: 256 tokens
    still pay, 512 no longer."""
    shipped = shipped_profiles()
    found = {name: crossover(profile.rows) for name, profile in shipped.items()}
    assert found["h200-llama-8b"].at == pytest.approx(135, abs=1)  # type: ignore[union-attr]
    assert found["h200-llama-8b-2k"].at == pytest.approx(61, abs=1)  # type: ignore[union-attr]
    assert found["h200-qwen-0.5b"].gpu_from is None  # type: ignore[union-attr]
    prefill = crossover(comparison_profiles()["h200-llama-8b-prefill"].rows)
    assert prefill is not None and (prefill.launch_to, prefill.gpu_from) == (256, 512)


@given(
    st.lists(
        st.tuples(st.integers(1, 4096), st.floats(1, 1e6), st.floats(11, 1e6)),
        min_size=1,
        max_size=20,
        unique_by=lambda item: item[0],
    )
)
def test_the_answer_holds_for_every_row(items):
    """No row above gpu_from is launch-bound, none above launch_to is either, and the words come."""
    rows = [row(size, host, device) for size, host, device in items]
    found = crossover(rows)
    assert found is not None and found.sentence()
    for item in map(row_bound, rows):
        assert item is not None
        if found.gpu_from is not None and item.size >= found.gpu_from:
            assert item.bound is Bound.GPU
        if item.bound is Bound.LAUNCH:
            assert found.launch_to is not None and item.size <= found.launch_to
    if found.at is not None:
        assert found.first <= found.at <= found.last
