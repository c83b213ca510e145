"""What a sweep says: the best set under each load, and where more graphs stop paying."""

from __future__ import annotations

from dataclasses import dataclass

from core.records.sweep import HIGHER_IS_BETTER, Figure, Sweep, SweepRow

WITHIN = 0.01
"""Differences below this share are none: a simulation is no finer than its step times."""


@dataclass(frozen=True)
class LoadAnswer:
    """The best set under one load.

    best : the fewest graphs within 1 % of the best figure; None where no set could serve
    more : of the sets with more graphs, the one with the most
    loss : by which share `more` is worse than the best figure; 0 where it is not
    served, sets : rows so far, and rows there will be
    """

    load: float
    figure: Figure
    best: SweepRow | None
    more: SweepRow | None
    loss: float
    served: int
    sets: int

    @property
    def kv_lost_tokens(self) -> int:
        """KV tokens that the additional graphs of `more` take [tokens]."""
        return self.best.kv_tokens - self.more.kv_tokens if self.best and self.more else 0

    @property
    def text(self) -> str:
        """One or two sentences."""
        if self.best is None:
            return "no set could serve."
        if self.figure in HIGHER_IS_BETTER and not getattr(self.best, self.figure):
            return "no set served anything within the limits."
        head = "no graphs at all is within 1 % of the best."
        if self.best.num_graphs:
            head = (
                f"the fewest within 1 % of the best: {_graphs(self.best)}, which leave "
                f"{self.best.kv_tokens:,} KV tokens.{_eager_text(self.best)}"
            )
        open_ends = f" So far of {self.served} of {self.sets} sets." * (self.served < self.sets)
        return head + self._more_text() + open_ends

    def _more_text(self) -> str:
        if self.best is None or self.more is None:
            return ""
        if self.more.error is not None:
            return f" With {_graphs(self.more)} no KV cache is left to serve with."
        took = f"{self.kv_lost_tokens:,} KV tokens more"
        if self.loss <= WITHIN:
            return (
                f" With {_graphs(self.more)} it is no better, and they take {took}."
                f"{_eager_text(self.more)}"
            )
        return (
            f" More stop paying: with {_graphs(self.more)} it is {100 * self.loss:.0f} % worse; "
            f"they take {took}, and {self.more.preemptions:,} requests are preempted instead of "
            f"{self.best.preemptions:,}.{_eager_text(self.more)}"
        )


def load_answer(found: Sweep, load: float, num_sets: int, figure: Figure) -> LoadAnswer:
    """What the rows so far say about one load. num_sets : rows there will be."""
    rows = found.at(load)
    known = [row for row in rows if getattr(row, figure) is not None]
    if not known:
        return LoadAnswer(load, figure, None, None, 0.0, len(rows), num_sets)
    best = found.best(load, figure, WITHIN)
    larger = [row for row in rows if row.num_graphs > best.num_graphs]
    more = max(larger, key=lambda row: row.num_graphs, default=None)
    top = getattr(found.best(load, figure), figure)
    value = getattr(more, figure) if more is not None else None
    loss = _loss(value, top, figure) if value is not None else 0.0
    return LoadAnswer(load, figure, best, more, loss, len(rows), num_sets)


def serving_text(row: SweepRow) -> str:
    """What the best set gives, as half a sentence."""
    ends = f"end to end in {row.e2e_p50_ms / 1e3:.3g} s (median)" if row.e2e_p50_ms else "none ends"
    return (
        f"{row.goodput_rps or 0.0:.3g} requests/s within the limits, {ends}, and "
        f"{row.kv_tokens:,} KV tokens left"
    )


def todays_load(loads: tuple[float, ...]) -> float:
    """The load nearest to the traffic as it is, by factor."""
    return min(loads, key=lambda load: max(load, 1 / load))


def _loss(value: float, best: float, figure: Figure) -> float:
    worse = best - value if figure in HIGHER_IS_BETTER else value - best
    return max(0.0, worse / abs(best)) if best else 0.0


def _eager_text(row: SweepRow) -> str:
    """How many decode steps the set's graphs do not hold, where that is more than 1 %."""
    if row.eager_share <= WITHIN:
        return ""
    return f" With {_graphs(row)} {100 * row.eager_share:.0f} % of the decode steps run eager."


def _graphs(row: SweepRow) -> str:
    return f"{row.num_graphs} graph{'s' * (row.num_graphs != 1)}"
