"""The beginning of a file, looked at once: its lines, or its JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from core.errors import FileContentError
from core.readers.common.dialect import Dialect, sniff_dialect
from core.readers.common.source import Source

MAX_JSON_BYTES = 128 << 20
SAMPLE_ITEMS = 50


@dataclass
class JsonValue:
    """A JSON file.

    lines : True for one value a line; `document` is then None and records are read as they come
    document : the value, or the list of values that stand back to back
    sample : the first objects: of the lines, of the array, or the document itself
    """

    lines: bool
    document: Any
    sample: list[dict[str, Any]] = field(default_factory=list)


class Head:
    """What detection looks at. Text is decoded leniently; nothing here depends on the name."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.raw = source.raw_head
        self.is_text = b"\0" not in source.head[:4096]
        self.text = source.head.decode("utf-8", "replace") if self.is_text else ""

    @cached_property
    def lines(self) -> list[str]:
        """Whole lines of the beginning, without their ends; a cut last line is left out."""
        lines = self.text.split("\n")
        if not self.source.complete and len(lines) > 1 or lines and not lines[-1]:
            lines.pop()
        return [line.rstrip("\r") for line in lines]

    @cached_property
    def json(self) -> JsonValue | None:
        """The JSON in the file; None when it is none.

        Raises FileContentError when it is nested too deeply or too large to be read in one piece.
        """
        start = self.text.lstrip()[:1]
        if start not in ("{", "["):
            return None
        rows = self._json_lines()
        if rows is not None:
            return JsonValue(True, None, rows)
        if not self._may_be_document():
            return None
        values = load_json(self.source)
        if values is None:
            return None
        document = values[0] if len(values) == 1 else values
        items = document if isinstance(document, list) else [document]
        sample = [item for item in items[:SAMPLE_ITEMS] if isinstance(item, dict)]
        return JsonValue(False, document, sample)

    @cached_property
    def dialect(self) -> Dialect | None:
        """How the table in the file is written; None when it is none."""
        return sniff_dialect(self.lines) if self.is_text and self.json is None else None

    @property
    def header(self) -> frozenset[str]:
        """Column names; empty without a header."""
        dialect = self.dialect
        return frozenset(dialect.header_row) if dialect and dialect.has_header else frozenset()

    def has_keys(self, *keys: str) -> bool:
        """Whether the first JSON objects hold all of these keys (most of them, each row)."""
        sample = self.json.sample if self.json else []
        hits = sum(all(key in row for key in keys) for row in sample)
        return hits > 0 and 2 * hits >= len(sample)

    def _json_lines(self) -> list[dict[str, Any]] | None:
        lines = [line for line in self.lines if line.strip()][: SAMPLE_ITEMS + 1]
        if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
            return None
        rows, bad = [], 0
        for line in lines[:SAMPLE_ITEMS]:
            try:
                value = parse_json(line, self.source.name)
            except ValueError:
                bad += 1
                continue
            if isinstance(value, dict):
                rows.append(value)
            else:
                bad += 1
        return rows if len(rows) > bad else None

    def _may_be_document(self) -> bool:
        """False for text that only begins like JSON, such as a log line in brackets."""
        if self.source.complete:
            return True
        try:
            _DECODER.raw_decode(self.text.lstrip())
        except RecursionError as error:
            raise too_deep(self.source.name) from error
        except json.JSONDecodeError as error:
            near_end = error.pos >= len(self.text) - 4096
            return near_end or error.msg.startswith("Unterminated string")
        return True


_DECODER = json.JSONDecoder()


def too_deep(name: str) -> FileContentError:
    return FileContentError(
        f"{name}: the JSON is nested too deeply to be a trace or a report; give the file as the "
        "tool wrote it."
    )


def parse_json(text: str | bytes, name: str) -> Any:
    """One JSON value. Raises ValueError on bad JSON, FileContentError when nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise too_deep(name) from error


def load_json(source: Source) -> list[Any] | None:
    """Every JSON value of the file, one after the other; None when there is anything else.

    Raises FileContentError when the file is longer than MAX_JSON_BYTES or nested too deeply.
    """
    data = source.read_all(MAX_JSON_BYTES, "one JSON document")
    text = data.decode("utf-8", "replace")
    del data
    values: list[Any] = []
    position, end = 0, len(text)
    try:
        while True:
            while position < end and text[position] in " \t\r\n,":
                position += 1
            if position >= end:
                return values or None
            value, position = _DECODER.raw_decode(text, position)
            values.append(value)
    except RecursionError as error:
        raise too_deep(source.name) from error
    except ValueError:
        return None
