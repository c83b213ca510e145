"""What the next graph is worth, and how many are worth their price."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.buckets.frontier import Frontier, FrontierPoint
from core.errors import SettingError


@dataclass(frozen=True)
class NextGraph:
    """One more graph in the best set.

    k : graphs with it
    saved : what it saves over all steps of the histogram, in the frontier's unit; where several
        graphs only help together, each one's share
    """

    k: int
    saved: float
    sizes: tuple[int, ...]


def next_graphs(found: Frontier) -> tuple[NextGraph, ...]:
    """What each graph after the first point saves, by number of graphs."""
    return tuple(
        NextGraph(point.k, (before.cost - point.cost) / (point.k - before.k), point.sizes)
        for before, point in zip(found.points, found.points[1:], strict=False)
    )


def worth_their_price(found: Frontier, price: float) -> FrontierPoint:
    """The set of least cost plus price a graph; of equals the smaller one.

    Exact up to the largest number of graphs of the frontier, whose every point is.
    price : of each graph, in the frontier's unit: padded slots, or us
    Raises SettingError for a price below 0 or not finite.
    """
    if not math.isfinite(price) or price < 0:
        raise SettingError(f"The price of a graph is {price}; give a number of 0 or more.")
    return min(found.points, key=lambda point: (point.cost + price * point.k, point.k))
