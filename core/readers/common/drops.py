"""Rows left out: counted by reason, with the first few line numbers."""

from __future__ import annotations

from collections.abc import Iterable

MAX_EXAMPLES = 5


class Drops:
    """Counts by reason; `examples` holds at most five line (or row) numbers a reason."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._examples: dict[str, list[int]] = {}

    def add(self, reason: str, line: int | None = None, rows: int = 1) -> None:
        """One more reason to leave `rows` rows out."""
        if rows:
            self.counts[reason] = self.counts.get(reason, 0) + rows
            self._remember(reason, () if line is None else (line,))

    def add_lines(self, reason: str, lines: Iterable[int], rows: int) -> None:
        """`rows` rows for one reason; only the first few of `lines` are looked at."""
        if rows:
            self.counts[reason] = self.counts.get(reason, 0) + rows
            self._remember(reason, lines)

    def _remember(self, reason: str, lines: Iterable[int]) -> None:
        kept = self._examples.setdefault(reason, [])
        for line in lines:
            if len(kept) >= MAX_EXAMPLES:
                return
            kept.append(int(line))

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def examples(self) -> dict[str, tuple[int, ...]]:
        return {reason: tuple(lines) for reason, lines in self._examples.items() if lines}
