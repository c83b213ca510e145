"""Group three: the kernels. What padding adds, and whether there is anything to save at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.cost.row_bound import NEAR
from core.not_faster.answer import Evidence, Group, GroupFacts, Verdict
from core.not_faster.known import Known
from core.not_faster.time_split import TimeSplit
from core.not_faster.words import capitalised, share_text, sizes_text, some, those_are, us_text
from core.padding import PaddingReport
from core.records import Origin

MATTERS = 0.05
"""A gain or a loss below this share of a step is not felt."""
LIMIT = (
    "Graphs cannot help these steps. Look at the kernels instead: a smaller type, fused kernels, "
    "tensor parallel, a shorter context; and keep graphs for the small batches only."
)
FIT = "Add sizes where the steps are: the Buckets page finds the list with the least step time."


def judge_kernels(known: Known, split: TimeSplit | None) -> GroupFacts:
    """From the replay at the true size against the bucket's, and the eager step against both."""
    report = known.report
    evidence, todo = [], []
    if report is not None and report.graph_steps:
        evidence.append(_slots(report, known))
    if split is None:
        return GroupFacts(
            Group.KERNELS,
            known=report is not None and report.padded_total == 0 and report.graph_steps > 0,
            evidence=tuple(evidence),
            missing=("step times: a measured profile of this model and card",),
        )
    lost = split.mean("padding")
    evidence += _times(split, lost)
    worst = _worst(report, split)
    if worst is not None:
        evidence.append(worst)
    slower, share = _slower(split)
    evidence += slower
    if lost >= MATTERS * split.mean_taken_us or share >= MATTERS:
        todo.append(FIT)
    limited = nothing_to_save(split)
    evidence += _limit(known, split)
    if limited:
        todo.insert(0, LIMIT)
    return GroupFacts(
        Group.KERNELS,
        known=True,
        evidence=tuple(evidence),
        todo=tuple(todo),
        lost_us=lost,
        decisive=Verdict.CAUSE if limited else None,
        matters=share >= MATTERS,
    )


def nothing_to_save(split: TimeSplit) -> bool:
    """Even a graph of every size would save less than is felt, or than measurements vary, of what
    the card and its launches take."""
    inside = split.mean("eager") - split.mean("outside")
    least = max(MATTERS * inside, split.mean("spread"))
    return split.possible_us <= least


def _slots(report: PaddingReport, known: Known) -> Evidence:
    origin = known.steps.origin if known.steps is not None else Origin.ESTIMATED
    return Evidence(f"{share_text(report.waste)} of the replayed slots are padding.", origin)


def _times(split: TimeSplit, lost: float) -> Iterator[Evidence]:
    text = f"At its true size a step's kernels take {us_text(split.mean('kernels'))}"
    if split.eager_share < 1.0:
        share = share_text(lost / split.mean_taken_us)
        text += f"; rounding up to the bucket adds {us_text(lost)}, {share} of the step"
    yield Evidence(f"{text}.", split.origin)


def _worst(report: PaddingReport | None, split: TimeSplit) -> Evidence | None:
    """The bucket whose padding costs most, where that is felt."""
    if report is None:
        return None
    costs = split.padding_us * split.steps
    buckets = report.bucket_by_size
    totals = {int(b): float(costs[buckets == b].sum()) for b in np.unique(buckets[buckets > 0])}
    if not totals or max(totals.values()) < MATTERS * float(split.taken_us @ split.steps):
        return None
    bucket = max(totals, key=lambda b: totals[b])
    served = split.sizes[buckets == bucket]
    share = totals[bucket] / sum(totals.values())
    return Evidence(
        f"Bucket {bucket} serves sizes {int(served[0])} to {int(served[-1])} and makes "
        f"{share_text(share)} of that.",
        split.origin,
    )


def _slower(split: TimeSplit) -> tuple[list[Evidence], float]:
    """Steps that their graph makes slower than they would be without, and their share."""
    worse_us = split.taken_us - split.eager_us
    slower = (split.on_graph > 0) & (worse_us > NEAR * split.eager_us)
    if not slower.any():
        return [], 0.0
    counts = split.steps[slower]
    share = float(counts.sum()) / float(split.steps.sum())
    mean = float(worse_us[slower] @ counts) / float(counts.sum())
    text = (
        f"{capitalised(some(share))}, sizes {sizes_text(split.sizes[slower])}, take longer "
        f"on their graph than eagerly, by {us_text(mean)}."
    )
    return [Evidence(text, split.origin)], share


def _limit(known: Known, split: TimeSplit) -> Iterator[Evidence]:
    device = split.eager_us - split.outside_us
    bound = device <= (1.0 + NEAR) * split.kernels_us
    share = float(split.steps[bound].sum()) / float(split.steps.sum())
    best, eager = us_text(max(split.possible_us, 0.0)), us_text(split.mean("eager"))
    meaning = (
        "a step without a graph takes no longer than its kernels"
        if share
        else "a step without a graph takes longer than its kernels"
    )
    yield Evidence(
        f"{capitalised(those_are(share))} GPU-bound: {meaning}. At best graphs save {best} of "
        f"{eager} a step.",
        split.origin,
    )
    bandwidth = _bandwidth(known, split)
    if bandwidth is not None:
        yield bandwidth


def _bandwidth(known: Known, split: TimeSplit) -> Evidence | None:
    """How near the kernels are to what the card can move."""
    profile = known.family.profile if known.family is not None else None
    if profile is None or not profile.device.copy_gbps:
        return None
    rows = sorted((r for r in profile.rows if r.achieved_gbps), key=lambda row: row.size)
    if not rows:
        return None
    sizes, reached = [row.size for row in rows], [row.achieved_gbps or 0.0 for row in rows]
    mean = float(np.interp(split.sizes, sizes, reached) @ split.steps / split.steps.sum())
    return Evidence(
        f"The kernels read {mean:,.0f} GB/s, {share_text(mean / profile.device.copy_gbps)} of what "
        "the card copies.",
        Origin.MEASURED,
    )
