"""What to do with a bucket: capture at start, on first use, leave eager, or drop."""

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
    even_at: float | None,
    saves_from: int | None,
    pays_back_s: float | None,
    uptime_s: float,
) -> tuple[Verdict, str]:
    """What to do with a bucket and why, from what break_even found for it.

    never hit: drop. No gain: leave eager. Pays back within this traffic: at start; within the
    uptime, or nobody knows when: on first use; later: leave eager.
    """
    if not hits:
        return Verdict.DROP, "No step of this traffic runs it."
    if saves_from is None or even_at is None:
        return Verdict.LEAVE_EAGER, (
            f"Never pays back: a replay takes {-net_us:,.1f} us more than the eager steps it "
            "stands for."
        )
    if hits >= saves_from:
        return Verdict.AT_START, (
            f"Pays back after {even_at:,.0f} steps; this traffic has {hits:,}."
        )
    short = f"Needs {saves_from:,} steps to save; this traffic has {hits:,}"
    if pays_back_s is None or pays_back_s <= uptime_s:
        when = "" if pays_back_s is None else f", so it pays back after {_span(pays_back_s)}"
        return Verdict.ON_FIRST_USE, f"{short}{when}. Start-up need not wait for it."
    return Verdict.LEAVE_EAGER, (
        f"{short}, so it pays back after {_span(pays_back_s)}, later than the engine's next "
        f"restart ({_span(uptime_s)})."
    )


def _span(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.1f} s"
