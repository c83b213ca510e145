"""Decode steps: the card's part by bucket, the host's by request, and what context costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.calibration.lockstep import StepSamples
from core.calibration.weighted import Prior, fitted
from core.cost.curves import isotonic
from core.cost.fit import fit_curve
from core.errors import SettingError
from core.padding import bucket_of
from core.records import FloatArray, IntArray

FEWEST = 20
"""Steps of each kind that a fit needs; a bucket of so many counts half its own, half the line."""
TABLE_STEPS = 20
"""Steps that one median of a decode table stands for."""
TABLE_CONTEXT = 270
"""Context of a request in a recorded decode table: a prompt of 256, half of 28 outputs [tokens]."""
HOST_US_PER_ROW, HOST_SD_SHARE = 15.0, 0.27
"""The host's part of a step for each request in it, and how far engines differ. Steps of one run
rise with bucket, requests and context together, so that one run alone tells them apart badly.
Source: vLLM 0.23 on an H200, a 0.5B model whose card time is small beside it: 14 to 19 us in four
recorded runs; the 8B runs are not in it."""
MOST_HOST_SHARE = 0.0075
"""Of a short step: a faster engine than those recorded has a faster host part."""


@dataclass(frozen=True)
class DecodeSteps:
    """Decode steps to fit: all (n,). weights : how many steps each stands for."""

    rows: IntArray
    context: IntArray
    us: FloatArray
    weights: FloatArray

    def where(self, keep: np.ndarray) -> DecodeSteps:
        return DecodeSteps(
            *(self.rows[keep], self.context[keep], self.us[keep], self.weights[keep])
        )

    def __len__(self) -> int:
        return len(self.us)


@dataclass(frozen=True)
class DecodeFit:
    """Fitted decode steps: replay_us by size + row_us a request + context_us a token of context.

    sizes, replay_us, eager_us : (n,), without the host's part of requests [us]
    seen : buckets that were replayed; above them replay_us follows the line
    eager : where eager_us comes from, in words; "" where nothing shows any and it is replay_us
    """

    sizes: IntArray
    replay_us: FloatArray
    eager_us: FloatArray
    row_us: float
    context_us: float
    spread: float
    steps: int
    seen: tuple[int, ...]
    eager: str


def decode_steps(samples: StepSamples, table: Mapping[int, float] | None = None) -> DecodeSteps:
    """Those of a run that hold no prompt, and a decode table measured apart from it [us]."""
    run = samples.where(samples.tokens == 0)
    sizes = np.array(sorted(table or {}), np.int64)
    times = np.array([(table or {})[int(size)] for size in sizes], np.float64)
    weights = np.r_[np.ones(len(run)), np.full(len(sizes), float(TABLE_STEPS))]
    return DecodeSteps(
        np.concatenate([run.rows, sizes]),
        np.concatenate([run.context, sizes * TABLE_CONTEXT]),
        np.concatenate([run.us, times]),
        weights,
    )


def slots(rows: IntArray, capture_sizes: Sequence[int]) -> IntArray:
    """Rows that a decode step computes: its bucket, or itself where it runs eager; (n,)."""
    if not capture_sizes:
        return rows
    bucket = bucket_of(rows, capture_sizes)
    return np.where(bucket > 0, bucket, rows)


def host_prior(term: int, us: FloatArray) -> Prior:
    """What a request costs the host, before the steps say. us : (n,) steps of the run [us]."""
    value = min(HOST_US_PER_ROW, MOST_HOST_SHARE * float(np.percentile(us, 5)))
    return Prior(term, value, HOST_SD_SHARE * value)


def fit_decode(
    samples: StepSamples,
    capture_sizes: Sequence[int],
    table: Mapping[int, float] | None = None,
    eager_us: Mapping[int, float] | None = None,
    source: str = "recorded run",
) -> DecodeFit:
    """Each bucket's own median where it has many steps, the line through all where it has few.

    table : median step by batch size of the same engine, measured apart (its graphs' buckets, and
        eager above the largest) [us]
    eager_us : the same of an engine without graphs [us]
    Raises SettingError if there are too few decode steps, or an empty table.
    """
    every = decode_steps(samples, _unseen(table or {}, samples, capture_sizes))
    fits = every.rows <= max(capture_sizes, default=2**62)
    graphs, above = every.where(fits), every.where(~fits)
    num_run = int((samples.tokens == 0).sum())
    if len(graphs) < FEWEST or num_run < FEWEST:
        raise SettingError(
            f"{source}: {min(num_run, len(graphs))} decode steps are too few to fit; {FEWEST} are "
            "needed."
        )
    buckets = slots(graphs.rows, capture_sizes)
    base, slope, row, context = _plane(graphs, buckets)
    top = max(2, int(every.rows.max()), *capture_sizes)
    sizes = np.arange(1, top + 1, dtype=np.int64)
    card = graphs.us - row * graphs.rows - context * graphs.context
    replay = _curve(buckets, card, graphs.weights, (base, slope), sizes)
    eager, words = _eager(eager_us, above, (row, context), replay, sizes)
    run = graphs.where(np.arange(len(graphs)) < int(fits[:num_run].sum()))
    predicted = replay[slots(run.rows, capture_sizes) - 1] + row * run.rows + context * run.context
    off = predicted / run.us - 1
    return DecodeFit(
        *(sizes, replay, eager, row, context),
        float(np.sqrt(np.mean(off**2))),
        len(run),
        tuple(np.unique(buckets).tolist()),
        words,
    )


def _plane(graphs: DecodeSteps, buckets: IntArray) -> tuple[float, float, float, float]:
    """Base, and what a slot, a request and a token of context add [us]."""
    one, rows = np.ones(len(graphs)), graphs.rows.astype(np.float64)
    slot, read = buckets.astype(np.float64), graphs.context.astype(np.float64)
    if not (buckets != graphs.rows).any():
        # Nothing was padded: a request and its slot cannot be told apart.
        found = fitted([one, slot, read], graphs.us, graphs.weights)
        return float(found[0]), float(found[1]), 0.0, float(found[2])
    terms = [one, slot, rows, read]
    found = fitted(terms, graphs.us, graphs.weights, (host_prior(2, graphs.us),))
    return float(found[0]), float(found[1]), float(found[2]), float(found[3])


def _unseen(
    table: Mapping[int, float], samples: StepSamples, capture_sizes: Sequence[int]
) -> dict[int, float]:
    """The points of a table whose bucket the run hardly touched: its own steps say more."""
    run = slots(samples.rows[samples.tokens == 0], capture_sizes)
    counts = Counter(run.tolist())
    buckets = slots(np.array(list(table), np.int64), capture_sizes).tolist()
    return {n: table[n] for n, b in zip(table, buckets, strict=True) if counts[b] < FEWEST}


def _curve(
    buckets: IntArray,
    us: FloatArray,
    weights: FloatArray,
    line: tuple[float, float],
    sizes: IntArray,
) -> FloatArray:
    """Time of each size: medians of the buckets drawn to the line by how few their steps are.

    Straight between buckets; above the largest that occurs with the line's slope.
    """
    base, slope = line
    known = np.unique(buckets)
    counts = np.array([weights[buckets == bucket].sum() for bucket in known])
    medians = np.array([_median(us[buckets == b], weights[buckets == b]) for b in known])
    straight = base + slope * known
    # A bucket that only a table shows is that table's: the line knows no more about it.
    own = np.where([(weights[buckets == b] > 1).any() for b in known], counts + FEWEST, counts)
    values = straight + (medians - straight) * own / (own + FEWEST)
    values = isotonic(np.maximum(values, 1e-3), counts / np.maximum(straight, 1e-3) ** 2)
    beyond = np.maximum(sizes - known[-1], 0)
    return np.interp(sizes, known, values) + slope * beyond


def _median(values: FloatArray, weights: FloatArray) -> float:
    """Weighted median of at least one value; of equal weights the usual one."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(weights.sum() / 2, share, values[order]))


