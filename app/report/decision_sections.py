"""The part of a report on the decision: the sets, the best choice and why, and when it pays."""

from __future__ import annotations

from collections.abc import Sequence

from app import compute, theme
from app.charts.break_even import cumulative_figure, gain_figure
from app.charts.padding import SetView, frontier_figure, padding_figure
from app.charts.trade_off import trade_off_figure
from app.drawing.tables import comparison_rows, verdict_rows
from app.report.document import Block, Chart, Facts, Section, Table, said
from app.report.work import Work
from core.choice.advice import set_facts
from core.choice.trade_off import TradeOff
from core.errors import ProjectError
from core.text.counting import counted

WORDS = (
    "waste = padded slots / slots replayed; overhead = padded / useful; coverage = steps that run "
    "a graph. A padded slot is not lost time: on a memory-bound step it costs almost nothing, so "
    "read the step time beside it."
)


def sets_section(work: Work) -> Section:
    """The compared sets side by side, and the padding of each by step size."""
    runs = _replayed(work)
    views = [view for view, _ in runs]
    step_us = [compute.step_us(run, work.view.cost) for _, run in runs]
    memory, policy = work.view.memory, work.best.policy
    taken = [compute.graph_bytes(v.bucket_set.sizes, memory, policy) for v in views]
    lists = [
        {"bucket set": v.bucket_set.name, "sizes": ", ".join(map(str, v.bucket_set.sizes))}
        for v in views
    ]
    blocks: list[Block] = [
        Table(comparison_rows(views, step_us, taken)),
        said(WORDS, quiet=True),
        Chart(padding_figure(views, work.traffic.histogram)),
        Table(lists),
    ]
    return Section("Bucket sets", tuple(blocks), origin_words(work))


def _replayed(work: Work) -> list[tuple[SetView, compute.Replayed]]:
    found = []
    for item in work.sets:
        sizes = item.bucket_set.sizes
        run = compute.replayed(work.traffic.histogram, sizes, item.engine)
        found.append((SetView(item.bucket_set, run.report, item.colour), run))
    return found


def origin_words(work: Work) -> str:
    """Where padding, step times and graph memory come from."""
    return (
        f"Padding: computed from {work.traffic.histogram.origin.value} steps. Step times: "
        f"{work.view.cost.origin.value}. Graph memory: {work.view.memory.origin.value}."
    )


def choice_section(work: Work) -> Section:
    """The best set, what it was asked for, the trade-off and the advice that follows."""
    histogram, best, cost = work.traffic.histogram, work.best, work.view.cost
    sizes = compute.best_set(work.best_for, best, cost, work.view.memory)
    found = compute.best_frontier(histogram, best, cost)
    views = [view for view, _ in _replayed(work)]
    blocks: list[Block] = [
        said(f"The best {counted(len(sizes), 'graphs')}: {', '.join(map(str, sizes))}."),
        said(f"Asked for: {_asked(work)}.", quiet=True),
        Chart(frontier_figure(found, views)),
    ]
    try:
        trade = _trade(work)
    except ProjectError as error:
        blocks.append(said(f"No trade-off in time: {error}"))
    else:
        colours = {item.bucket_set.name: item.colour for item in work.sets}
        blocks.append(Chart(trade_off_figure(trade, colours)))
        blocks.append(said(*set_facts(trade)))
    return Section("The best sets for these steps", tuple(blocks), origin_words(work))


def _trade(work: Work) -> TradeOff:
    engines = {s.bucket_set.name: s.engine for s in work.sets if s.engine is not None}
    sets = [item.bucket_set for item in work.sets]
    return compute.weighed(
        *(work.traffic.histogram, sets, work.best, work.view.cost, work.view.memory), engines
    )


def _asked(work: Work) -> str:
    best = work.best
    parts = [f"at most {counted(best.num_graphs, 'graphs')}", best.objective]
    if best.include:
        parts.append(f"with {', '.join(map(str, best.include))} in any case")
    if best.multiple_of > 1:
        parts.append(f"in multiples of {best.multiple_of}")
    if best.memory_mib is not None:
        parts.append(f"within {best.memory_mib:,.0f} MiB of graph memory")
    if work.best_for is not work.traffic.histogram:
        parts.append("for several traffics together")
    if best.allow_eager:
        parts.append("large steps may run eager")
    return ", ".join(parts)


def break_even_section(work: Work) -> Section:
    """When capturing the set pays back, and the verdict for each of its buckets."""
    chosen = work.set_named(work.pay_back.set_name)
    result = compute.bucket_break_even(
        *(work.traffic.histogram, chosen.bucket_set.sizes, work.view.cost),
        *(work.pay_back.uptime_s, work.pay_back.restore_ms, chosen.engine),
    )
    whole = result.whole
    facts = {
        "capture, whole set": theme.us_text(whole.capture_us),
        "net gain, mean step": theme.us_text(whole.net_us),
        "saves from step": (
            "never" if whole.saves_from is None else theme.count_text(whole.saves_from)
        ),
        "needs, at this pace": theme.seconds_text(whole.pays_back_s),
    }
    name, unit = chosen.bucket_set.name, work.traffic.histogram.unit.value
    curves = cumulative_figure(compute.curves(whole), f"Time spent, eager against captured: {name}")
    blocks: Sequence[Block] = (
        Facts(facts),
        Chart(curves),
        Chart(gain_figure(result.rows, chosen.colour, unit)),
        Table(verdict_rows(result.rows)),
    )
    return Section(f"Break-even: {name}", tuple(blocks), origin_words(work))
