"""Lists and numbers as they are typed on the command line."""

from __future__ import annotations

import argparse
import math


def whole_list(text: str) -> list[int]:
    """`1,2,4` as [1, 2, 4]; spaces are fine. Raises ArgumentTypeError with one sentence."""
    parts = [part for part in text.replace(",", " ").split() if part]
    try:
        return [int(part) for part in parts]
    except ValueError as error:
        bad = next(part for part in parts if not part.lstrip("+-").isdigit())
        raise argparse.ArgumentTypeError(
            f"{bad!r} is no whole number; give a list like 1,2,4"
        ) from error


def number(text: str) -> float:
    """A finite number. Raises ArgumentTypeError with one sentence."""
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from error
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not finite")
    return value


def percent(share: float) -> float:
    """A share as a percentage, without the digits that float arithmetic makes up."""
    return round(100.0 * share, 6)


def sizes_text(sizes: list[int] | tuple[int, ...]) -> str:
    return ",".join(map(str, sizes)) if sizes else "none"
