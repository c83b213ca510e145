"""Graphs are on, but nothing got faster: each group by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cost.family import family_of
from core.cost.mean_step import mean_step_us
from core.not_faster import PARTS, EngineFacts, Group, Known, Replays, Verdict, why_not_faster
from core.not_faster.gather import gather
from core.padding import padding_report
from core.records import (
    CaptureMode,
    DeviceInfo,
    MeasureRow,
    MeasureSpec,
    Origin,
    Profile,
    StepCost,
    StepHistogram,
)
from core.step_cost import cost_from_profile

SIZES = (1, 2, 4, 8, 16, 32)


def device_us(size: int) -> float:
    """The card's time: 1,000 us and 100 a request."""
    return 1_000.0 + 100.0 * size


def profile(host_us: float = 5_000.0, copy_us: float = 24.0, **row) -> Profile:
    """Eager steps wait for 5,000 us of the host, replays for the card alone."""
    rows = tuple(
        MeasureRow(
            size,
            eager_us=max(host_us, device_us(size)),
            replay_us=device_us(size),
            eager_host_us=host_us,
            replay_host_us=row.get("launch_share", 0.0) * device_us(size) or 10.0,
            copy_us=copy_us,
            nodes={"kernel": 100},
            pieces=row.get("pieces", 1),
            pool_bytes=2**20,
            graph_bytes=2**20,
            samples=9,
        )
        for size in SIZES
    )
    capture = row.get("capture", CaptureMode.FULL)
    spec = MeasureSpec(SIZES, capture=capture)
    return Profile(DeviceInfo("cuda", "card", True), spec, rows, "2026-11-30")


def answer(steps: dict[int, int], sizes, chosen: Profile | None = None, **known):
    """Judged with a profile and nothing else, unless `known` adds to it."""
    chosen = chosen or profile()
    histogram = StepHistogram.from_mapping(steps)
    return why_not_faster(
        Known(
            steps=histogram,
            report=padding_report(histogram, sizes),
            family=family_of(chosen, known.pop("others", ())),
            cost=cost_from_profile(chosen),
            **known,
        )
    )


def test_where_the_time_goes_by_hand():
    """10 steps of 3, 5 of 6 and 5 of 20 on graphs of 4 and 8; a graph of its own size takes 1,300,
    1,600 and 3,000 us. Padding adds 100 and 200, copying 24 each; 20 runs eager, 5,000 us."""
    found = answer({3: 10, 6: 5, 20: 5}, (4, 8))
    split = found.split
    assert split is not None
    means = {name: split.mean(name) for name in PARTS}
    assert means == pytest.approx(
        {
            "kernels": (10 * 1_300 + 5 * 1_600 + 5 * 3_000) / 20,
            "padding": (10 * 100 + 5 * 200) / 20,
            "pieces": 0.0,
            "copy": 15 * 24 / 20,
            "outside": 0.0,
            "fallback": 5 * 2_000 / 20,
        }
    )
    assert split.mean_taken_us == pytest.approx(2_418)
    assert split.gain_us == pytest.approx(5_000 - 2_418)
    assert split.possible_us == pytest.approx(5_000 - 1_800)
    assert split.eager_share == pytest.approx(0.25)
    assert found.helps and found.sentence == (
        "Your graphs do help: they save 2.58 ms of 5.00 ms a step (51.6 %); of what is left most, "
        "500 µs, goes to steps that replay no graph."
    )
    assert found.groups[0].group is Group.REPLAY and found.groups[0].verdict is Verdict.PART
    assert [item.verdict for item in found.groups[1:]] == [Verdict.NOT] * 3
    assert [item.lost_us for item in found.groups[:2]] == pytest.approx([500, 100])


def test_steps_above_the_largest_graph():
    """Most steps of 20 run eager beside graphs up to 8: the first group, and which size it is."""
    found = answer({3: 1, 20: 99}, (4, 8))
    first = found.groups[0]
    assert not found.helps and (first.group, first.verdict) == (Group.REPLAY, Verdict.CAUSE)
    assert first.lost_us == pytest.approx(0.99 * 2_000)
    assert any("Eager: 20 requests, 99.0 % of the steps" in e.text for e in first.evidence)
    assert any("sizes up to 20" in words for words in first.todo)
    assert "1.98 ms a step goes to steps that replay no graph" in found.sentence


