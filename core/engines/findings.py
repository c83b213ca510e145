"""What a plan means for the steps that will come: cliffs, sizes without use, multiplied graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from core.engines.dispatch import dispatch, spelled_runs, uncovered
from core.engines.ladder import as_ranges, ceil_to
from core.engines.plan import Finding, Mode, Plan, Severity, StepKind

SMALL_PREFILL = 16
"""Tokens below which an eager prefill step is not worth a warning."""

Fix = Callable[[tuple[int, ...]], str]
"""The engine's own text for a list of sizes."""


def plan_findings(plan: Plan, fix: Fix) -> tuple[Finding, ...]:
    """What follows from the plan alone."""
    found = [*plan.findings, *_list_changes(plan, fix)]
    if plan.sizes:
        found += [
            *_truncated(plan, fix),
            *_cliff(plan, fix),
            *_misses_full(plan),
            *_no_use(plan, fix),
        ]
        found += [*_phantoms(plan, fix), *_sparse_prefill(plan), *_multiplied(plan)]
    return tuple(found)


def _unit_word(plan: Plan, kind: StepKind = StepKind.DECODE) -> str:
    return (plan.unit if kind is StepKind.DECODE else plan.prefill_unit).value


def _requests(plan: Plan, size: int) -> int:
    """Running requests of a decode step of that size, rounded up."""
    return -(-size // plan.tokens_per_request)


def _from_to(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def filled(sizes: tuple[int, ...], full_load: int) -> tuple[int, ...]:
    """The list extended to full load, each new size at most a quarter above the one before."""
    added = [max(sizes)]
    while added[-1] < full_load:
        added.append(min(ceil_to(added[-1] * 5 // 4, 8), full_load))
        if added[-1] == added[-2]:
            added[-1] = min(added[-2] + 8, full_load)
    return (*sizes, *added[1:])


def _list_changes(plan: Plan, fix: Fix) -> Iterator[Finding]:
    for dropped in plan.dropped:
        text = f"{as_ranges(dropped.sizes)} will not be captured: {dropped.reason}."
        keep = fix(plan.sizes) if plan.sizes else "Give a list with usable sizes."
        ends = (dropped.sizes[0], dropped.sizes[-1])
        yield Finding("sizes-dropped", Severity.WARNING, text, keep, affected=ends)
    if plan.added:
        text = f"{as_ranges(plan.added)} is captured too, without being asked for."
        yield Finding("sizes-added", Severity.INFO, text, fix(plan.sizes))


def _truncated(plan: Plan, fix: Fix) -> Iterator[Finding]:
    """A maximum that the engine's grid does not meet."""
    asked, largest = plan.asked_max, max(plan.sizes)
    if asked is None or asked <= largest:
        return
    low, high = _requests(plan, largest + 1), _requests(plan, asked)
    whole = ceil_to(asked, plan.tokens_per_request)
    yield Finding(
        "max-truncated",
        Severity.WARNING,
        f"The maximum {asked} is off the engine's grid and becomes {largest}; steps of "
        f"{_from_to(largest + 1, asked)} {_unit_word(plan)} run eager.",
        fix((*plan.sizes, whole)),
        load=f"{_from_to(low, high)} running requests",
        affected=(largest + 1, asked),
    )


def _cliff(plan: Plan, fix: Fix) -> Iterator[Finding]:
    """Decode steps up to full load that no graph holds."""
    if plan.full_load is None or any(graphs.exact for graphs in plan.decode):
        return
    runs = uncovered(plan, plan.full_load)
    if not runs:
        return
    first, last = runs[0][0], runs[-1][1]
    below, above = _requests(plan, first), _requests(plan, last)
    happens = {
        Mode.ERROR: "find no graph and fail",
        Mode.RECOMPILE: "find no bucket and are compiled while serving",
    }.get(plan.above, "run eager")
    text = (
        f"Decode steps of {spelled_runs(runs, plan.tokens_per_request)} {_unit_word(plan)} "
        f"{happens}; the largest graph holds {max(plan.sizes)}. Admitting at most {below - 1} "
        "requests is the other way out."
    )
    yield Finding(
        "above-largest",
        Severity.ERROR if plan.above is Mode.ERROR else Severity.WARNING,
        text,
        fix(filled(plan.sizes, plan.full_load)),
        load=f"{_from_to(below, above)} running requests",
        affected=(first, last),
    )


def _misses_full(plan: Plan) -> Iterator[Finding]:
    """Decode steps that fall from a full to a piecewise graph."""
    modes = [graphs.mode for graphs in plan.decode]
    if plan.full_load is None or modes[:2] != [Mode.FULL, Mode.PIECEWISE]:
        return
    width = plan.tokens_per_request
    sizes = np.arange(width, plan.full_load + 1, width)
    piecewise = sizes[dispatch(plan, sizes).modes == Mode.PIECEWISE.value]
    if len(piecewise):
        first, last = int(piecewise[0]), int(piecewise[-1])
        yield Finding(
            "decode-piecewise",
            Severity.INFO,
            f"Decode steps of {_from_to(first, last)} {_unit_word(plan)} have no full graph and "
            "replay piecewise ones.",
            f"Add {last} to the list for a full graph.",
            load=f"{_from_to(_requests(plan, first), _requests(plan, last))} running requests",
            affected=(first, last),
        )


def _no_use(plan: Plan, fix: Fix) -> Iterator[Finding]:
    """Sizes above the one that holds the widest decode step."""
    if plan.full_load is None:
        return
    enough = next((n for n in plan.sizes if n >= plan.full_load), None)
    spare = tuple(n for n in plan.sizes if enough is not None and n > enough)
    if not spare:
        return
    mixed = plan.prefill and set(spare) <= set(plan.prefill[0].sizes)
    text = f"{as_ranges(spare)}: no decode step is that wide (at most {plan.full_load})"
    if mixed:
        text += "; they serve steps with prompt tokens only."
        yield Finding("mixed-only", Severity.INFO, text, "Keep them for chunked prefill.")
    else:
        useful = tuple(n for n in plan.sizes if n not in spare)
        text += "; they cost capture time and memory for nothing."
        yield Finding("never-used", Severity.WARNING, text, fix(useful), load="never")


def _phantoms(plan: Plan, fix: Fix) -> Iterator[Finding]:
    """Speculation: request counts whose tokens are no captured size."""
    q = plan.tokens_per_request
    if q == 1 or plan.full_load is None or not plan.decode:
        return
    captured = set(plan.decode[0].sizes)
    odd = tuple(n for n in plan.decode[0].sizes if n % q)
    if odd and plan.decode[0].mode is Mode.FULL:
        exact = tuple(sorted({ceil_to(n, q) for n in plan.sizes}))
        yield Finding(
            "not-a-draft-multiple",
            Severity.ERROR,
            f"{as_ranges(odd)} are no multiples of {q} tokens a request; uniform decode steps "
            "fall through to slower graphs or, in some releases, read illegal addresses.",
            fix(exact),
            affected=(odd[0], odd[-1]),
        )
    top = min(plan.full_load, max(captured, default=0))
    inexact = [n // q for n in range(q, top + 1, q) if n not in captured]
    if inexact:
        yield Finding(
            "phantom-requests",
            Severity.INFO,
            f"With {q} tokens a request, decode steps of {some(inexact)} requests have no exact "
            "size and pad by whole phantom requests.",
            fix(tuple(sorted({*(ceil_to(n, q) for n in plan.sizes), *(n * q for n in inexact)}))),
            load=f"{some(inexact)} running requests",
        )


def some(counts: list[int]) -> str:
    text = as_ranges(counts)
    return text if len(text) <= 60 else f"{as_ranges(counts[:5])}, ... ({len(counts)} counts)"


def _sparse_prefill(plan: Plan) -> Iterator[Finding]:
    """Prefill steps below 1/max_ratio of the only bucket that holds them."""
    for graphs in plan.prefill:
        ratio = graphs.max_ratio
        if ratio is None or not graphs.sizes:
            continue
        pairs = zip((0, *graphs.sizes), graphs.sizes, strict=False)
        gaps = [(a + 1, b) for a, b in pairs if b > SMALL_PREFILL and (a + 1) * ratio < b]
        if not gaps:
            continue
        ends = [(low, -int(-high // ratio) - 1) for low, high in gaps]
        yield Finding(
            "prefill-too-sparse",
            Severity.WARNING,
            f"Prefill steps of {spelled_runs(ends)} tokens run eager: padding would more than "
            f"{'double' if ratio == 2 else f'multiply by {ratio:g}'} them.",
            "Add sizes so that each is at most twice the one before.",
            load="short prompts",
            affected=(ends[0][0], ends[-1][1]),
            kind=StepKind.PREFILL,
        )


def _multiplied(plan: Plan) -> Iterator[Finding]:
    if any(count.variants > 1 for count in plan.counts) or len(plan.counts) > 2:
        text = f"{plan.count_text()}."
        fix = "Fewer sizes save that many times over."
        yield Finding("graphs-multiplied", Severity.INFO, text, fix)
