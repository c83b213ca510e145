"""The exact choice of bucket sets."""

from core.buckets.frontier import Frontier, FrontierPoint, frontier, optimal_buckets, set_cost

__all__ = ["Frontier", "FrontierPoint", "frontier", "optimal_buckets", "set_cost"]