def _eager(
    table: Mapping[int, float] | None,
    above: DecodeSteps,
    host: tuple[float, float],
    replay: FloatArray,
    sizes: IntArray,
) -> tuple[FloatArray, str]:
    """Eager steps by size without the host's part of requests (n,) [us], and their origin."""
    row, context = host
    if table is not None:
        return eager_curve({n: us - row * n for n, us in table.items()}, sizes), "their own table"
    if above.weights.sum() < FEWEST:
        return replay, ""
    us = above.us - row * above.rows - context * above.context
    found = {
        int(rows): _median(us[above.rows == rows], above.weights[above.rows == rows])
        for rows in np.unique(above.rows)
    }
    return eager_curve(found, sizes), f"{int(above.weights.sum()):,} steps above the largest graph"


def eager_curve(table: Mapping[int, float], sizes: IntArray) -> FloatArray:
    """Eager steps from a measured table, smoothed and never falling; (n,) [us].

    Raises SettingError if the table is empty.
    """
    if len(table) == 0:
        raise SettingError("The table of eager steps is empty; leave it out or measure it.")
    points = sorted(table.items())
    return fit_curve(
        np.array([size for size, _ in points], np.int64),
        np.maximum(np.array([us for _, us in points], np.float64), 1.0),
    ).at(sizes)
