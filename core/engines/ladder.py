"""Ascending ladders of sizes, the parts that every engine's list is made of."""

from __future__ import annotations

from collections.abc import Iterable


def steps(first: int, last: int, step: int) -> list[int]:
    """first, first + step, ... up to and including last where it is met."""
    return list(range(first, last + 1, step))


def ladder(parts: Iterable[int], largest: int | None = None) -> tuple[int, ...]:
    """Sorted, without repeats, 1 or more; clipped to `largest` when given."""
    return tuple(sorted({n for n in parts if n >= 1 and (largest is None or n <= largest)}))


def powers_of_two(largest: int) -> list[int]:
    """1, 2, 4, ... up to and including largest where it is met."""
    return [1 << i for i in range(max(largest, 0).bit_length())]


def ceil_to(size: int, multiple: int) -> int:
    """The smallest multiple that is not below size."""
    return -(-size // multiple) * multiple


def as_ranges(sizes: Iterable[int]) -> str:
    """Sizes for people: runs of equal distance as first..last/step ("1, 2, 4, 8..256/8")."""
    rest = list(sizes)
    words: list[str] = []
    while rest:
        run = _run(rest)
        if run > 4:
            words.append(f"{rest[0]}..{rest[run - 1]}/{rest[1] - rest[0]}")
        else:
            run = 1
            words.append(str(rest[0]))
        rest = rest[run:]
    return ", ".join(words)


def _run(sizes: list[int]) -> int:
    if len(sizes) < 2:
        return len(sizes)
    count = 2
    while count < len(sizes) and sizes[count] - sizes[count - 1] == sizes[1] - sizes[0]:
        count += 1
    return count
