"""The "CUDAGraph Stats" tables of a vLLM log, added up."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from core.logs.bars import is_bar
from core.logs.lines import LogLine
from core.readers.common.drops import Drops
from core.records import Origin, SizeUnit, StepHistogram

COLUMNS = ("Unpadded Tokens", "Padded Tokens", "Num Paddings", "Runtime Mode", "Count")
MODES = ("FULL", "PIECEWISE", "NONE")
CUT_ROW = "table row is cut or damaged"

_MODE = re.compile(r"^- Mode:\s*(\w+)")
_SIZES = re.compile(r"^- Capture sizes:\s*\[([\d,\s]*)(\])?")
_RULE = re.compile(r"^\|[\s|:\-]+\|?$")
_DIGITS = re.compile(r"[\d,\s\]]*")
_DATED = re.compile(r"\d\d-\d\d \d\d:\d\d:\d\d$")


@dataclass
class _Open:
    """A table being read, of one process: engines print at the same time."""

    columns: bool = False
    rows: int = 0
    sizes: str | None = None
    partial: str = ""


@dataclass
class GraphTables:
    """Feed it every line of the log.

    sizes : {unpadded tokens: steps} over all tables
    """

    drops: Drops
    sizes: Counter[int] = field(default_factory=Counter)
    padded: Counter[int] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    capture_sizes: tuple[int, ...] = ()
    rows: int = 0
    tables: int = 0
    headless: int = 0
    empty: int = 0
    padding_slots: int = 0
    mode_setting: str = ""
    _open: dict[str, _Open] = field(default_factory=dict)
    _last: dict[str, str] = field(default_factory=dict)
    _times: list[str] = field(default_factory=list)
    _lists: set[tuple[int, ...]] = field(default_factory=set)

    def feed(self, line: LogLine) -> None:
        """Take note of a line if it belongs to a table or its header."""
        text = line.message
        if is_bar(text):
            return
        table = self._table_of(line)
        if table.sizes is not None:
            self._continue_sizes(table, text)
        elif "CUDAGraph Config Settings" in text:
            self._close(table)
        elif match := _MODE.match(text):
            self.mode_setting = match[1]
        elif match := _SIZES.match(text):
            table.sizes = match[1]
            if match[2]:
                self._keep_sizes(table)
        elif "Unpadded Tokens" in text and text.startswith("|"):
            self._begin(table, line)
        elif text.startswith("|") or table.partial:
            self._row(table, line)
        elif "CUDAGraph Stats" not in text and table.columns and "|" not in text and text:
            self._close(table)

    def _table_of(self, line: LogLine) -> _Open:
        """The table of the line's process; a wrapped rest has no prefix and goes to the last."""
        last = self._open.get(self._last.get(line.source, ""))
        if last and not line.process and not line.time and (last.partial or last.sizes is not None):
            return last
        self._last[line.source] = line.speaker
        return self._open.setdefault(line.speaker, _Open())

    def end(self) -> None:
        """The log is over."""
        for table in self._open.values():
            self._close(table)

    def _begin(self, table: _Open, line: LogLine) -> None:
        if table.columns:
            self._close(table)
        table.columns, table.rows = True, 0
        self.tables += 1
        if _DATED.match(line.time):
            self._times.append(line.time)

    def _row(self, table: _Open, line: LogLine) -> None:
        if table.partial and _is_whole(line.message):
            self._cut(table, line.number)
        text = table.partial + line.message
        if _RULE.match(text):
            table.partial = ""
            return
        if not _is_whole(text) and not table.partial:
            table.partial = text  # wrapped by a terminal: the rest is on the next line
            return
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        table.partial = ""
        self.rows += 1
        if not table.columns:
            self.headless += 1
            table.columns = True
        table.rows += 1
        row = _cells(cells)
        if row is None:
            self.drops.add(CUT_ROW, line.number)
            return
        unpadded, padded, count, mode = row
        self.sizes[unpadded] += count
        self.modes[mode] += count
        if mode != "NONE":
            self.padded[padded] += count
            self.padding_slots += (padded - unpadded) * count

    def _continue_sizes(self, table: _Open, text: str) -> None:
        """A list of sizes that was wrapped."""
        if not _DIGITS.fullmatch(text):
            self._keep_sizes(table, cut=True)
            return
        table.sizes = f"{table.sizes} {text.rstrip().rstrip(']')}"
        if "]" in text:
            self._keep_sizes(table)

    def _keep_sizes(self, table: _Open, cut: bool = False) -> None:
        numbers = re.findall(r"\d+", table.sizes or "")
        table.sizes = None
        if not cut and numbers:
            self.capture_sizes = tuple(sorted({int(n) for n in numbers if int(n) > 0}))
            self._lists.add(self.capture_sizes)

    def _cut(self, table: _Open, line: int | None = None) -> None:
        self.rows += 1
        self.drops.add(CUT_ROW, line)
        table.partial = ""

    def _close(self, table: _Open) -> None:
        if table.partial:
            self._cut(table)
        if table.columns and table.rows == 0:
            self.empty += 1
        table.columns, table.rows = False, 0

    def histogram(self) -> StepHistogram | None:
        """Steps by unpadded size; None without a row."""
        if not self.sizes:
            return None
        return StepHistogram.from_mapping(
            self.sizes,
            unit=SizeUnit.TOKENS,
            origin=Origin.MEASURED,
            duration_s=self.duration_s,
            source="vLLM CUDAGraph Stats",
        )

    @property
    def duration_s(self) -> float | None:
        """Time that the tables cover: the span of their times plus one interval [s]."""
        seconds = [_seconds(time) for time in dict.fromkeys(self._times)]
        gaps = [b - a for a, b in zip(seconds, seconds[1:], strict=False) if b > a]
        if not gaps or len(gaps) < len(seconds) - 1:
            return None
        return float(sum(gaps) + sorted(gaps)[len(gaps) // 2])

    @property
    def facts(self) -> dict[str, Any]:
        if not self.tables and not self.rows:
            return {}
        graph = sum(n for mode, n in self.modes.items() if mode != "NONE")
        return {
            "tables": self.tables,
            "runtime_modes": dict(self.modes),
            "cudagraph_mode": self.mode_setting,
            "graph_steps": graph,
            "eager_steps": self.modes.get("NONE", 0),
            "useful_slots": sum(size * n for size, n in self.sizes.items()),
            "padding_slots": self.padding_slots,
            "padded_sizes": {str(size): n for size, n in sorted(self.padded.items())},
        }

    @property
    def warnings(self) -> list[str]:
        found = []
        if self.headless:
            found.append(
                f"{self.headless} tables begin in the middle: the log was cut, so steps before "
                "that are missing."
            )
        if self.empty:
            found.append(f"{self.empty} tables have a header and no rows: the log was cut there.")
        if len(self._lists) > 1:
            found.append(
                f"The log holds {len(self._lists)} different lists of capture sizes (a restart, or "
                "several servers); the last one is shown, and steps are added over all."
            )
        return found


def _is_whole(text: str) -> bool:
    return text.startswith("|") and text.endswith("|") and text.count("|") == len(COLUMNS) + 1


def _cells(cells: list[str]) -> tuple[int, int, int, str] | None:
    """(unpadded, padded, count, mode) of a row that adds up; None otherwise."""
    if len(cells) != len(COLUMNS) or cells[3] not in MODES:
        return None
    try:
        unpadded, padded, paddings, count = (int(cells[i].replace(",", "")) for i in (0, 1, 2, 4))
    except ValueError:
        return None
    fits = unpadded >= 1 and padded - unpadded == paddings >= 0 and 0 < count < 2**53
    return (unpadded, padded, count, cells[3]) if fits else None


def _seconds(time: str) -> float:
    """ "MM-DD hh:mm:ss" as seconds of its year; a new year makes the span unknown."""
    month, day = int(time[0:2]), int(time[3:5])
    hours, minutes, seconds = (int(part) for part in time[6:].split(":"))
    days = sum((31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[: month - 1]) + day
    return days * 86400 + hours * 3600 + minutes * 60 + seconds
