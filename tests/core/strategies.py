"""Hypothesis strategies for histograms, bucket sets and step costs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from core.records import Origin, StepCost, StepHistogram

MAX_SIZE = 40


def histograms(max_size: int = MAX_SIZE) -> st.SearchStrategy[StepHistogram]:
    """At least one step; sizes 1..max_size."""
    counts = st.dictionaries(
        st.integers(1, max_size), st.integers(1, 1000), min_size=1, max_size=12
    )
    return counts.map(StepHistogram.from_mapping)


def capture_sizes(max_size: int = MAX_SIZE) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sets(st.integers(1, max_size), min_size=1, max_size=10).map(
        lambda sizes: tuple(sorted(sizes))
    )


@st.composite
def rising_costs(draw: st.DrawFn, max_size: int = MAX_SIZE + 10) -> StepCost:
    """Replay never falls with size; eager is anything above 0."""
    rises = draw(st.lists(st.integers(0, 50), min_size=max_size, max_size=max_size))
    eager = draw(st.lists(st.integers(1, 3000), min_size=max_size, max_size=max_size))
    sizes = np.arange(1, max_size + 1)
    replay = 10.0 + np.cumsum(rises)
    return StepCost(
        sizes, replay, np.array(eager, float), np.ones(max_size), Origin.ASSUMED, "drawn"
    )
