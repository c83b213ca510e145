"""How the answer prints times, shares and sizes."""

from __future__ import annotations

import numpy as np

from core.records import IntArray, Origin


def us_text(us: float) -> str:
    """7.2 -> '7.2 µs'; 1234 -> '1.23 ms'."""
    if abs(us) < 1000:
        return f"{us:.0f} µs" if abs(us) >= 10 or us == int(us) else f"{us:.2g} µs"
    return f"{us / 1e3:.2f} ms"


def share_text(share: float) -> str:
    """0.19047 -> '19.0 %'."""
    percent = 100 * share
    return f"{percent:.2f} %" if 0 < percent < 1 else f"{percent:.1f} %"


def those_are(share: float, one: str = "step") -> str:
    """0 -> 'no step is'; 1 -> 'every step is'; 0.25 -> '25.0 % of the steps are'."""
    if share <= 0:
        return f"no {one} is"
    return f"every {one} is" if share >= 1 else f"{share_text(share)} of the {one}s are"


def some(share: float, of: str = "the steps") -> str:
    """0 -> 'none of the steps'; 1 -> 'all of the steps'; 0.25 -> '25.0 % of the steps'."""
    if share <= 0:
        return f"none of {of}"
    return f"all of {of}" if share >= 1 else f"{share_text(share)} of {of}"


def capitalised(text: str) -> str:
    """The first letter alone: names further on keep theirs."""
    return text[:1].upper() + text[1:]


def sourced(origin: Origin, source: str) -> str:
    """'assumed: replay ...'; the word is not said twice."""
    return f"{origin.value}: {source.removeprefix(f'{origin.value}:').strip()}"


def sizes_text(sizes: IntArray | tuple[int, ...], limit: int = 4) -> str:
    """Sizes as ranges where they lie close: '257 to 310, 512'; many become their ends and count."""
    values = np.asarray(sizes, np.int64)
    if len(values) == 0:
        return "none"
    runs = np.split(values, np.flatnonzero(np.diff(values) > 1) + 1)
    if len(runs) > limit:
        return f"{values[0]} to {values[-1]} ({len(values)} sizes)"
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
