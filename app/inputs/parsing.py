"""What a person types for a list of sizes."""

from __future__ import annotations

import re

from core.errors import CaptureSizesError
from core.records import normalised_sizes


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
        sizes.extend(range(first, min(last, first + 100_000 * step) + 1, step))
    return normalised_sizes(sizes)
