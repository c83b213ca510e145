"""Step times to judge by: an engine's own runs with and without graphs, or a measured profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.cost.family import ProfileFamily
from core.cost.points import eager_us_at, graph_step_us_at, line_at
from core.not_faster.known import EngineFacts, Known
from core.padding import EAGER, bucket_of
from core.records import (
    CaptureMode,
    FloatArray,
    IntArray,
    MeasureRow,
    Origin,
    Profile,
    SizeUnit,
    StepCost,
)

NEEDED = 2
"""Sizes with a time that make a curve."""


@dataclass(frozen=True)
class Points:
    """A figure at measured sizes, straight between them and level outside.

    sizes : (m,) ascending; us : (m,) [us]
    """

    sizes: IntArray
    us: FloatArray

    def at(self, sizes: Sequence[int] | IntArray) -> FloatArray:
        """(n,) [us]."""
        return np.interp(np.asarray(sizes, np.float64), self.sizes, self.us)


@dataclass(frozen=True)
class Times:
    """Curves to split a step's time by.

    cost : eager and replayed step, inputs copied in; of the card alone where `outside` is known
    copies : whether the cost tells copying in apart
    pieces : what cutting the graph into pieces adds to a replay, against one whole graph
    outside : what the engine's step takes beyond the replay
    spread : half the distance between the quartiles, of eager or replay, the larger
    """

    cost: StepCost
    copies: bool = True
    pieces: Points | None = None
    outside: Points | None = None
    spread: Points | None = None

    def part(self, name: str, sizes: IntArray) -> FloatArray:
        """One of pieces, outside and spread at the sizes; 0 where it is not known: (n,) [us]."""
        points: Points | None = getattr(self, name)
        return np.zeros(len(sizes)) if points is None else points.at(sizes)


def knows_eager(cost: StepCost) -> bool:
    """Whether a cost tells eager steps from replays: a model that was fitted to a run on graphs
    alone takes one for the other, and then nothing can be said of what graphs save."""
    graph = cost.replay_us + cost.copy_us
    return not (np.allclose(cost.eager_us, graph) or np.allclose(cost.eager_us, cost.replay_us))


def times_of(known: Known) -> Times | None:
    """The best there are; None without any. An engine's own two runs go before a profile."""
    own = _own_runs(known.engine, known.without)
    if own is not None:
        return _without_outside(own, known)
    if known.cost is None or (known.family is None and not knows_eager(known.cost)):
        return None
    outside = outside_points(known.engine, known.cost)
    if known.family is None:
        return Times(known.cost, copies=False, outside=outside)
    rows = known.family.profile.rows
    copies = any(row.copy_us is not None for row in rows)
    return Times(known.cost, copies, _pieces(known.family), outside, _spread(rows))


def _without_outside(own: StepCost, known: Known) -> Times:
    """An engine's own steps, less what a profile's replay does not explain of them."""
    outside = None if known.cost is None else outside_points(known.engine, known.cost)
    if outside is None:
        return Times(own, copies=False)
    left = outside.at(own.sizes)
    cost = replace(
        own,
        replay_us=own.replay_us - left,
        eager_us=own.eager_us - left,
        origin=Origin.ESTIMATED,
        source=f"{own.source}, less what a profile's replay does not explain of them",
    )
    return Times(cost, copies=False, outside=Points(own.sizes, left))


def _own_runs(engine: EngineFacts | None, without: EngineFacts | None) -> StepCost | None:
    """Measured in the engine itself, at the sizes it captured, so that no padding is in it."""
    if engine is None or without is None or not engine.step_us or not without.step_us:
        return None
    captured = engine.captured or tuple(engine.step_us)
    exact = {size: us for size, us in engine.step_us.items() if size in captured}
    if len(exact) < NEEDED or len(without.step_us) < NEEDED:
        return None
    replay, eager = _points(exact), _points(without.step_us)
    return StepCost(
        replay.sizes,
        replay.us,
        line_at(eager.sizes, eager.us, replay.sizes),
        np.zeros(len(replay.sizes)),
        Origin.MEASURED,
        f"decode steps of {engine.label} itself, with and without graphs",
    )


def outside_points(engine: EngineFacts | None, cost: StepCost) -> Points | None:
    """The engine's step less the replay that the cost says it ran, where that leaves something.

    None where the engine's steps are mostly shorter: then the cost is of another model or card.
    """
    if engine is None or not engine.step_us or engine.off is not None:
        return None
    wall = _points(engine.step_us)
    if len(wall.sizes) < NEEDED:
        return None
    graph = graph_step_us_at(cost, wall.sizes)
    if engine.captured:
        bucket = bucket_of(wall.sizes, engine.captured)
        held = bucket != EAGER
        graph[held] = graph_step_us_at(cost, bucket[held])
        graph[~held] = eager_us_at(cost, wall.sizes[~held])
    left = wall.us - graph - cost.row_us * wall.sizes
    return Points(wall.sizes, np.maximum(left, 0.0)) if np.median(left) > 0 else None


def _pieces(family: ProfileFamily) -> Points | None:
    """From the same step captured in full; None where it is not cut, or that is not known."""
    profile, twin = family.profile, family.twin
    if profile.spec.capture is not CaptureMode.PIECEWISE or twin is None:
        return None
    cut, whole = _replays(profile), _replays(twin)
    extra = {size: max(0.0, cut[size] - whole[size]) for size in cut.keys() & whole.keys()}
    return _points(extra) if extra else None


def _replays(profile: Profile) -> dict[int, float]:
    return {
        row.size: row.replay_us
        for row in profile.rows
        if row.error is None and row.replay_us is not None
    }


def _spread(rows: Sequence[MeasureRow]) -> Points | None:
    found = {row.size: _half_quartiles(row) for row in rows if row.error is None}
    known = {size: us for size, us in found.items() if us is not None}
    return _points(known) if known else None


def _half_quartiles(row: MeasureRow) -> float | None:
    pairs = ((row.eager_q1_us, row.eager_q3_us), (row.replay_q1_us, row.replay_q3_us))
    halves = [(high - low) / 2 for low, high in pairs if low is not None and high is not None]
    return max(halves) if halves else None


def _points(values: Mapping[int, float]) -> Points:
    sizes = np.array(sorted(values), np.int64)
    return Points(sizes, np.array([values[int(size)] for size in sizes]))


def fits(profile: Profile, unit: SizeUnit) -> bool:
    """Whether a profile's sizes are what the steps count: prefill chunks are no decode steps."""
    return profile.spec.unit is SizeUnit.REQUESTS or unit is SizeUnit.TOKENS
