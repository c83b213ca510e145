"""The exact choice of bucket sets."""

from core.buckets.build import Limits
from core.buckets.frontier import Frontier, FrontierPoint, frontier, optimal_buckets, set_cost
from core.buckets.problem import Dispatch

__all__ = [
    "Dispatch",
    "Frontier",
    "FrontierPoint",
    "Limits",
    "frontier",
    "optimal_buckets",
    "set_cost",
]
