"""What a profile of an engine says of its graphs' memory: the first graph of each kind, and more.

An engine's graphs share one pool, so a single graph's part of it is not told; but the first graph
takes what all of them share, and each further one a little. Both were seen while it captured.
"""

from __future__ import annotations

import numpy as np

from core.errors import SettingError
from core.records import GraphGroup, GraphMemory, Origin, Profile

FULL = "FULL"


def memory_from_engine(profile: Profile) -> GraphMemory:
    """Fixed: the first graphs, less what a further one takes; each: the mean of the others.

    A kind of which one graph was captured is all fixed. Full graphs end at max_num_seqs.
    Raises SettingError where the engine's captures were not seen.
    """
    facts, spec = profile.engine, profile.spec
    assert facts is not None and spec.engine is not None, "of an engine's profile only"
    seen = [group for group in facts.graphs if None not in (group.gib, group.first_gib)]
    if not seen or not facts.capture_sizes:
        raise SettingError(
            f"The profile of {profile.device.name} does not tell what {facts.title}'s graphs take "
            "by kind; measure it with graphs on one rank, or use the assumed memory."
        )
    each = {group.kind: _further_bytes(group) for group in seen}
    fixed = sum(_gib(group.first_gib) - each[group.kind] for group in seen)
    top, seqs = facts.capture_sizes[-1], spec.engine.max_num_seqs
    sizes = sorted({1, min(seqs, top), min(seqs + 1, top), top})
    graphs = [sum(each[k] for k in each if k != FULL or size <= seqs) for size in sizes]
    return GraphMemory(
        np.array(sizes, np.int64),
        np.zeros(len(sizes)),
        np.array(graphs, np.float64),
        Origin.MEASURED,
        f"{profile.source}; the first graph of each kind, and the mean of those after it",
        max(0.0, fixed),
    )


def _further_bytes(group: GraphGroup) -> float:
    """What a graph after the first takes, in the mean [bytes]."""
    if group.sizes < 2:
        return 0.0
    return max(0.0, _gib(group.gib) - _gib(group.first_gib)) / (group.sizes - 1)


def _gib(value: float | None) -> float:
    assert value is not None
    return value * 2**30
