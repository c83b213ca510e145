"""Numbers with the noun they count: 1 row, 2 rows."""

from __future__ import annotations


def counted(number: int, plural: str) -> str:
    """'1 row', '1,024 rows'. plural : of a noun, or a phrase that ends in one, that adds an s."""
    return f"{number:,} {plural.removesuffix('s') if number == 1 else plural}"


def counted_range(first: int, last: int, plural: str) -> str:
    """'1 request', '1 to 64 requests'."""
    return counted(last, plural) if first == last else f"{first:,} to {counted(last, plural)}"
