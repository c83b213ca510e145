"""All that a study depends on, as one frozen choice of core's records."""

from __future__ import annotations

from dataclasses import dataclass

from core.records import PoolPolicy, StepHistogram, Trace
from core.simulate import Machine
from core.study.advice import Ground
from core.study.graphs import EngineChoice
from core.study.prices import Prices

NO_DECODES = (
    "Prompt lengths do not say how many requests decode together, so no decode size follows from "
    "them. Give the requests with their arrivals, or type a request rate (Workload page) or a "
    "concurrency (Serve page, closed loop)."
)
"""In place of a list of decode sizes, where the traffic is a histogram of lengths."""


@dataclass(frozen=True)
class StudyChoice:
    """Traffic, engine, prices and limits.

    traffic : requests with arrivals, or decode batches
    machine : its KV tokens are those beside today's graphs, as an engine's log prints them
    before_graphs : they are those before any graph instead
    concurrency : closed loop, so many requests in flight; None: requests come when they arrive
    grounds : where the traffic and the limits come from
    """

    traffic: Trace | StepHistogram
    engine: EngineChoice
    prices: Prices
    machine: Machine
    before_graphs: bool
    policy: PoolPolicy
    concurrency: int | None = None
    grounds: tuple[Ground, ...] = ()


def request_count(choice: StudyChoice) -> int:
    """Requests that each list is simulated with at each load; 0 for a histogram."""
    return len(choice.traffic) if isinstance(choice.traffic, Trace) else 0
