"""How the answer prints times, shares and sizes."""

from __future__ import annotations

import numpy as np

from core.records import IntArray


def us_text(us: float) -> str:
    """7.2 -> '7.2 us'; 1234 -> '1.23 ms'."""
    if abs(us) < 1000:
        return f"{us:.0f} us" if abs(us) >= 10 or us == int(us) else f"{us:.2g} us"
    return f"{us / 1e3:.2f} ms"


def share_text(share: float) -> str:
    """0.19047 -> '19.0 %'."""
    percent = 100 * share
    return f"{percent:.2f} %" if 0 < percent < 1 else f"{percent:.1f} %"


def sizes_text(sizes: IntArray | tuple[int, ...], limit: int = 4) -> str:
    """Sizes as ranges where they lie close: '257 to 310, 512'; many become their ends and count."""
    values = np.asarray(sizes, np.int64)
    if len(values) == 0:
        return "none"
    runs = np.split(values, np.flatnonzero(np.diff(values) > 1) + 1)
    if len(runs) > limit:
        return f"{values[0]} to {values[-1]} ({len(values)} sizes)"
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
