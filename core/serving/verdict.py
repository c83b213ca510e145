"""Which of several served bucket sets did best, and by how much, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import SettingError
from core.simulate import SimulationResult

TIE = 0.01
"""Figures this close count as equal: a simulation promises no more."""


@dataclass(frozen=True)
class ServedSet:
    """One bucket set after its simulated run; num_graphs : 0 where every step ran eager."""

    name: str
    num_graphs: int
    result: SimulationResult


@dataclass(frozen=True)
class Verdict:
    """The best of several sets. figure : what decided, "goodput" or "end to end"."""

    best: ServedSet
    figure: str
    sentence: str


def verdict(
    runs: Sequence[ServedSet],
    *,
    ttft_limit_s: float | None = None,
    tpot_limit_s: float | None = None,
) -> Verdict:
    """The set that serves most requests within the limits; of those within TIE of it the one that
    answers soonest (end-to-end median), and of these the one of fewest graphs.

    Raises SettingError if there is no set, or a limit is not above 0.
    """
    if not runs:
        raise SettingError("No set was served; serve the requests with at least one.")
    good = [
        run.result.goodput_rps(ttft_limit_s=ttft_limit_s, tpot_limit_s=tpot_limit_s) for run in runs
    ]
    ends = [_end_ms(run) for run in runs]
    near = [i for i, rate in enumerate(good) if rate >= max(good) * (1 - TIE)]
    soonest = min(ends[i] for i in near)
    alike = [i for i in near if ends[i] <= soonest * (1 + TIE)]
    best = min(alike, key=lambda i: (runs[i].num_graphs, ends[i]))
    if math.isinf(min(ends)):
        return Verdict(runs[best], "end to end", _nobody(runs))
    if len(near) == len(runs):
        return Verdict(runs[best], "end to end", _by_time(runs, ends, best, alike, max(good)))
    return Verdict(runs[best], "goodput", _by_goodput(runs, good, best, near))


def _end_ms(run: ServedSet) -> float:
    """Median end to end [ms]; infinite where no request was finished."""
    median = run.result.latency().e2e_ms.p50
    return math.inf if median is None else median


def _nobody(runs: Sequence[ServedSet]) -> str:
    rejected = min(len(run.result.rejected) for run in runs)
    who = "No set finishes" if len(runs) > 1 else f"{_named(runs[0])} does not finish"
    return (
        f"{who} any request: {rejected:,} of {len(runs[0].result.trace):,} can never fit into the "
        "KV cache; give the engine more KV cache, or serve shorter requests."
    )


def _by_goodput(
    runs: Sequence[ServedSet], good: Sequence[float], best: int, near: Sequence[int]
) -> str:
    others = sorted((i for i in range(len(runs)) if i not in near), key=lambda i: -good[i])
    gains = [_gain(good[best], good[i], _named(runs[i])) for i in others]
    if len(near) == 1:
        return (
            f"{_named(runs[best])} serves most: {good[best]:.3g} requests/s within the limits, "
            f"{_list(gains)}."
        )
    return (
        f"{_list([_named(runs[i]) for i in near])} serve about the same: {good[best]:.3g} "
        f"requests/s within the limits, {_list(gains)}; of these {_named(runs[best])} has the "
        "fewest graphs of those that answer soonest."
    )


def _gain(high: float, low: float, name: str) -> str:
    return f"{_percent(high / low - 1)} more than {name}" if low > 0 else f"against 0 with {name}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share < 9.995 else f"{100 * share:,.0f} %"


def _by_time(
    runs: Sequence[ServedSet],
    ends: Sequence[float],
    best: int,
    alike: Sequence[int],
    good: float,
) -> str:
    if len(runs) == 1:
        return (
            f"{_named(runs[0])} serves {good:.3g} requests/s within the limits, end to end in "
            f"{_ms(ends[0])} (median); serve another set to compare."
        )
    alike_words = f"All serve about {good:.3g} requests/s within the limits"
    if not good:
        alike_words = "None serves a request within the limits"
    equals = [_named(runs[i]) for i in alike if i != best]
    others = sorted((i for i in range(len(runs)) if i not in alike), key=lambda i: ends[i])
    gains = [_sooner(ends[best], ends[i], _named(runs[i])) for i in others]
    if equals:
        fewest = "has the fewest graphs of those that answer soonest"
        gains.insert(0, f"within {100 * TIE:.0f} % of {_list(equals)}")
    else:
        fewest = "answers soonest"
    return (
        f"{alike_words}; {_named(runs[best])} {fewest}: end to end in {_ms(ends[best])} (median), "
        f"{_list(gains)}."
    )


def _sooner(low_ms: float, high_ms: float, name: str) -> str:
    if math.isinf(high_ms):
        return f"while {name} finishes no request"
    return f"{_percent(1 - low_ms / high_ms)} less than {name}"


def _named(run: ServedSet) -> str:
    if not run.num_graphs:
        return run.name
    return f"{run.name} ({run.num_graphs} graph{'s' if run.num_graphs != 1 else ''})"


def _ms(ms: float) -> str:
    return f"{ms:.4g} ms" if ms < 1000 else f"{ms / 1000:.3g} s"


def _list(items: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
