"""The verdict: keep what runs, use another list, add sizes, or drop some; no guess as a gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.study.choose import Choice
from core.study.figures import Beside, ListFigures
from core.study.study import Study

UNCOVERED = 0.005
"""Share of decode steps without a graph from which sizes are missing."""
WORTH_S, WORTH_BYTES, WORTH_KV = 5.0, 2**30, 0.01
"""Start-up seconds, graph memory and share of the KV tokens that are worth a shorter list."""
WORTH_SHARE = 0.25
"""Of today's start-up or graph memory that must go besides: or nobody would notice."""


class Kind(StrEnum):
    """KEEP today's list; USE another; ADD sizes to it; DROP some of it for start-up or memory."""

    KEEP = "keep"
    USE = "use"
    ADD = "add"
    DROP = "drop"


@dataclass(frozen=True)
class Verdict:
    """What to run, and why.

    chosen : the list beside today's; None where today's stays
    sizes : the list to run: chosen, or today's
    claim : gains up to this share are not claimed
    best_gain : the most that any list gained in the traffic as it came, within the tolerance
    reason : one sentence with the figures that decide
    """

    kind: Kind
    sizes: tuple[int, ...]
    chosen: Beside | None
    today: ListFigures
    claim: float
    best_gain: float
    reason: str
    uncovered: float
    added: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()


def verdict(study: Study, choice: Choice) -> Verdict:
    """From the candidates that were simulated. A gain below the error of the step times, or below
    the tolerance, is none."""
    today = study.today
    claim = max(choice.tolerance, study.error)
    uncovered = max((1 - item.coverage for item in _served(today)), default=0.0)
    best_gain = max(0.0, choice.best.gain if choice.best is not None else 0.0)
    good = [item for item in choice.tried if item.worst_loss <= choice.tolerance]
    for kind, found in (
        (Kind.ADD, _to_add(study, good, claim, uncovered)),
        (Kind.USE, _to_use(good, claim)),
        (Kind.DROP, _to_drop(good, today)),
    ):
        if found is not None:
            return _made(kind, found, today, claim, best_gain, uncovered)
    reason = _keep_reason(study, choice, claim, best_gain, uncovered)
    return Verdict(
        *(Kind.KEEP, today.sizes, None, today, claim, best_gain, reason, uncovered),
    )


def _served(today: ListFigures) -> list:
    return [item for item in today.scenarios if not item.saturated]


def _to_add(study: Study, good: Sequence[Beside], claim: float, uncovered: float) -> Beside | None:
    """A list with today's sizes and larger ones, where steps run without a graph and that costs."""
    today = study.today
    if not today.sizes:
        return None  # there is nothing to add to: another list is used
    decode = uncovered >= UNCOVERED and study.cost.eager_known
    longer = [
        item
        for item in good
        if set(today.sizes) <= set(item.figures.sizes)
        and (_longer(item.figures, today) if decode else _deeper(item.figures, today))
        and -min(item.losses.values()) > claim
    ]
    # The shortest of those that gain all but the tolerance of what the best gains.
    return _shortest(longer, lambda item: -min(item.losses.values()))


def _longer(figures: ListFigures, today: ListFigures) -> bool:
    return figures.largest_batch > today.largest_batch


def _deeper(figures: ListFigures, today: ListFigures) -> bool:
    """Steps with prefill on a graph that had none, decode steps as today."""
    return figures.mixed_top > today.mixed_top and figures.largest_batch == today.largest_batch


def _to_use(good: Sequence[Beside], claim: float) -> Beside | None:
    return _shortest([item for item in good if item.gain > claim], lambda item: item.gain)


def _shortest(items: Sequence[Beside], gain) -> Beside | None:
    """The shortest list within half a per cent of the largest gain."""
    if not items:
        return None
    most = max(gain(item) for item in items)
    near = [item for item in items if gain(item) >= most - 0.005]
    return min(near, key=lambda item: (item.figures.num_sizes, item.worst_loss))


def _to_drop(good: Sequence[Beside], today: ListFigures) -> Beside | None:
    """A shorter list within the tolerance that gives back start-up or memory worth having."""
    shorter = [item for item in good if item.figures.num_sizes < today.num_sizes]
    worth = [item for item in shorter if _is_worth(item.figures, today)]
    return min(worth, key=lambda item: (item.figures.num_sizes, item.worst_loss), default=None)


