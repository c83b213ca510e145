"""JSON objects, one a request: read as they come, or out of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from core.readers.common.cells import count_of, is_blank, plain_number
from core.readers.common.clock import Clock
from core.readers.common.drops import Drops
from core.readers.common.grow import FloatColumn, IntColumn
from core.readers.common.head import Head, parse_json
from core.readers.common.requests import Requests
from core.readers.common.source import Source
from core.readers.common.table import FAILED

BATCH_ROWS = 50_000
NOT_JSON = "line is not JSON (cut or damaged)"
NOT_OBJECT = "item is not an object"


def iter_objects(source: Source, head: Head, drops: Drops) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line or item number from 1, object); anything else is counted in drops."""
    shape = head.json
    if shape is not None and not shape.lines:
        document = shape.document
        items = document if isinstance(document, list) else [document]
        for number, item in enumerate(items, 1):
            if isinstance(item, dict):
                yield number, item
            else:
                drops.add(NOT_OBJECT, number)
        return
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            value = parse_json(line, source.name)
        except ValueError:
            drops.add(NOT_JSON, number)
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            drops.add(NOT_OBJECT, number)


def dig(row: Any, path: str) -> Any:
    """row["a"]["b"] for "a.b"; None where a step is missing. A key with dots in it wins."""
    if isinstance(row, Mapping) and path in row:
        return row[path]
    for key in path.split("."):
        if not isinstance(row, Mapping):
            return None
        row = row.get(key)
    return row


class RecordCollector:
    """Gathers requests out of objects; what cannot be used goes to drops.

    wants_arrival : False where the format has none; a row without one is then kept
    """

    def __init__(self, clock: Clock, drops: Drops, wants_arrival: bool = True) -> None:
        self.clock = clock
        self.drops = drops
        self.wants_arrival = wants_arrival
        self._prompt, self._output, self._hits = IntColumn(), IntColumn(), IntColumn()
        self._arrival = FloatColumn()
        self._rows: list[tuple[int, int, Any, int, int]] = []

    def add(self, number: int, prompt: Any, output: Any, arrival: Any = None, hit: int = 0) -> bool:
        """One request as the file has it; returns whether it is kept."""
        tokens = count_of(prompt, "prompt tokens")
        made = count_of(output, "output tokens")
        reason = _reason(tokens, made)
        raw = None
        if reason is None and self.wants_arrival:
            raw = raw_arrival(arrival)
            if raw is None:
                reason = "arrival is blank" if arrival in (None, "") else "arrival is not a time"
        if reason:
            self.drops.add(reason, number)
            return False
        assert isinstance(tokens, int) and isinstance(made, int)
        self._rows.append((tokens, made, raw, hit, number))
        if len(self._rows) >= BATCH_ROWS:
            self._flush()
        return True

    def finish(self, with_hits: bool = False) -> Requests:
        """All rows kept."""
        self._flush()
        return Requests(
            self._prompt.finish(),
            self._output.finish(),
            self._arrival.finish() if self.wants_arrival else None,
            self._hits.finish() if with_hits else None,
        )

    def _flush(self) -> None:
        if not self._rows:
            return
        prompt, output, raw, hits, numbers = zip(*self._rows, strict=True)
        keep = np.ones(len(prompt), bool)
        if self.wants_arrival:
            seconds, keep = self._clocked(raw)
            bad = np.flatnonzero(~keep)
            lines = [numbers[i] for i in bad[:5]]
            self.drops.add_lines("arrival is not a time like the others", lines, len(bad))
            self._arrival.add(seconds[keep])
        for column, values in ((self._prompt, prompt), (self._output, output), (self._hits, hits)):
            column.add(np.array(values, np.int64)[keep])
        self._rows = []

    def _clocked(self, raw: tuple[Any, ...]) -> tuple[Any, Any]:
        texts = [isinstance(value, str) for value in raw]
        is_text = self.clock.is_text or (self.clock.unit is None and sum(texts) * 2 > len(raw))
        same = np.array(texts) == is_text
        chosen = [value for value, good in zip(raw, same, strict=True) if good]
        seconds = np.full(len(raw), np.nan)
        if is_text:
            seconds[same], good = self.clock.texts(chosen)
            same[same] = good
        elif chosen:
            whole = all(isinstance(value, int) for value in chosen)
            seconds[same] = self.clock.numbers(np.array(chosen, np.int64 if whole else np.float64))
        return seconds, same


def _reason(tokens: int | str, made: int | str) -> str | None:
    for value in (tokens, made):
        if isinstance(value, str):
            return value
    if made == 0:
        return FAILED
    if isinstance(tokens, int) and tokens < 1:
        return "prompt tokens is below 1"
    return "output tokens is below 1" if isinstance(made, int) and made < 0 else None


def raw_arrival(value: Any) -> int | float | str | None:
    """A time out of JSON: a number, a numeric text as a number, or a date as text."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, str) and not is_blank(value):
        number = plain_number(value[:64])
        if number is None:
            return value[:64]
        digits = number.lstrip("+-").isdigit() and abs(int(number)) < 2**63
        return int(number) if digits else float(number)
    return None


def only_model(wanted: str | None, tally: dict[str, int]) -> Callable[[Any], str | None]:
    """A rule that counts models and leaves out all but the wanted one."""

    def rule(model: Any) -> str | None:
        name = model if isinstance(model, str) else ""
        if name and (name in tally or len(tally) < 200):
            tally[name] = tally.get(name, 0) + 1
        return "another model" if wanted is not None and name != wanted else None

    return rule
