"""The verdict's figures as rows of printed texts: a list beside what runs today."""

from __future__ import annotations

from collections.abc import Callable

from app import theme
from app.drawing.quantity import Quantity
from app.drawing.tables import Row
from core.study.advice import Advice
from core.study.figures import ListFigures, ScenarioFigures
from core.study.verdict import Kind

TODAY = "today"
SERVED: tuple[tuple[str, Callable[[ScenarioFigures], Quantity]], ...] = (
    ("TPOT p50", lambda item: theme.ms_text(item.tpot_p50_ms)),
    ("TPOT mean", lambda item: theme.ms_text(item.tpot_mean_ms)),
    ("TTFT p50", lambda item: theme.ms_text(item.ttft_p50_ms)),
)
STEPPED = (("mean decode step", lambda item: theme.us_text(item.step_us)),)
HELD: tuple[tuple[str, Callable[[ListFigures], Quantity]], ...] = (
    ("sizes", lambda item: theme.count_text(item.num_sizes)),
    ("graphs", lambda item: theme.count_text(sum(item.counts.values()))),
    ("graph memory", lambda item: theme.bytes_text(item.graph_bytes)),
    ("KV tokens", lambda item: theme.count_text(item.kv_tokens)),
    ("start-up for graphs", lambda item: theme.seconds_text(item.startup_s)),
)


def scenario_rows(advice: Advice) -> list[Row]:
    """One row a load: latencies of requests, or the mean step of a histogram."""
    today, other = advice.verdict.today, _other(advice)
    served = any(scenario.trace is not None for scenario in advice.study.scenarios)
    rows: list[Row] = []
    for place, mine in enumerate(today.scenarios):
        row: Row = {"load": _load(advice, place)}
        for label, text in SERVED if served else STEPPED:
            row[f"{label} {TODAY}"] = text(mine)
            if other is not None:
                row[f"{label} {other_name(advice)}"] = text(other.scenarios[place])
        rows.append(row)
    return rows


def _load(advice: Advice, place: int) -> str:
    scenario, figures = advice.study.scenarios[place], advice.verdict.today.scenarios[place]
    words = f"{scenario.name} ({scenario.how})"
    return f"{words}; today's list does not keep up" if figures.saturated else words


def holding_rows(advice: Advice) -> list[Row]:
    """One row a list: what it takes whatever the load."""
    lists = [(TODAY, advice.verdict.today), (other_name(advice), _other(advice))]
    return [
        {"list": name, **{label: text(item) for label, text in HELD}}
        for name, item in lists
        if item is not None
    ]


def _other(advice: Advice) -> ListFigures | None:
    """The list beside today's, where it is another."""
    found = None if advice.compared is None else advice.compared.figures
    return None if found is None or found.sizes == advice.verdict.today.sizes else found


def other_name(advice: Advice) -> str:
    """The chosen list, or the best of those that were tried where today's stays."""
    return "best found" if advice.verdict.kind is Kind.KEEP else "this list"
