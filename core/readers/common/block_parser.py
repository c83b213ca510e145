"""Blocks of a delimited file -> numbers: fast where a block is clean, row by row where it is not.

A clean block goes through pandas' C parser with the needed columns alone. A block with a bad row
is cut into smaller ones, and only those that hold bad rows are read cell by cell, so that each row
left out has its line number and its reason.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.readers.common.blocks import Block, Wanted, count_lines, iter_pieces
from core.readers.common.cells import MAX_COUNT, is_blank, parse_count, plain_number
from core.readers.common.columns import label_of
from core.readers.common.dialect import Dialect, looks_like_time
from core.readers.common.drops import Drops
from core.readers.common.quoted_rows import OPEN_QUOTE, OpenQuotes, iter_quoted_rows
from core.readers.common.reasons import Reasons, add_tally
from core.readers.common.scan import ScanAhead
from core.records import FloatArray, IntArray


class BlockParser:
    """Parses blocks of one file; `drops`, `comments` and `open_quotes` add up over them.

    size_bytes : of the file, where known [bytes]; large files are worth a compiled scanner
    """

    def __init__(self, dialect: Dialect, wanted: Wanted, drops: Drops, size_bytes: int = 0) -> None:
        self.dialect = dialect
        self.wanted = wanted
        self.drops = drops
        self.comments = 0
        self.open_quotes = OpenQuotes()
        self._arrival_kind: str | None = None
        self._ahead = ScanAhead(dialect, wanted, size_bytes)

    def parse_all(self, blocks: Iterable[tuple[int, bytes]]) -> Iterator[Block]:
        """Rows of (line number, block), in the order of the file."""
        kind = None if self.wanted.arrival is None else self._arrival_dtype()
        for line, block, scanned in self._ahead.run(blocks, kind):
            quick = None if scanned is None else self._ruled(line, *scanned, {})
            if quick is not None:
                yield quick
            else:
                yield from self._parse(line, block)

    def _parse(self, line: int, block: bytes) -> Iterator[Block]:
        fast = self._by_pandas(line, block)
        if fast is not None:
            yield fast
            return
        quoted, plain = _past_the_quotes(block)
        if quoted:
            yield self._slow(line, quoted)
        for start, piece in iter_pieces(line + count_lines(quoted), plain):
            yield self._by_pandas(start, piece) or self._slow(start, piece)

    # clean blocks ------------------------------------------------------------------------------

    def _by_pandas(self, line: int, block: bytes) -> Block | None:
        import pandas as pd

        wanted, lines = self.wanted, count_lines(block)
        delimiter = self.dialect.delimiter.encode()
        if block.count(delimiter) != lines * (len(self.dialect.names) - 1):
            return None  # a row with more or fewer cells, or a quoted delimiter
        dtypes: Any = {index: "int64" for index, _ in wanted.counts.values()}
        texts = [*(column for column, _ in wanted.rules), *wanted.tally]
        dtypes.update(dict.fromkeys(texts, "str"))
        if wanted.arrival is not None:
            dtypes[wanted.arrival] = self._arrival_dtype()
        try:
            with np.errstate(invalid="ignore"):  # 1e400 is found out below
                frame = pd.read_csv(
                    io.BytesIO(block), sep=self.dialect.delimiter, header=None,
                    usecols=sorted(dtypes), dtype=dtypes, decimal=self.dialect.decimal,
                    na_filter=False, engine="c", low_memory=False,
                )  # fmt: skip
        except (ValueError, OverflowError, pd.errors.ParserError):
            return None
        if len(frame) != lines:
            return None  # blank lines: line numbers would drift
        counts = {role: frame[column].to_numpy() for role, (column, _) in wanted.counts.items()}
        arrival = None if wanted.arrival is None else frame[wanted.arrival]
        if arrival is not None and self._arrival_kind != "str":
            arrival = arrival.to_numpy()
        return self._ruled(line, counts, arrival, {column: frame[column] for column in texts})

    def _arrival_dtype(self) -> str:
        if self._arrival_kind is None:
            index = self.wanted.arrival or 0
            cells = [row[index] for row in self.dialect.sample if index < len(row)]
            cells = [cell for cell in cells if not is_blank(cell)]
            times = sum(looks_like_time(cell) for cell in cells)
            numbers = [plain_number(cell, self.dialect.decimal) for cell in cells]
            whole = all(text is None or text.lstrip("+-").isdigit() for text in numbers)
            self._arrival_kind = (
                "str" if 2 * times > len(cells) else "int64" if whole else "float64"
            )
        return self._arrival_kind

    def _ruled(
        self, line: int, counts: dict[str, IntArray], arrival: Any, texts: dict[int, Any]
    ) -> Block | None:
        """Apply rules, least values and the clock to whole columns."""
        rows = len(next(iter(counts.values())))
        reasons = Reasons(rows)
        for column, rule in self.wanted.rules:
            reasons.by_text(texts[column], rule)
        for role, (_, least) in self.wanted.counts.items():
            values = counts[role]
            if values.max(initial=0) > MAX_COUNT:
                return None
            if values.min(initial=least) >= least:
                continue
            zero = self.wanted.zero_reasons.get(role)
            if zero:
                reasons.mark(values == 0, zero)
            reasons.mark(values < least, f"{label_of(role)} is below {least}")
        arrival_s = None
        if arrival is not None:
            if arrival.dtype.kind == "f" and not np.isfinite(arrival).all():
                return None
            arrival_s = self._seconds(arrival, reasons)
        for column, tally in self.wanted.tally.items():
            add_tally(texts[column], tally)
        keep = reasons.settle(line, self.drops)
        if keep is not None:
            counts = {role: values[keep] for role, values in counts.items()}
            arrival_s = None if arrival_s is None else arrival_s[keep]
        return Block(rows, counts, arrival_s)

    def _seconds(self, arrival: Any, reasons: Reasons) -> FloatArray:
        """Seconds of a whole column: dates as texts, dates as nanoseconds, or numbers."""
        clock = self.wanted.clock
        if self._arrival_kind != "str":
            return clock.numbers(arrival)
        if isinstance(arrival, np.ndarray) and arrival.dtype == np.int64:
            return clock.zoneless_ns(arrival)
        seconds, good = clock.texts(arrival)
        reasons.mark(~good, "arrival is not a time")
        return seconds

    # blocks with bad rows ----------------------------------------------------------------------

    def _slow(self, line: int, block: bytes) -> Block:
        text = block.decode("utf-8", "replace").replace("\0", "")
        kept = _Kept(list(self.wanted.counts))
        rows = 0
        for found in iter_quoted_rows(text, self.dialect.delimiter, self._may_be_row):
            cells, start = found.cells, line + found.line
            if cells is None:
                rows += 1
                self.drops.add("row cannot be parsed", start)
                continue
            if not cells or (len(cells) == 1 and not cells[0].strip()):
                continue
            if cells[0].lstrip().startswith("#"):
                self.comments += 1
                continue
            rows += 1
            reason = self._open_row(cells, start) if found.is_open else None
            reason = reason or self._row(cells, kept)
            if reason:
                self.drops.add(reason, start)
        return self._finish(rows, kept)

    def _may_be_row(self, cells: Sequence[str]) -> bool:
        """Whether cells over several lines are a row: as many as there are names, the line ends
        in none that is needed."""
        width = len(self.dialect.names)
        if len(cells) < width or any(cell.strip() for cell in cells[width:]):
            return False
        return not any("\n" in cells[column] for column in self.wanted.columns)

    def _open_row(self, cells: Sequence[str], line: int) -> str | None:
        """A row whose last cell opens a quote: the reason to leave it out, where that took cells
        that are needed."""
        self.open_quotes.add(line)
        last = len(cells) - 1
        is_whole = last == len(self.dialect.names) - 1 and last not in self.wanted.columns
        return None if is_whole else OPEN_QUOTE

    def _row(self, row: list[str], kept: _Kept) -> str | None:
        """Append a row to kept, or return the reason to leave it out."""
        names = self.dialect.names
        if [cell.strip() for cell in row] == list(names) and self.dialect.has_header:
            return "header line repeated"
        if any(cell.strip() for cell in row[len(names) :]):
            return "row has more cells than the header"
        cell = lambda index: row[index] if index < len(row) else ""  # noqa: E731
        for column, tally in self.wanted.tally.items():
            tally[cell(column)] = tally.get(cell(column), 0) + 1
        for column, rule in self.wanted.rules:
            reason = rule(cell(column))
            if reason:
                return reason
        values: list[int] = []
        for role, (column, least) in self.wanted.counts.items():
            value = parse_count(cell(column), label_of(role), self.dialect.decimal)
            if isinstance(value, str):
                return value
            if value == 0 and role in self.wanted.zero_reasons:
                return self.wanted.zero_reasons[role]
            if value < least:
                return f"{label_of(role)} is below {least}"
            values.append(value)
        if self.wanted.arrival is not None:
            arrival = self._arrival_cell(cell(self.wanted.arrival))
            if arrival is None:
                blank = is_blank(cell(self.wanted.arrival))
                return f"arrival is {'blank' if blank else 'not a time'}"
            kept.arrivals.append(arrival)
        kept.append(values)
        return None

    def _arrival_cell(self, cell: str) -> Any:
        """The raw arrival: text, int or float as the file's other arrivals are."""
        if is_blank(cell):
            return None
        if self._arrival_dtype() == "str":
            return cell.strip()
        number = plain_number(cell, self.dialect.decimal)
        if number is None:
            return None
        if number.lstrip("+-").isdigit() and abs(int(number)) < 2**63:
            return int(number)
        value = float(number)
        return value if np.isfinite(value) else None

    def _finish(self, rows: int, kept: _Kept) -> Block:
        counts = {role: np.array(values, np.int64) for role, values in kept.counts.items()}
        arrival_s = None
        if self.wanted.arrival is not None:
            arrival_s, good = self._clocked(kept.arrivals)
            if not good.all():
                self.drops.add("arrival is not a time", None, int((~good).sum()))
                counts = {role: values[good] for role, values in counts.items()}
                arrival_s = arrival_s[good]
        return Block(rows, counts, arrival_s)

    def _clocked(self, raw: list[Any]) -> tuple[FloatArray, NDArray[np.bool_]]:
        clock = self.wanted.clock
        if self._arrival_dtype() == "str" and raw:
            return clock.texts(raw)
        whole = all(isinstance(value, int) for value in raw)
        values = np.array(raw, np.int64 if whole else np.float64)
        return clock.numbers(values), np.ones(len(raw), bool)


def _past_the_quotes(block: bytes) -> tuple[bytes, bytes]:
    """The lines up to the last one with a quote, and those after it, which need no such care."""
    end = block.rfind(b'"') + 1
    end = block.find(b"\n", end) + 1 if end else 0
    return block[:end], block[end:]


@dataclass
class _Kept:
    roles: list[str]
    counts: dict[str, list[int]] = field(default_factory=dict)
    arrivals: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = {role: [] for role in self.roles}

    def append(self, values: Sequence[int]) -> None:
        for role, value in zip(self.roles, values, strict=True):
            self.counts[role].append(value)
