"""Lists and numbers as they are typed on the command line."""

from __future__ import annotations

import argparse
import math


def whole_list(text: str) -> list[int]:
    """`1,2,4` as [1, 2, 4]; spaces are fine. Raises ArgumentTypeError with one sentence."""
    return [_whole(part) for part in text.replace(",", " ").split()]


def _whole(part: str) -> int:
    try:
        value = int(part)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{part!r} is no whole number; give a list like 1,2,4"
        ) from error
    if abs(value) >= 2**31:
        raise argparse.ArgumentTypeError(f"{part} is too large for the size of a step")
    return value


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
