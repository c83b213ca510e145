"""Lengths of time that need not be exact: how old something is, how long it will take."""

from __future__ import annotations


def rough_text(seconds: float) -> str:
    """12 s, 5 min, 3 h, 4 days: whole units, rounded."""
    seconds = max(0.0, seconds)
    for limit, length, unit in ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"
