"""The graph contract, shown on the CPU: an emulated card that captures and replays, and lessons.

What is emulated: memory with addresses, launches, streams and events, capture with its errors, and
replay, which runs recorded nodes on recorded addresses and no Python. What is not: time. Times in
the lessons are assumed, and say so.
"""

from __future__ import annotations

from typing import Any

from core.bucket_break_even import bucket_break_even
from core.buckets import frontier
from core.lab.contract import what_a_graph_keeps
from core.lab.derivation import Derivation
from core.lab.failing_steps import HAZARDS
from core.lab.failures import attempt
from core.lab.kv_budget import kv_budget, shared_pool
from core.lab.kv_cache import serve
from core.lab.payback import StepModel, payback
from core.lab.piecewise import piecewise
from core.lab.rare_bucket import rare_bucket
from core.lab.rebound import rebound_input
from core.lab.shape_buckets import BATCHES, SIZES, count_slots, fewer_buckets
from core.lab.side_effects import frozen_branch, side_effects
from core.lab.static_input import two_replays
from core.lab.two_streams import Pipeline, two_streams
from core.records import StepHistogram
from core.step_cost import assumed_step_cost

__all__ = ["answer", "derivations", "last_line"]

RARE_STEPS = {1: 5000, 2: 3000, 7: 20}
"""Steps by size for the last lesson where there is no traffic of one's own: an assumption."""


def derivations() -> tuple[Derivation, ...]:
    """Every lesson run with its default inputs, in order."""
    batches = StepHistogram.from_batches(BATCHES)
    best = frontier(batches, max_graphs=len(SIZES))
    return (
        what_a_graph_keeps().derivation,
        two_replays().derivation,
        rebound_input().derivation,
        side_effects().derivation,
        frozen_branch().derivation,
        *(attempt(hazard.name).derivation for hazard in HAZARDS),
        serve().derivation,
        count_slots().derivation,
        count_slots(sizes=(*SIZES, 5)).derivation,
        fewer_buckets(batches, best, len(SIZES)).derivation,
        payback().derivation,
        payback(StepModel(batch=2)).derivation,
        kv_budget().derivation,
        shared_pool().derivation,
        two_streams().derivation,
        two_streams(Pipeline(copy_waits=False)).derivation,
        two_streams(Pipeline(num_buffers=2)).derivation,
        piecewise().derivation,
        _rare().derivation,
    )


def _rare() -> Any:
    steps = StepHistogram.from_mapping(RARE_STEPS)
    result = bucket_break_even(steps, SIZES, assumed_step_cost())
    return rare_bucket(result, "steps and step times are assumed")


def answer() -> dict[str, Any]:
    """The four numbers of the last line, each from its lesson, and every derivation."""
    replays = two_replays()
    return {
        "alias": _whole(replays.alias),
        "clone": _whole(replays.clone),
        "slots": count_slots().report.total_slots,
        "break_even": payback().even.saves_from,
        "lessons": [derivation.to_json() for derivation in derivations()],
    }


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


def last_line(found: dict[str, Any]) -> str:
    """`alias=17; clone=10; slots=21; break_even=301`, from the answer."""
    keys = ("alias", "clone", "slots", "break_even")
    return "; ".join(f"{key}={found[key]}" for key in keys)
