"""What a file looks like when we cannot read it, and what to do about it."""

from __future__ import annotations

import re

from core.errors import ColumnMappingError, InputError, UnknownFormatError
from core.readers.common import columns
from core.readers.common.head import Head

_USE = "give a request trace, a length histogram, an engine log or a metrics scrape"

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs.github.com/spec/v1",
     "a Git LFS pointer, not the data; fetch the file with `git lfs pull`"),
    (b"SQLite format 3\0", "an SQLite database; export the table of requests as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file; save the sheet as CSV"),
    (b"%PDF", "a PDF; give the numbers as CSV"),
    (b"\x89PNG", "a picture; give the numbers as CSV"),
    (b"\xff\xd8\xff", "a picture; give the numbers as CSV"),
    (b"GIF8", "a picture; give the numbers as CSV"),
    (b"\x89HDF\r\n", "an HDF5 file; export the lengths as CSV or .npy"),
    (b"ARROW1", "an Arrow file; save it as Parquet"),
    (b"ORC", "an ORC file; save it as Parquet"),
    (b"Obj\x01", "an Avro file; save it as Parquet or JSON Lines"),
    (b"\x7fELF", "a program; give a trace or a log"),
    (b"SQLite", "an SQLite database; export the table of requests as CSV"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it"),
    (b"Rar!", "a RAR archive; unpack it"),
    (b"\x04\x22\x4d\x18", "LZ4 data; unpack it"),
    (b"\xff\x06\x00\x00sNaPpY", "Snappy data; unpack it"),
)  # fmt: skip
_TEXT_KEYS = {"conversations", "messages", "prompt", "text", "question", "instruction", "turns"}
_TEXTS = (
    (re.compile(r"Received request \S{1,200}:"),
     "a log of received requests, without their lengths; start vLLM with --cudagraph-metrics or "
     "export request metrics"),
    (re.compile(r"^[^\n]{0,60}\b(?:INFO|WARNING|ERROR|DEBUG)\b", re.MULTILINE),
     "a log without a message we know about steps, graphs or lengths; give the engine's own log"),
    (re.compile(r"\A(?:---[ ]*\n)?[A-Za-z_]\w*:(?: [^\n]{0,200})?\n"
                r"(?:[ ]*(?:- )?[A-Za-z_][\w.-]{0,80}:(?: [^\n]{0,200})?(?:\n|\Z)|[ ]*- )"),
     "YAML; save the report as JSON"),
)  # fmt: skip
_HTML = re.compile(r"\s*(?:<!doctype html|<html|<\?xml)", re.IGNORECASE)


def refuse_known(head: Head) -> None:
    """Raises UnknownFormatError for files that are known and not read, pickles above all."""
    name, raw = head.source.name, head.raw
    for start, what in _SIGNATURES:
        if raw.startswith(start):
            raise UnknownFormatError(f"{name}: this is {what}.")
    if (
        re.match(rb"\x80[\x02-\x05]", raw)
        and not head.is_text
        or raw[:2] in (b"\x80\x04", b"\x80\x05")
    ):
        raise UnknownFormatError(
            f"{name}: this looks like a Python pickle, which can run code and is never loaded; "
            "save the lengths as CSV, JSON or .npy."
        )
    if raw[257:262] == b"ustar":
        raise UnknownFormatError(f"{name}: this is a tar archive; unpack it and give one file.")
    if raw.startswith(b"PK") and b"[Content_Types].xml" in raw:
        raise UnknownFormatError(f"{name}: this is an Excel or Office file; save the sheet as CSV.")
    if not raw.strip():
        raise UnknownFormatError(f"{name}: the file is empty; {_USE}.")


def unknown(head: Head) -> InputError:
    """One sentence: what the content looks like, and what to do."""
    name = head.source.name
    if not head.is_text:
        return UnknownFormatError(f"{name}: binary data of no kind we read; {_USE}.")
    if _HTML.match(head.text):
        return UnknownFormatError(
            f"{name}: a web page or XML, perhaps an error page saved as a file; download the "
            "data itself."
        )
    if head.json is not None:
        return _unknown_json(head)
    if head.text.lstrip()[:1] in ("{", "["):
        return UnknownFormatError(
            f"{name}: begins like JSON but is not JSON to its end (cut, or damaged); {_USE}."
        )
    return _unknown_text(head)


def _unknown_json(head: Head) -> InputError:
    shape = head.json
    sample = shape.sample if shape else []
    if not sample:
        return UnknownFormatError(f"{head.source.name}: JSON without objects or lengths; {_USE}.")
    keys = [str(key) for key in sample[0]]
    if _TEXT_KEYS & {key.lower() for key in keys}:
        return UnknownFormatError(
            f"{head.source.name}: prompts as text, without token counts; count tokens with the "
            "model's tokenizer and give the lengths."
        )
    what = "JSON Lines" if shape and shape.lines else "JSON"
    if not _are_names(keys):
        return UnknownFormatError(f"{head.source.name}: {what} of no kind we read; {_USE}.")
    return UnknownFormatError(
        f"{head.source.name}: {what} with the keys {columns.listed(keys, 6)}, of no kind we read; "
        f"{_USE}."
    )


def _unknown_text(head: Head) -> InputError:
    name, dialect = head.source.name, head.dialect
    if dialect is not None and len(dialect.names) > 1 and _are_names(dialect.header_row):
        return ColumnMappingError(
            f"{name}: a table, but no column name says what holds prompt or output tokens; "
            f"choose them among {columns.listed(dialect.header_row)}.",
            columns=tuple(dialect.header_row),
        )
    for pattern, sentence in _TEXTS:
        if pattern.search(head.text):
            return UnknownFormatError(f"{name}: {sentence}.")
    return UnknownFormatError(f"{name}: text of no kind we read; {_USE}.")


def _are_names(names: list[str]) -> bool:
    """Short and plain enough to be column names, not somebody's text."""
    return len(names) <= 200 and all(
        re.fullmatch(r"[\w .:/%()\[\]#+=-]{1,48}", name)
        and len(name.split()) <= 3
        and not name.endswith((".", ":"))
        for name in names
    )
