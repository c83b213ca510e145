"""What is amiss with a set, and what an edit of it did, in words."""

from __future__ import annotations

from collections.abc import Sequence

from core.choice.trade_off import TradeOff, TradePoint

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


def _unused(point: TradePoint) -> str | None:
    if not point.unused:
        return None
    return (
        f"{point.name}: {len(point.unused)} of {point.num_graphs} graphs are never used by this "
        "traffic."
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
