"""The short form of lists in these tests: "1, 2, 4, 8..32/8" is 1, 2, 4, 8, 16, 24, 32."""

from __future__ import annotations


def expand(text: str) -> tuple[int, ...]:
    """The list a short form stands for."""
    sizes: list[int] = []
    for part in text.split(","):
        if ".." in part:
            first, rest = part.split("..")
            last, step = rest.split("/")
            sizes += range(int(first), int(last) + 1, int(step))
        else:
            sizes.append(int(part))
    return tuple(sizes)
