"""When the compiled scanner is used, and what it gives."""

from __future__ import annotations

import importlib.util
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from core.readers.common.blocks import Wanted, count_lines
from core.readers.common.dialect import Dialect
from core.records import FloatArray, IntArray

Scanned = tuple[dict[str, IntArray], IntArray | FloatArray | None]
AHEAD_BLOCKS = 2
COMPILED_FROM_BYTES = 32 << 20
"""Bytes from which loading numba (about a second) is sooner than pandas."""


def use_numba(seen_bytes: int) -> bool:
    """Whether the compiled scanner pays for what is left of a file."""
    if importlib.util.find_spec("numba") is None:
        return False
    return "numba" in sys.modules or seen_bytes >= COMPILED_FROM_BYTES


class ScanAhead:
    """Scans the next blocks on other threads while the last one is being used.

    size_bytes : of the file, where known [bytes]; small files are left to pandas
    """

    def __init__(self, dialect: Dialect, wanted: Wanted, size_bytes: int) -> None:
        self._dialect, self._wanted = dialect, wanted
        self._able = can_scan(dialect, wanted)
        self._seen_bytes = size_bytes

    def run(
        self, blocks: Iterable[tuple[int, bytes]], arrival_kind: str | None
    ) -> Iterator[tuple[int, bytes, Scanned | None]]:
        """(line, block, what the scanner found in it or None), in the order of the file."""
        ahead: deque[tuple[int, bytes, Future[Scanned | None] | None]] = deque()
        with ThreadPoolExecutor(AHEAD_BLOCKS) as pool:
            for line, block in blocks:
                self._seen_bytes += len(block)
                job = None
                if self._able and use_numba(self._seen_bytes):
                    job = pool.submit(scan_block, block, self._dialect, self._wanted, arrival_kind)
                ahead.append((line, block, job))
                if len(ahead) > AHEAD_BLOCKS:
                    yield _done(ahead.popleft())
            while ahead:
                yield _done(ahead.popleft())


def _done(item: Any) -> tuple[int, bytes, Scanned | None]:
    line, block, job = item
    return line, block, None if job is None else job.result()


def can_scan(dialect: Dialect, wanted: Wanted) -> bool:
    """Texts (models, states) and decimal commas are left to pandas."""
    return not wanted.rules and not wanted.tally and dialect.decimal == "."


def scan_block(
    block: bytes, dialect: Dialect, wanted: Wanted, arrival_kind: str | None
) -> Scanned | None:
    """({role: (n,) counts}, raw arrivals) of a clean block; None when it is not clean.

    arrival_kind : "str" for dates, which come back as nanoseconds, "int64" or "float64"
    """
    from core.readers.common.scan_compiled import DECIMAL, STAMP, WHOLE, scan

    kinds = np.zeros(len(dialect.names), np.int8)
    for column, _ in wanted.counts.values():
        kinds[column] = WHOLE
    arrival: Any = wanted.arrival
    if arrival is not None:
        kinds[arrival] = {"str": STAMP, "int64": WHOLE}.get(arrival_kind or "", DECIMAL)
    raw = np.frombuffer(block, np.uint8)
    rows = count_lines(block)
    used = 1 + int(np.flatnonzero(kinds)[-1])
    ints = np.empty((used, rows), np.int64)
    is_float = arrival is not None and kinds[arrival] == DECIMAL
    floats = np.empty((used if is_float else 1, rows if is_float else 1))
    found = scan(raw, ord(dialect.delimiter), kinds, ints, floats)
    if found != rows:
        return None
    counts = {role: ints[column] for role, (column, _) in wanted.counts.items()}
    if arrival is None:
        return counts, None
    return counts, floats[arrival] if is_float else ints[arrival]