def test_padding_that_eats_the_gain():
    """Steps of 3 on a graph of 64 take 7,424 us instead of 5,000: graphs cost 2.42 ms."""
    found = answer({3: 10}, (64,))
    first = found.groups[0]
    assert (first.group, first.verdict) == (Group.KERNELS, Verdict.CAUSE)
    assert first.lost_us == pytest.approx(6_100)
    assert found.sentence.startswith("Graphs cost 2.42 ms against 5.00 ms of an eager step")
    assert any("Bucket 64 serves sizes 3 to 3" in e.text for e in first.evidence)
    slower = "All of the steps, sizes 3, take longer on their graph than eagerly, by 2.42 ms."
    assert slower in [e.text for e in first.evidence]


def test_sizes_that_their_graph_makes_slower():
    """Of 5 steps on a graph of 60 (7,000 us and 24 to copy) the one of 3 loses 2,024 against
    eager, that of 50, which takes 6,000 eagerly, 1,024; those of 60 gain nothing."""
    sizes = np.arange(1, 65)
    device = np.array([device_us(size) for size in range(1, 65)])
    cost = StepCost(
        sizes, device, np.maximum(5_000.0, device), np.zeros(64), Origin.ASSUMED, "", 24.0
    )
    steps = StepHistogram.from_mapping({3: 1, 50: 1, 60: 3})
    found = why_not_faster(Known(steps=steps, report=padding_report(steps, (60,)), cost=cost))
    item = found.of(Group.KERNELS)
    assert item.verdict is Verdict.CAUSE and item.lost_us == pytest.approx((5_700 + 1_000) / 5)
    says = "40.0 % of the steps, sizes 3, 50, take longer on their graph than eagerly, by 1.52 ms."
    assert says in [e.text for e in item.evidence]
    assert found.of(Group.BOUNDARY).verdict is Verdict.UNKNOWN  # an assumption tells no copies


def test_a_card_that_is_the_limit():
    """The host needs 500 us where the card needs 7,400: no graph can help, and it is said so."""
    found = answer({64: 10}, (64,), profile(host_us=500.0))
    first = found.groups[0]
    assert (first.group, first.verdict) == (Group.KERNELS, Verdict.CAUSE)
    assert found.sentence == (
        "The card is the limit, not the host: even a graph of every size would save nothing of "
        "7.40 ms a step."
    )
    assert any(
        e.text.startswith("Every step is GPU-bound: a step without a graph takes no longer")
        for e in first.evidence
    )
    host = found.of(Group.HOST)
    assert host.verdict is Verdict.NOT and "GPU-bound at every" in host.evidence[-1].text


def test_copies_that_eat_the_gain():
    """3,650 us to copy inputs in: the step of 3 takes 4,950 of 5,000 us."""
    found = answer({3: 10}, (3,), profile(copy_us=3_650.0))
    first = found.groups[0]
    assert (first.group, first.verdict) == (Group.BOUNDARY, Verdict.CAUSE)
    assert first.lost_us == pytest.approx(3_650)
    assert "3.65 ms a step goes to copies and pieces" in found.sentence


def test_replays_that_wait_for_their_launches():
    """A cut graph whose launches take as long as the card: the host is still in the way."""
    cut = profile(launch_share=1.0, pieces=33, capture=CaptureMode.PIECEWISE)
    found = answer({3: 10}, (4,), cut)
    assert found.groups[0].group is Group.HOST and found.groups[0].verdict is Verdict.CAUSE
    assert any("100.0 % of the replays still wait" in e.text for e in found.groups[0].evidence)
    boundary = found.of(Group.BOUNDARY)
    assert any("A step replays 33 graphs" in e.text for e in boundary.evidence)


def test_pieces_are_told_by_the_same_step_in_one_graph():
    """Cut into pieces every replay takes 400 us more: 400 of it is lost, the rest are kernels."""
    whole = profile()
    rows = tuple(replace(row, replay_us=(row.replay_us or 0) + 400) for row in whole.rows)
    spec = replace(whole.spec, capture=CaptureMode.PIECEWISE)
    found = answer({4: 1}, (4,), replace(whole, rows=rows, spec=spec), others=[whole])
    assert found.split is not None
    assert found.split.mean("pieces") == pytest.approx(400)
    assert found.split.mean("kernels") == pytest.approx(1_400)
    assert found.of(Group.BOUNDARY).verdict is Verdict.PART


