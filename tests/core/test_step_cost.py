"""Step cost: evaluation by hand, the assumption, and what a profile becomes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from core.errors import CostUnitError, SettingError
from core.records import (
    DeviceInfo,
    MeasureRow,
    MeasureSpec,
    Origin,
    Profile,
    SizeUnit,
    StepCost,
)
from core.step_cost import (
    assumed_step_cost,
    capture_ms_at,
    check_units,
    cost_from_profile,
    eager_us_at,
    graph_step_us_at,
    line_at,
    memory_from_profile,
    replay_us_at,
)

LADDER = (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128)


def profile_of(rows, *, graphs: bool = True) -> Profile:
    device = DeviceInfo("cuda" if graphs else "cpu", "Test card", graphs)
    return Profile(device, MeasureSpec(LADDER), tuple(rows), "2026-01-02T03:04:05")


def measured(size: int, **changes) -> MeasureRow:
    """A row on the line 5000 + 40 x size us replayed, twice that eager."""
    replay = 5000.0 + 40.0 * size
    row = MeasureRow(
        size,
        eager_us=2 * replay,
        replay_us=replay,
        copy_us=7.0,
        capture_ms=30.0,
        instantiate_ms=2.0,
        pool_bytes=1000 * size,
        graph_bytes=50,
        samples=50,
    )
    return dataclasses.replace(row, **changes)


def test_straight_lines_between_points():
    """Between points on the line, flat below, the last slope above, never falling."""
    cost = StepCost(
        np.array([2, 4, 8]),
        np.array([10.0, 20.0, 28.0]),
        np.array([30.0, 30.0, 20.0]),
        np.array([1.0, 1.0, 1.0]),
        Origin.ASSUMED,
        "by hand",
        copy_us=3.0,
    )
    # 3 lies half way between 10 and 20; above 8 the slope is 8 / 4 = 2 a row
    assert replay_us_at(cost, [1, 2, 3, 6, 10]).tolist() == [10, 10, 15, 24, 32]
    assert graph_step_us_at(cost, [3]).tolist() == [18]
    assert eager_us_at(cost, [6, 12]).tolist() == [25, 20]  # a falling end is not carried on
    assert capture_ms_at(cost, [100]).tolist() == [1]
    with pytest.raises(SettingError, match="no point"):
        line_at(np.array([], np.int64), np.array([]), [1])


def test_the_assumption_is_what_it_says():
    """Defaults: 5.84 ms replayed and 12.9 ms eager at batch 1; no size is faster eager."""
    cost = assumed_step_cost()
    assert cost.origin is Origin.ASSUMED and cost.source.startswith("assumed")
    assert replay_us_at(cost, [1])[0] == 5800 + 44
    assert eager_us_at(cost, [1])[0] == 12_900 + 9.5
    sizes = np.arange(1, 600)
    device, host = 5800 + 44.0 * sizes, 12_900 + 9.5 * sizes
    np.testing.assert_allclose(replay_us_at(cost, sizes), device)
    np.testing.assert_allclose(eager_us_at(cost, sizes), np.maximum(device, host))
    slow = assumed_step_cost(launch_us=0, launch_us_per_row=0, copy_us=5)
    assert (graph_step_us_at(slow, sizes) > eager_us_at(slow, sizes)).all()
    with pytest.raises(SettingError):
        assumed_step_cost(step_us=-1)


def test_a_profile_on_a_line_is_fitted_by_it():
    """Points on a straight line give that line back, everywhere; copying and capture come along."""
    cost = cost_from_profile(profile_of(measured(size) for size in LADDER))
    sizes = np.arange(1, 200)
    np.testing.assert_allclose(replay_us_at(cost, sizes), 5000 + 40.0 * sizes, rtol=1e-9)
    np.testing.assert_allclose(eager_us_at(cost, sizes), 10_000 + 80.0 * sizes, rtol=1e-9)
    assert cost.copy_us == 7
    assert capture_ms_at(cost, [1, 64]).tolist() == [30, 30]  # instantiation is part of it
    assert cost.origin is Origin.FITTED
    assert (
        "Test card" in cost.source
        and "curves over 15 sizes: graph replay a straight line" in cost.source
    )


def test_failed_rows_are_left_out_and_named():
    """A row with an error, or without a replay, does not enter the fit and is named."""
    rows = [measured(size) for size in LADDER[:-2]]
    rows += [measured(112, replay_us=None), measured(128, error="OutOfMemoryError: 2 GiB")]
    cost = cost_from_profile(profile_of(rows))
    assert "without 2 rows that failed or were not replayed (112, 128)" in cost.source
    assert cost.sizes[-1] == 96


def test_a_cpu_profile_has_no_graph_step():
    """Eager CPU times price no graph: a sentence, not a guess."""
    rows = [MeasureRow(size, eager_us=100.0) for size in LADDER]
    with pytest.raises(SettingError, match="graphs: unavailable"):
        cost_from_profile(profile_of(rows, graphs=False))
    with pytest.raises(SettingError, match="no graph memory"):
        memory_from_profile(profile_of(rows, graphs=False))
    failed = [MeasureRow(size, error="RuntimeError: no") for size in LADDER]
    with pytest.raises(SettingError, match="15 rows, all failed"):
        cost_from_profile(profile_of(failed))


def test_what_was_not_measured_is_said():
    """No capture time and no copy: taken as 0, in words."""
    rows = [measured(s, capture_ms=None, instantiate_ms=None, copy_us=None) for s in LADDER]
    cost = cost_from_profile(profile_of(rows))
    assert cost.copy_us == 0 and not cost.capture_ms.any()
    assert "capture time not measured" in cost.source
    assert "copying in not measured" in cost.source


def test_graph_memory_of_a_profile():
    """Pool and graph bytes as measured; a pool that shrinks with size is raised to its past."""
    rows = [measured(size) for size in (1, 2, 4)] + [measured(8, pool_bytes=3000)]
    memory = memory_from_profile(profile_of(rows))
    assert memory.pool_bytes.tolist() == [1000, 2000, 4000, 4000]
    assert memory.graph_bytes.tolist() == [50] * 4
    assert memory.origin is Origin.MEASURED


def test_prompt_lengths_are_not_rows_of_a_batch():
    """A cost of decode rows does not price prefill lengths; requests and tokens are both rows."""
    cost = assumed_step_cost()
    check_units(cost, SizeUnit.TOKENS)
    with pytest.raises(CostUnitError):
        check_units(cost, SizeUnit.LENGTH)
    # A prompt of so many tokens is a step of so many, but no batch of requests.
    prompts = dataclasses.replace(cost, unit=SizeUnit.LENGTH)
    check_units(prompts, SizeUnit.LENGTH)
    check_units(prompts, SizeUnit.TOKENS)
    with pytest.raises(CostUnitError):
        check_units(prompts, SizeUnit.REQUESTS)
