"""What a person types for a list of sizes."""

from __future__ import annotations

import re

from core.errors import CaptureSizesError
from core.records import normalised_sizes

MAX_OF_A_RANGE = 100_000
"""More than any step has sizes; a slip of the keyboard gives a range of a billion."""


def parse_sizes(text: str, what: str = "a capture size") -> tuple[int, ...]:
    """'1, 2 4;8' or '[1,2,4,8]' or '8..64/8' pieces -> ascending sizes.

    Raises CaptureSizesError naming the piece that is not `what`.
    """
    sizes: list[int] = []
    for piece in re.split(r"[\s,;]+", text.strip().strip("[]")):
        if not piece:
            continue
        match = re.fullmatch(r"(\d{1,9})(?:\.\.(\d{1,9})(?:/(\d{1,9}))?)?", piece)
        if match is None or match[3] == "0":
            raise CaptureSizesError(
                f"'{piece}' is not {what}; write whole numbers such as 1, 2, 4, 8, "
                "or a range such as 8..64/8."
            )
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        piece_sizes = range(first, last + 1, step)
        if len(piece_sizes) > MAX_OF_A_RANGE:
            raise CaptureSizesError(
                f"'{piece}' is {len(piece_sizes):,} sizes; a range gives at most "
                f"{MAX_OF_A_RANGE:,}. Write a larger step, such as {first}..{last}/1000."
            )
        sizes.extend(piece_sizes)
    return normalised_sizes(sizes)
