"""A delimited file in blocks of whole rows, and what is wanted from each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from core.errors import FileContentError
from core.readers.common.clock import Clock
from core.records import FloatArray, IntArray

BLOCK_BYTES = 1 << 20
PIECE_BYTES = 64 << 10
NEWLINE = 10
MAX_ROW_BYTES = 32 << 20

TextRule = Callable[[str], str | None]
"""A cell -> the reason to leave its row out, or None to keep it."""


@dataclass
class Wanted:
    """Which columns are needed and what for.

    counts : {role: (column, least value)}; a smaller value leaves the row out
    arrival : column of arrivals, and the clock that reads them
    rules : [(column, rule)] on texts: status, model, kind of call
    zero_reasons : {role: reason} for a count of 0, where that says more than "below 1"
    tally : columns whose distinct texts are counted (models)
    """

    counts: dict[str, tuple[int, int]]
    arrival: int | None = None
    clock: Clock = field(default_factory=Clock)
    rules: list[tuple[int, TextRule]] = field(default_factory=list)
    zero_reasons: dict[str, str] = field(default_factory=dict)
    tally: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def columns(self) -> set[int]:
        """Every column that is looked at."""
        found = {column for column, _ in (*self.counts.values(), *self.rules)} | set(self.tally)
        return found if self.arrival is None else found | {self.arrival}


@dataclass
class Block:
    """Kept rows of a block: {role: (n,) int64} and arrivals (n,) [s]."""

    rows: int
    counts: dict[str, IntArray]
    arrival_s: FloatArray | None


def count_lines(block: bytes) -> int:
    """Line feeds in a block; several times faster than bytes.count where there are many."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == NEWLINE))


def iter_blocks(stream: BinaryIO, first_line: int, name: str) -> Iterator[tuple[int, bytes]]:
    """(line number of its first row, whole rows) until the end.

    first_line : rows start at this line; those before it are skipped
    A line end inside double quotes does not end a row.
    """
    line = 1
    for block in _whole_rows(stream, name):
        while block and line < first_line:
            end = block.find(b"\n") + 1
            block, line = block[end:], line + 1
        if block:
            yield line, block
            line += count_lines(block)


def _whole_rows(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Blocks that end where a row ends."""
    parts: list[bytes] = []
    length = 0
    while data := stream.read(BLOCK_BYTES):
        parts.append(data)
        length += len(data)
        cut = data.rfind(b"\n") + 1
        if cut == 0:
            if length > MAX_ROW_BYTES:
                raise FileContentError(
                    f"{name}: a row longer than {MAX_ROW_BYTES >> 20} MiB; that is no table: "
                    "check that its lines end."
                )
            continue
        whole = b"".join(parts)
        rest = data[cut:]
        block = whole[: len(whole) - len(rest)]
        # a quote that is still open after so many bytes is a stray one
        if length <= MAX_ROW_BYTES // 2 and b'"' in block and block.count(b'"') % 2:
            parts = [whole]
            continue
        yield block
        parts, length = [rest], len(rest)
    last = b"".join(parts)
    if last:
        yield last if last.endswith(b"\n") else last + b"\n"


def iter_pieces(line: int, block: bytes) -> Iterator[tuple[int, bytes]]:
    """A block in smaller ones, each with the line number of its first row."""
    start = 0
    while start < len(block):
        end = block.find(b"\n", min(start + PIECE_BYTES, len(block) - 1)) + 1
        end = end or len(block)
        yield line, block[start:end]
        line += block.count(b"\n", start, end)
        start = end
