"""Group two: the host. Was it what eager steps waited for, and is it still in the way?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from core.cost.row_bound import REPLAY_IS_DEVICE, Bound, crossover, row_bound
from core.not_faster.answer import Evidence, Group, GroupFacts, Verdict
from core.not_faster.known import EngineFacts, Known
from core.not_faster.time_split import TimeSplit
from core.not_faster.words import share_text, those_are, us_text
from core.records import FloatArray, MeasureRow, Origin, StepHistogram
from core.speed import flatness

WAITS = 0.5
"""So many replays that wait for their launches are the answer."""
SOME = 0.05
"""So many are part of it."""
OUTSIDE = (
    "Shorten what runs between two replays: asynchronous scheduling, sampling on the card, fewer "
    "hooks in Python; a profiler's trace names it."
)
CUT_LESS = (
    "Capture the step in full rather than in pieces, and keep other work off the cores that launch."
)


def judge_host(known: Known, split: TimeSplit | None) -> GroupFacts:
    """From host times of a profile, the engine's own steps, and how flat they are over batch."""
    evidence, todo = list(_from_engine(known.without, known.engine)), []
    rows = _rows(known)
    waits = _share_that_waits(rows, known.steps) if rows else 0.0
    if rows:
        evidence += _from_rows(rows, known)
    elif split is not None and not evidence:
        evidence.append(_beyond_kernels(split))
    if waits > 0:
        text = f"{share_text(waits)} of the replays still wait for their launches."
        evidence.append(Evidence(text, Origin.MEASURED))
        todo.append(CUT_LESS)
    lost = None
    if split is not None and (split.outside_us > 0).any():
        lost = split.mean("outside")
        evidence.append(_outside(lost, split))
        todo.append(OUTSIDE)
    measured = any(e is not None and e.off and e.step_us for e in (known.without, known.engine))
    known_at_all = bool(rows) or lost is not None or measured
    return GroupFacts(
        Group.HOST,
        known=known_at_all,
        evidence=tuple(evidence),
        todo=tuple(todo),
        missing=_missing(bool(rows), lost is not None),
        lost_us=lost if lost is not None or not rows or waits > 0 else 0.0,
        decisive=Verdict.CAUSE if waits >= WAITS else None,
        matters=waits >= SOME,
    )


def _missing(has_rows: bool, has_outside: bool) -> tuple[str, ...]:
    if not has_rows:
        return ("host times: a measured profile of this model and card (Measure page)",)
    if not has_outside:
        return ("the engine's own step times, to see what runs outside of the graph",)
    return ()


def _rows(known: Known) -> list[MeasureRow]:
    if known.family is None:
        return []
    rows = [row for row in known.family.profile.rows if row_bound(row) is not None]
    return sorted(rows, key=lambda row: row.size)


def _weights(rows: Sequence[MeasureRow], steps: StepHistogram | None) -> FloatArray:
    """How many steps each measured row stands for: those that its size is the first to hold."""
    if steps is None or steps.total_steps == 0:
        return np.full(len(rows), 1.0 / len(rows))
    sizes = np.array([row.size for row in rows], np.int64)
    place = np.minimum(np.searchsorted(sizes, steps.sizes), len(rows) - 1)
    counts = np.bincount(place, weights=steps.steps.astype(float), minlength=len(rows))
    return counts / counts.sum()


def _from_rows(rows: Sequence[MeasureRow], known: Known) -> Iterator[Evidence]:
    weights = _weights(rows, known.steps)
    bounds = [bound for row in rows if (bound := row_bound(row)) is not None]
    launch = float(weights @ [bound.bound is Bound.LAUNCH for bound in bounds])
    whose = "measured size" if known.steps is None else "step"
    yield Evidence(
        f"Run eagerly, {those_are(launch, whose)} launch-bound: submitting takes "
        f"{us_text(_mean(weights, [bound.host_us for bound in bounds]))}, the kernels "
        f"{us_text(_mean(weights, [bound.device_us for bound in bounds]))}.",
        Origin.MEASURED,
    )
    launched = [row.replay_host_us for row in rows]
    if None not in launched:
        yield Evidence(
            f"A replay is launched in {us_text(_mean(weights, launched))}.", Origin.MEASURED
        )
    kernels = [row.nodes.get("kernel", 0) if row.nodes else None for row in rows]
    if None not in kernels:
        count = _mean(weights, kernels)
        each = _mean(weights, [bound.host_us for bound in bounds]) / max(count, 1.0)
        yield Evidence(
            f"{count:.0f} kernels a step, {us_text(each)} of the host for each when run eagerly.",
            Origin.MEASURED,
        )
    turn = crossover(rows)
    if turn is not None and known.family is not None:
        yield Evidence(turn.sentence(known.family.profile.spec.unit), Origin.MEASURED)


def _beyond_kernels(split: TimeSplit) -> Evidence:
    """What step times alone show, where nobody measured what the host needs."""
    beyond = max(split.mean("eager") - split.mean("kernels") - split.mean("outside"), 0.0)
    return Evidence(
        f"A step without a graph takes {us_text(beyond)} beyond its kernels; that it waits for the "
        "host meanwhile is likely, and only measured host times show it.",
        split.origin,
    )


def _mean(weights: FloatArray, values: Sequence[float | int | None]) -> float:
    return float(weights @ np.array(values, np.float64))


def _share_that_waits(rows: Sequence[MeasureRow], steps: StepHistogram | None) -> float:
    """Replays that end with their last launch: the card was done before."""
    waiting = [
        (row.replay_host_us or 0.0) >= REPLAY_IS_DEVICE * (row.replay_us or np.inf) for row in rows
    ]
    return float(_weights(rows, steps) @ np.array(waiting, np.float64))


def _outside(lost_us: float, split: TimeSplit) -> Evidence:
    return Evidence(
        f"The engine's step takes {us_text(lost_us)} longer than the profile's replay of it, "
        f"{share_text(lost_us / split.mean_taken_us)} of the step: scheduling, sampling, and "
        "kernels that differ.",
        Origin.ESTIMATED,
    )


def _from_engine(without: EngineFacts | None, engine: EngineFacts | None) -> Iterator[Evidence]:
    for facts in (without, engine):
        if facts is None or not facts.step_us or len(facts.step_us) < 2:
            continue
        found = flatness(facts.step_us)
        small, large = min(facts.step_us), max(facts.step_us)
        how, meaning = "With graphs", f"{found.latency_ratio:.2f} times as long"
        if facts.off is not None:
            how = "Without graphs"
            meaning = "flat: the host sets the pace" if found.host_bound else meaning
        yield Evidence(
            f"{how} the engine's own step takes {us_text(facts.step_us[small])} at {small} and "
            f"{us_text(facts.step_us[large])} at {large} requests, {meaning}.",
            Origin.MEASURED,
        )
