"""What to do with a bucket: capture at start, on first use, leave to what is there, or drop."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

UPTIME_S = 24 * 3600.0
"""How long an engine runs between restarts unless told otherwise: a day, an assumption."""


class Verdict(StrEnum):
    """What to do with a bucket."""

    AT_START = "capture at start"
    ON_FIRST_USE = "capture on first use"
    LEAVE_EAGER = "leave eager"
    LEAVE_TO_LARGER = "leave to the larger bucket"
    DROP = "drop: never used"


@dataclass(frozen=True)
class Horizon:
    """What is known of time: the traffic's span and how long an engine stays up."""

    duration_s: float | None
    uptime_s: float

    def seconds(self, steps: float | None, hits: int) -> float | None:
        """Time in which this traffic makes `steps` steps, at `hits` a span; None = unknown."""
        span = self.duration_s
        if steps is None or not span or not hits:
            return None
        return steps * span / hits


def verdict_of(
    hits: int,
    net_us: float,
    saves_from: int | None,
    pays_back_s: float | None,
    uptime_s: float,
    larger: bool = False,
) -> tuple[Verdict, str]:
    """What to do with a bucket and why, from its break-even against what its steps would do.

    larger : its steps would run in a larger captured bucket, else eager; all else is against that
    never hit: drop. No gain: leave it to that. Pays back within this traffic: at start; within the
    uptime, or nobody knows when: on first use; later: leave it to that.
    """
    if not hits:
        return Verdict.DROP, "No step of this traffic runs it."
    otherwise = Verdict.LEAVE_TO_LARGER if larger else Verdict.LEAVE_EAGER
    if saves_from is None:
        what = "the larger bucket" if larger else "the eager steps it stands for"
        return otherwise, f"Never pays back: a replay takes {_no_less(net_us)} {what}."
    if hits >= saves_from:
        return Verdict.AT_START, (
            f"Saves from step {saves_from:,} on; this traffic has {hits:,} of its steps."
        )
    short = f"Needs {saves_from:,} steps to save; this traffic has {hits:,}"
    if pays_back_s is None or pays_back_s <= uptime_s:
        when = "" if pays_back_s is None else f", so it pays back after {_span(pays_back_s)}"
        return Verdict.ON_FIRST_USE, f"{short}{when}. Start-up need not wait for it."
    return otherwise, (
        f"{short}, so it pays back after {_span(pays_back_s)}, later than the engine's next "
        f"restart ({_span(uptime_s)})."
    )


def _no_less(net_us: float) -> str:
    return f"{-net_us:,.1f} µs more than" if net_us < 0 else "as long as"


def _span(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.1f} s"
