"""Graphs against the KV cache: requests that are left, and pools that graphs share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import SettingError
from core.lab.derivation import Derivation, Step
from core.memory import kv_capacity

GIB = 2**30


@dataclass(frozen=True)
class KvBudget:
    """Requests left beside 0, 1, 2 ... graphs.

    num_graphs, requests : (n,)
    """

    num_graphs: tuple[int, ...]
    requests: tuple[int, ...]
    at_few: int
    at_many: int
    derivation: Derivation


def kv_budget(
    free_gib: float = 8.0,
    graph_gib: float = 0.5,
    request_gib: float = 0.25,
    few: int = 4,
    many: int = 8,
) -> KvBudget:
    """floor((free - graphs x graph) / request), for private pools. Raises SettingError."""

    def left(graphs: int) -> int:
        return kv_capacity(free_gib * GIB, graphs * graph_gib * GIB, request_gib * GIB)

    counts = tuple(range(max(few, many) * 2 + 1))
    requests = tuple(left(n) for n in counts)
    steps = (
        Step("free memory", free_gib, "GiB"),
        Step(f"memory of {few} graphs", few * graph_gib, "GiB"),
        Step(f"requests beside {few} graphs", left(few), "requests"),
        Step(f"memory of {many} graphs", many * graph_gib, "GiB"),
        Step(f"requests beside {many} graphs", left(many), "requests"),
    )
    derivation = Derivation(
        "graphs against KV",
        f"{few} graphs or {many}: how many requests fit?",
        (
            f"a graph takes {graph_gib:g} GiB, a request's KV {request_gib:g} GiB",
            "graphs in private pools add up",
        ),
        steps,
        f"{left(few)} requests beside {few} graphs, {left(many)} beside {many}.",
    )
    return KvBudget(counts, requests, left(few), left(many), derivation)


class Pool:
    """An allocator without splitting: a freed block serves again if it is large enough."""

    def __init__(self) -> None:
        self._free: list[float] = []
        self.total = 0.0

    def use(self, need: float) -> None:
        """A graph records: takes a block, and leaves it free for the graph recorded next."""
        fitting = [block for block in self._free if block >= need]
        if fitting:
            self._free.remove(min(fitting))
            self._free.append(min(fitting))
            return
        self.total += need
        self._free.append(need)


@dataclass(frozen=True)
class Pools:
    """Memory of the same graphs under three policies, in the unit of the needs."""

    private: float
    largest_first: float
    smallest_first: float
    derivation: Derivation


def shared_pool(needs: Sequence[float] = (64, 128, 256, 512), unit: str = "MiB") -> Pools:
    """Record graphs that need so much into one pool, in both orders, and into pools of their own.

    Raises SettingError.
    """
    if not needs or min(needs) <= 0:
        raise SettingError("Give at least one graph, each with a need above 0.")
    totals = []
    for order in (sorted(needs, reverse=True), sorted(needs)):
        pool = Pool()
        for need in order:
            pool.use(need)
        totals.append(pool.total)
    private = float(sum(needs))
    largest, smallest = totals
    steps = (
        Step("private pools: sum of all", private, unit),
        Step("one pool, largest first", largest, unit),
        Step("one pool, smallest first", smallest, unit),
    )
    derivation = Derivation(
        "shared pool",
        "The same graphs in one pool: does the order of capture matter?",
        (
            "graphs never replay at the same time, so that one may use what another has freed",
            "a freed block is reused only where it is large enough; blocks are not joined",
        ),
        steps,
        f"Largest first takes {largest:g} {unit}, smallest first {smallest:g} {unit}, private "
        f"pools {private:g} {unit}.",
    )
    return Pools(private, largest, smallest, derivation)
