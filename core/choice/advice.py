"""Advice in words, each sentence with its evidence."""

from __future__ import annotations

from collections.abc import Sequence

from core.choice.trade_off import TradeOff, TradePoint
from core.text.counting import counted

SAME_TIME = 0.001
"""Step times this close count as the same: less than a run-to-run difference."""
SMALL_GAIN = 0.01
"""Below this share of step time a change of list is not worth the change."""
MIB = 2**20


def percent_text(share: float) -> str:
    """A signed percentage; small ones keep a digit that is not 0."""
    digits = 1 if abs(share) >= 0.0005 else 2
    return f"{100 * share:+.{digits}f} %"


def freed_text(before: TradePoint, after: TradePoint) -> str:
    """Memory and start-up that a change frees or takes."""
    mib = (before.graph_bytes - after.graph_bytes) / MIB
    seconds = before.capture_s - after.capture_s
    memory, start_up = f"{abs(mib):,.0f} MiB", f"{abs(seconds):,.1f} s of start-up"
    if (mib >= 0) == (seconds >= 0):
        return f"{'frees' if mib >= 0 else 'takes'} {memory} and {start_up}"
    verbs = ("frees", "takes") if mib >= 0 else ("takes", "frees")
    return f"{verbs[0]} {memory} and {verbs[1]} {start_up}"


def advice(trade: TradeOff) -> list[str]:
    """What the trade-off says, the most important first; one line of evidence each."""
    if trade.floor_us <= 0:
        return ["With this step cost a step takes no time, so nothing can be weighed."]
    lines = [line for line in (_graphs_at_all(trade),) if line]
    for point in trade.marked:
        found = (
            _uncovered(trade, point),
            _fewer(trade, point),
            _gain(trade, point),
            _unused(point),
        )
        lines += [line for line in found if line]
    return [*lines, _knee(trade)]


def set_facts(trade: TradeOff) -> list[str]:
    """What is amiss with each marked set on this traffic, and no word on what to run instead: that
    takes a simulation (core.study)."""
    found = (line for point in trade.marked for line in (_eager_fact(point), _unused(point)))
    return [line for line in found if line]


def _eager_fact(point: TradePoint) -> str | None:
    """Which share of the steps runs without a graph, and why."""
    if point.coverage >= 1:
        return None
    share = f"{point.name}: {100 * (1 - point.coverage):.1f} % of the steps run eager"
    if point.eager_below > 0:
        return (
            f"{share}, {100 * point.eager_below:.1f} % though its largest graph, "
            f"{point.sizes[-1]}, would hold them: by this engine's rule they are not padded up."
        )
    return f"{share}, being larger than its largest graph, {point.sizes[-1]}."


def _graphs_at_all(trade: TradeOff) -> str | None:
    last = trade.best[-1]
    gain = 1 - last.step_us / trade.eager_us if trade.eager_us else 0.0
    if gain > SMALL_GAIN:
        return None
    return (
        f"Graphs bring little here: with the best list a mean step takes {last.step_us:,.0f} µs, "
        f"without any graph {trade.eager_us:,.0f} µs ({percent_text(-gain)})."
    )


def _uncovered(trade: TradeOff, point: TradePoint) -> str | None:
    """Steps without a graph run eager; one graph more, or padding, holds them."""
    fact = _eager_fact(point)
    if fact is None:
        return None
    if point.eager_below > 0:
        return f"{fact} Turn its padding on, or capture their sizes."
    return f"{fact} Add {trade.largest}."


def _fewer(trade: TradeOff, point: TradePoint) -> str | None:
    """The smallest best set with the step time of a marked one."""
    limit = point.step_us * (1 + SAME_TIME)
    match = next((p for p in trade.best if p.step_us <= limit), None)
    if match is None or match.num_graphs >= point.num_graphs or match.coverage < point.coverage:
        return None
    change = match.step_us / point.step_us - 1
    give = "gives" if match.num_graphs == 1 else "give"
    return (
        f"{point.name}: {counted(match.num_graphs, 'graphs')} {give} the step time of its "
        f"{point.num_graphs} ({percent_text(change)}); that {freed_text(point, match)}."
    )


def _gain(trade: TradeOff, point: TradePoint) -> str | None:
    """What the best list of as many graphs would gain."""
    best = trade.at(point.num_graphs)
    gain = 1 - best.step_us / point.step_us
    if point.coverage < 1:
        return None  # said already, with the remedy
    if gain < SMALL_GAIN:
        return (
            f"{point.name}: keep the list if {point.num_graphs} graphs suit you; the best one of "
            f"as many gains {100 * max(gain, 0.0):.1f} % of step time."
        )
    return (
        f"{point.name}: the best list of as many graphs takes {best.step_us:,.0f} µs a step "
        f"instead of {point.step_us:,.0f} µs ({percent_text(-gain)})."
    )


def _unused(point: TradePoint) -> str | None:
    if not point.unused:
        return None
    return (
        f"{point.name}: {len(point.unused)} of {point.num_graphs} graphs are never used by this "
        "traffic."
    )


def _knee(trade: TradeOff) -> str:
    point = trade.knee
    rest = point.step_us / trade.floor_us - 1
    return (
        f"The knee lies at {counted(point.num_graphs, 'graphs')}: a mean step of "
        f"{point.step_us:,.0f} µs, {percent_text(rest)} above a graph for every size. "
        f"Step times are {trade.origin}."
    )


def change_sentence(before: TradePoint, after: TradePoint) -> str:
    """What an edit did, in one sentence."""
    added = [size for size in after.sizes if size not in before.sizes]
    gone = [size for size in before.sizes if size not in after.sizes]
    if not added and not gone:
        return "Nothing changed."
    parts = [
        f"{verb} {_list(sizes)}" for verb, sizes in (("added", added), ("removed", gone)) if sizes
    ]
    effects = [
        f"waste {100 * before.waste:.1f} -> {100 * after.waste:.1f} %",
    ]
    if before.step_us > 0:
        effects.append(f"mean step {percent_text(after.step_us / before.step_us - 1)}")
    if after.coverage != before.coverage:
        effects.append(f"coverage {100 * before.coverage:.1f} -> {100 * after.coverage:.1f} %")
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}: {', '.join(effects)}; {freed_text(before, after)}."


def _list(sizes: Sequence[int], most: int = 6) -> str:
    shown = ", ".join(map(str, sizes[:most]))
    return shown if len(sizes) <= most else f"{shown} and {len(sizes) - most} more"
