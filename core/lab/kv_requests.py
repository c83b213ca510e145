"""Requests that grow, end and leave their blocks to others: the batches of each decode step.

A request's k-th token is the number `token` + k, its KV entry is the same number, and its result
is the sum of its entries so far: small enough to check by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.errors import SettingError

BLOCK_SIZE = 2
WIDTH = 4
"""Blocks in a row of the table: a request holds up to 8 tokens."""
NUM_BLOCKS = 9
"""Block 0 is nobody's: the safe slot lies there."""


@dataclass(frozen=True)
class Request:
    """Arrives before a step and takes part in so many."""

    name: str
    token: int
    first_step: int
    num_tokens: int

    def live(self, step: int) -> bool:
        return self.first_step <= step < self.first_step + self.num_tokens


REQUESTS = (
    Request("A", 10, 0, 8),
    Request("B", 100, 0, 3),
    Request("C", 1000, 1, 2),
    Request("D", 5000, 4, 4),
)


@dataclass(frozen=True)
class BatchRow:
    """What the step gets for one live request, and the sum that it must give."""

    request: str
    token: float
    slot: int
    blocks: tuple[int, ...]
    length: int
    eager: float


class Blocks:
    """Who holds which block; the highest free one goes first, so the last is in use early."""

    def __init__(self) -> None:
        self._free = list(range(1, NUM_BLOCKS))
        self._tables: dict[str, list[int]] = {}
        self.owners: dict[int, list[str]] = {}

    def release_all_but(self, names: set[str]) -> None:
        """Blocks of ended requests; the next request takes them first."""
        for name in [name for name in self._tables if name not in names]:
            self._free.extend(self._tables.pop(name))

    def table(self, name: str, tokens: int) -> tuple[int, ...]:
        """The request's blocks, with room for so many tokens. Raises SettingError."""
        table = self._tables.setdefault(name, [])
        while len(table) * BLOCK_SIZE < tokens:
            if not self._free or len(table) == WIDTH:
                raise SettingError(f"No block is left for token {tokens} of request {name}.")
            table.append(self._free.pop())
            self.owners.setdefault(table[-1], []).append(name)
        return tuple(table)


def batches(requests: Sequence[Request], blocks: Blocks) -> Iterator[list[BatchRow]]:
    """One batch a step, live requests first and without gaps. Raises SettingError."""
    for step in range(max(r.first_step + r.num_tokens for r in requests)):
        live = [request for request in requests if request.live(step)]
        blocks.release_all_but({request.name for request in live})
        yield [_row(request, step - request.first_step, blocks) for request in live]


def _row(request: Request, k: int, blocks: Blocks) -> BatchRow:
    table = blocks.table(request.name, k + 1)
    slot = table[k // BLOCK_SIZE] * BLOCK_SIZE + k % BLOCK_SIZE
    total = sum(request.token + i for i in range(k + 1))
    return BatchRow(request.name, request.token + k, slot, table, k + 1, float(total))
