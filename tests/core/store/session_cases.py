"""Documents and readings for the tests of sessions: by hand, and drawn by Hypothesis."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from core.readers.reading import Reading
from core.records import (
    BucketSet,
    DeviceInfo,
    Grade,
    LengthHistogram,
    MeasureRow,
    MeasureSpec,
    Origin,
    PoolPolicy,
    Profile,
    SizeUnit,
    StepHistogram,
    Trace,
)
from core.records.session import TuningSession, WorkloadRef
from core.store.workloads import workload_digest

PROFILE = Profile(
    DeviceInfo("nvidia-h200", "NVIDIA H200", True, total_bytes=150_754_820_096),
    MeasureSpec((1, 2, 4), samples=7),
    (MeasureRow(1, eager_us=900.5, replay_us=123.25, nodes={"kernel": 3}, samples=7, equal=True),),
    "2026-11-30T08:00:00Z",
)
READING = Reading(
    "plain-csv",
    "CSV",
    Grade.REQUESTS,
    rows=4,
    kept=3,
    trace=Trace(
        np.array([10, 20, 30]), np.array([1, 2, 3]), np.array([0.0, 0.1, 0.30000000000000004])
    ),
    dropped={"no output tokens": 1},
    dropped_examples={"no output tokens": (3,)},
    columns={"prompt_tokens": "in", "output_tokens": "out"},
    all_columns=("in", "out", "prompt"),
    warnings=("Times are taken for seconds.",),
    facts={"tick_s": 0.1},
)
DOCUMENT = TuningSession(
    "Chat, H200",
    WorkloadRef("chat.csv", workload_digest(READING)),
    {"best_k": 16, "sets": ["vLLM default", "Mine"], "load_factor": 1.0, "rate": None},
    (BucketSet("Mine", (1, 2, 4, 8), note="asked for by Ana"),),
    {"H200, today": PROFILE},
    ("0f" * 16,),
    "Look at size 3.",
)


def same(a: Any, b: Any) -> bool:
    """Equal in every field, arrays by type and content."""
    if is_dataclass(a):
        names = [item.name for item in fields(a)]
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in names)
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in items:
        found.append((*path, key))
        if isinstance(item, (dict, list)):
            found += spots(item, (*path, key))
    return found


NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1).map(
    lambda text: text[:200]
)
ANY_TEXT = st.text(max_size=30)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | FLOATS | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=8,
)
DIGESTS = st.binary(min_size=32, max_size=32).map(bytes.hex)
NOTES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=50)
SIZES = st.sets(st.integers(1, 2**40), min_size=1, max_size=12).map(lambda s: tuple(sorted(s)))
MAYBE = st.none() | FLOATS


@st.composite
def bucket_sets(draw: st.DrawFn) -> tuple[BucketSet, ...]:
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    unit = st.sampled_from(SizeUnit)
    return tuple(BucketSet(name, draw(SIZES), draw(unit), draw(NOTES)) for name in names)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    sizes = draw(SIZES)
    rows = tuple(
        MeasureRow(
            size,
            eager_us=draw(MAYBE),
            replay_us=draw(MAYBE),
            capture_ms=draw(MAYBE),
            pool_bytes=draw(st.none() | st.integers(0, 2**50)),
            nodes=draw(st.none() | st.dictionaries(ANY_TEXT, st.integers(0, 99), max_size=3)),
            equal=draw(st.none() | st.booleans()),
            error=draw(st.none() | ANY_TEXT),
        )
        for size in sizes
    )
    device = DeviceInfo(draw(ANY_TEXT), draw(ANY_TEXT), draw(st.booleans()), draw(st.none()))
    spec = MeasureSpec(sizes, pool_policy=draw(st.sampled_from(PoolPolicy)))
    return Profile(device, spec, rows, draw(ANY_TEXT))


def documents() -> st.SearchStrategy[TuningSession]:
    """Any document that a session may hold."""
    return st.builds(
        TuningSession,
        name=NAMES,
        workload=st.none() | st.builds(WorkloadRef, NAMES, DIGESTS, st.booleans()),
        settings=st.dictionaries(NAMES, PLAIN, max_size=5),
        sets=bucket_sets(),
        profiles=st.dictionaries(NAMES, profiles(), max_size=2),
        jobs=st.lists(st.from_regex(r"[0-9a-f]{32}", fullmatch=True), unique=True, max_size=3),
        notes=NOTES,
    )


def _ints(n: int, low: int = 0) -> st.SearchStrategy[np.ndarray]:
    numbers = st.integers(low, 2**62)
    return st.lists(numbers, min_size=n, max_size=n).map(lambda xs: np.array(xs, np.int64))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    n = draw(st.integers(0, 12))
    times = st.lists(st.floats(0, 1e12), min_size=n, max_size=n).map(sorted).map(np.array)
    arrival = draw(st.none() | times.map(lambda xs: xs.astype(np.float64)))
    return Trace(
        draw(_ints(n)), draw(_ints(n)), arrival, draw(st.none() | _ints(n)), draw(ANY_TEXT)
    )


@st.composite
def lengths(draw: st.DrawFn) -> LengthHistogram:
    sizes = np.array(sorted(draw(st.sets(st.integers(0, 2**62), max_size=10))), np.int64)
    share = draw(st.booleans())
    n = len(sizes)
    shares = st.lists(st.floats(0, 1e300), min_size=n, max_size=n)
    counts = np.array(draw(shares), np.float64) if share else draw(_ints(n, 1))
    return LengthHistogram(sizes, counts, draw(st.sampled_from(["prompt", "output"])), share)


@st.composite
def step_histograms(draw: st.DrawFn) -> StepHistogram:
    sizes = np.array(sorted(draw(st.sets(st.integers(1, 2**62), max_size=10))), np.int64)
    return StepHistogram(
        sizes,
        draw(_ints(len(sizes))),
        draw(st.sampled_from(SizeUnit)),
        draw(st.sampled_from(Origin)),
        draw(st.none() | st.floats(0, 1e9)),
        draw(ANY_TEXT),
    )


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    """Any reading that a reader may give."""
    dropped = draw(st.dictionaries(ANY_TEXT, st.integers(1, 10**9), max_size=3))
    kept = draw(st.integers(0, 10**9))
    lines = st.lists(st.integers(0, 10**9), max_size=5).map(tuple)
    return Reading(
        draw(ANY_TEXT),
        draw(ANY_TEXT),
        draw(st.sampled_from(Grade)),
        kept + sum(dropped.values()),
        kept,
        draw(st.none() | traces()),
        draw(st.none() | lengths()),
        draw(st.none() | lengths()),
        draw(st.none() | step_histograms()),
        dropped,
        {reason: draw(lines) for reason in dropped},
        draw(st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3)),
        tuple(draw(st.lists(ANY_TEXT, max_size=3))),
        tuple(draw(st.lists(ANY_TEXT, max_size=3))),
        draw(st.dictionaries(ANY_TEXT, PLAIN, max_size=3)),
        draw(st.none() | SIZES.map(lambda sizes: BucketSet("captured", sizes))),
    )