def _is_worth(figures: ListFigures, today: ListFigures) -> bool:
    seconds = today.startup_s - figures.startup_s
    freed = today.graph_bytes - figures.graph_bytes
    tokens = figures.kv_tokens - today.kv_tokens
    return (
        seconds >= max(WORTH_S, WORTH_SHARE * today.startup_s)
        or freed >= max(WORTH_BYTES, WORTH_SHARE * today.graph_bytes)
        or tokens >= WORTH_KV * today.kv_tokens
    )


def _made(
    kind: Kind,
    found: Beside,
    today: ListFigures,
    claim: float,
    best_gain: float,
    uncovered: float,
) -> Verdict:
    sizes = found.figures.sizes
    added = tuple(n for n in sizes if n not in today.sizes)
    dropped = tuple(n for n in today.sizes if n not in sizes)
    reason = {
        Kind.ADD: _add_reason,
        Kind.USE: _use_reason,
        Kind.DROP: _drop_reason,
    }[kind](found, today, uncovered)
    return Verdict(
        *(kind, sizes, found, today, claim, best_gain, reason, uncovered, added, dropped)
    )


def measure(today: ListFigures) -> str:
    """What gains and losses are counted in: TPOT of requests, or the mean decode step."""
    return "TPOT" if today.scenarios[0].tpot_mean_ms is not None else "the decode step"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _add_reason(found: Beside, today: ListFigures, uncovered: float) -> str:
    where = min(found.losses, key=lambda name: found.losses[name])
    if found.figures.largest_batch == today.largest_batch:
        before, after = today.at(where).mixed_coverage, found.figures.at(where).mixed_coverage
        return (
            f"Steps with prefill of more than {today.mixed_top:,} tokens run without a graph; with "
            f"sizes up to {found.figures.mixed_top:,} {_percent(after)} of them have one instead "
            f"of {_percent(before)}, and {measure(today)} falls by "
            f"{_percent(-found.losses[where])} in {where}."
        )
    return (
        f"Steps of more than {today.largest_batch:,} requests run without a graph, "
        f"{_percent(uncovered)} of the decode steps where it is worst; with graphs up to "
        f"{found.figures.largest_batch:,} {measure(today)} falls by "
        f"{_percent(-found.losses[where])} "
        f"in {where}."
    )


def _use_reason(found: Beside, today: ListFigures, uncovered: float) -> str:
    before = "" if today.sizes else "Today every step runs without a graph. "
    return (
        f"{before}In the mean {measure(today)} falls by {_percent(found.gain)}, and no scenario "
        f"loses more than "
        f"{_percent(max(0.0, found.worst_loss))}."
    )


def _drop_reason(found: Beside, today: ListFigures, uncovered: float) -> str:
    figures = found.figures
    return (
        f"{figures.num_sizes} sizes instead of {today.num_sizes} give back "
        f"{today.startup_s - figures.startup_s:.1f} s of start-up, "
        f"{(today.graph_bytes - figures.graph_bytes) / 2**30:.2f} GiB and "
        f"{figures.kv_tokens - today.kv_tokens:,} KV tokens, for at most "
        f"{_percent(max(0.0, found.worst_loss))} of {measure(today)}."
    )


def _keep_reason(
    study: Study, choice: Choice, claim: float, best_gain: float, uncovered: float
) -> str:
    today = study.today
    if not today.sizes and not any(item.figures.sizes for item in choice.tried):
        return (
            "These settings keep the engine from capturing any graph, so no list could be tried. "
            "Take out what turns graphs off, then ask again."
        )
    if uncovered >= UNCOVERED and not study.cost.eager_known:
        return (
            f"{_percent(uncovered)} of the decode steps run without a graph, and what that costs "
            "is not known: the step times show steps with graphs only, or without only. Measure "
            "both, then ask again."
        )
    if choice.best is None:
        return "Every other list loses in some scenario; none is as good as what runs today."
    if best_gain > claim / 2:
        return (
            f"The best of {len(choice.tried)} lists gains {_percent(best_gain)} of "
            f"{measure(today)}, less than the step times may be off ({_percent(claim)})."
        )
    return (
        f"No list of the {len(choice.tried)} tried gains more than {_percent(best_gain)} of "
        f"{measure(today)}."
    )