def test_what_the_engine_does_outside_of_the_graph():
    """Its steps take 90 ms where the replay takes 1.4: graphs save 3.6 ms that nobody feels."""
    engine = EngineFacts("vLLM", captured=(4, 8), step_us={4: 91_424.0, 8: 91_824.0})
    found = answer({4: 1}, (4, 8), engine=engine)
    assert found.split is not None and found.split.mean("outside") == pytest.approx(90_000)
    first = found.groups[0]
    assert (first.group, first.verdict) == (Group.HOST, Verdict.CAUSE)
    assert not found.helps and "90.00 ms a step goes outside of the graph" in found.sentence
    shorter = EngineFacts("vLLM", captured=(4, 8), step_us={4: 700.0, 8: 800.0})
    other = answer({4: 1}, (4, 8), engine=shorter)
    assert other.split is not None and other.split.mean("outside") == 0
    assert any("outside of the graph is not known" in note for note in other.notes)


def test_an_engines_own_count_goes_before_the_sizes():
    """All sizes are captured, yet half of the steps ran eager: half of 3,600 us is lost."""
    engine = EngineFacts("vLLM", captured=(4,), replays=Replays(0.5, "its own table", 100))
    found = answer({4: 10}, (4,), engine=engine)
    assert found.split is not None and found.split.eager_share == pytest.approx(0.5)
    first = found.groups[0]
    assert first.group is Group.REPLAY and first.lost_us == pytest.approx(0.5 * (5_000 - 1_400))
    assert any("sizes are captured, yet steps ran eager" in words for words in first.todo)


def test_graphs_that_are_off():
    """Nothing else matters then; what graphs would save is still told."""
    engine = EngineFacts("vLLM", off="enforce_eager=True", captured=(), fix="Leave it out.")
    parts = gather([], steps=StepHistogram.from_mapping({4: 1}))
    found = why_not_faster(replace(parts, engine=engine))
    assert found.sentence.startswith("No step replays a graph (enforce_eager=True)")
    assert (found.groups[0].verdict, found.groups[0].todo) == (Verdict.CAUSE, ("Leave it out.",))


def test_a_cost_without_eager_times_tells_no_gain():
    """A model fitted to a run on graphs alone takes its graph steps for eager ones: then it cannot
    be told what graphs save, rather than that they save nothing."""
    sizes = np.array([1, 64])
    device = np.array([1_100.0, 7_400.0])
    steps = StepHistogram.from_mapping({3: 1})
    for copy_us in (0.0, 24.0):
        cost = StepCost(
            sizes, device, device + copy_us, np.zeros(2), Origin.FITTED, "a run", copy_us
        )
        found = why_not_faster(Known(steps=steps, report=padding_report(steps, (4,)), cost=cost))
        assert found.helps is None and found.split is None
        assert "cannot be told without eager step times" in found.sentence
        assert any("no eager times" in note for note in found.notes)


def test_nothing_known_asks_for_everything():
    """No verdict without data: each group says what to upload."""
    found = why_not_faster(Known())
    assert found.helps is None and found.sentence.startswith("It cannot be told yet")
    for item in found.groups:
        assert (item.verdict, item.lost_us, item.todo) == (Verdict.UNKNOWN, None, ())
        assert item.missing


def test_memory_that_the_kv_cache_misses():
    """3 of 23 GiB are felt; 0.6 of 103 are not, unless requests are preempted for a fiftieth."""
    for graph, kv, preempted, verdict in (
        (3.0, 20.0, 0, Verdict.PART),
        (0.6, 102.6, 0, Verdict.NOT),
        (0.6, 20.0, 5, Verdict.PART),
    ):
        engine = EngineFacts("vLLM", graph_gib=graph, kv_gib=kv, preemptions=preempted)
        item = why_not_faster(Known(engine=engine)).of(Group.BOUNDARY)
        assert item.verdict is verdict


@given(
    st.dictionaries(st.integers(1, 200), st.integers(1, 50), min_size=1, max_size=12),
    st.lists(st.integers(1, 256), min_size=1, max_size=6),
)
def test_the_parts_add_up_to_the_step(steps, sizes):
    """Whatever the traffic and the graphs, the parts are 0 or more, their sum is the mean step that
    every other page computes, and graphs never save more than is possible."""
    found = answer(steps, sizes)
    histogram = StepHistogram.from_mapping(steps)
    expected = mean_step_us(
        histogram, padding_report(histogram, sizes), cost_from_profile(profile())
    )
    split = found.split
    assert split is not None and split.mean_taken_us == pytest.approx(expected)
    assert all((getattr(split, f"{name}_us") >= 0).all() for name in PARTS)
    assert split.gain_us <= split.possible_us + 1e-6
    lost = sum(item.lost_us or 0.0 for item in found.groups)
    assert split.possible_us - split.gain_us == pytest.approx(lost, abs=1e-6)
    assert sum(item.verdict is Verdict.CAUSE for item in found.groups) <= 2
