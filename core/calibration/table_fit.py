"""Step times from a table by batch size, checked on sizes that a second fit leaves out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from core.calibration.calibrated import Calibration, KindCheck, notes_on, with_capture
from core.calibration.check import StepCheck, by_size, checked
from core.calibration.evidence import Evidence
from core.calibration.tables import cost_from_tables
from core.padding import bucket_of
from core.records import FloatArray, IntArray, StepCost
from core.simulation.step_times import assumed_prefill
from core.step_cost import replay_us_at

FEWEST_SIZES = 6
"""Sizes of a table that are enough to hold every second one back."""


def from_table(
    evidence: Evidence, sizes: tuple[int, ...] | None, eager: Mapping[int, float] | None
) -> Calibration:
    """A curve through the table. sizes : captured ones, None: each is its own bucket

    eager : {batch: eager step}; None: the table's own above the largest graph, where it has any
    Raises SettingError, CaptureSizesError.
    """
    table = dict(evidence.graph_us or evidence.eager_us)
    buckets = sizes or tuple(table)
    above = {size: us for size, us in table.items() if size > max(buckets)}
    cost = cost_from_tables(table, buckets, eager or above, source=evidence.name)
    text = f"{evidence.name} ({evidence.what}), {len(table)} sizes"
    cost = with_capture(replace(cost, source=text), evidence)
    known = np.array(sorted(table.keys() - above.keys()), np.int64)
    check, sentence = _every_second(table, known.tolist(), buckets, evidence.name)
    real = np.array([table[size] for size in known.tolist()])
    groups = by_size(known, real, _table_us(cost, known, buckets))
    prompts = f"Prompts are not in the table: {assumed_prefill(cost).source}."
    return Calibration(
        *(evidence.name, evidence.what, cost, None),
        (KindCheck("decode", "requests", groups, check),),
        *(None, None),
        (f"Fitted to the table's {len(known)} sizes.", sentence),
        (*notes_on(evidence, sizes, bool(eager or above)), prompts),
    )


def _every_second(
    table: Mapping[int, float], known: Sequence[int], buckets: Sequence[int], name: str
) -> tuple[StepCheck | None, str]:
    """Sizes held back: how well the others tell them."""
    if len(known) < FEWEST_SIZES:
        return None, f"{len(known)} sizes are too few to hold some back: the fit is not checked."
    kept, held = list(known[::2]), np.array(known[1::2], np.int64)
    points = tuple(kept) if tuple(buckets) == tuple(table) else buckets
    cost = cost_from_tables({size: table[size] for size in kept}, points, source=name)
    within = held[held <= max(buckets)]
    real = np.array([table[int(size)] for size in within])
    check = checked(real, _table_us(cost, within, buckets))
    return check, (
        f"Fitted to every second size, the {check.steps} others come out "
        f"{100 * check.median:+.1f} % in the median ({100 * check.spread:.1f} % root mean square)."
    )


def _table_us(cost: StepCost, sizes: IntArray, buckets: Sequence[int]) -> FloatArray:
    """A replay of each size's bucket, without prompts or context: (n,) [us]."""
    return replay_us_at(cost, bucket_of(sizes, buckets))
