"""Which format a file is, decided by its content."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path
from typing import BinaryIO, NoReturn

import core.readers as package
from core.errors import InputError, UnknownFormatError
from core.logs.prefix import strip_ansi
from core.readers.common.containers import CHUNK_BYTES
from core.readers.common.flat_table import as_table
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source, open_source
from core.readers.common.unknown import refuse_known, unknown
from core.readers.options import ReadOptions

LOOK_BYTES = 64 << 20


@cache
def formats() -> tuple[Format, ...]:
    """Every format, in the order in which they are asked."""
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        if not info.ispkg and info.name != "sniff":
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found += [getattr(module, "FORMAT", None), *getattr(module, "FORMATS_HERE", ())]
    return tuple(sorted((f for f in found if f is not None), key=lambda f: (f.rank, f.name)))


def choose(head: Head, options: ReadOptions) -> Format:
    """The first format that recognises the content.

    Raises UnknownFormatError with one sentence on what the file looks like.
    """
    refuse_known(head)
    for form in formats():
        if form.detect(head, options):
            return form
    return _further_in(head) or _raise(unknown(head))


def choose_opened(opened: Source, options: ReadOptions) -> tuple[Format, Source, Head]:
    """The format, and what it is to read: the file, or its plain objects as a table.

    Raises UnknownFormatError as `choose` does, about the file as it was given.
    """
    head = Head(opened)
    try:
        return choose(head, options), opened, head
    except UnknownFormatError:
        table = as_table(opened, head, options)
        if table is None:
            raise
        inner = Head(table)
        form = next((form for form in formats() if form.detect(inner, options)), None)
        if form is None:
            raise
        return form, table, inner


def _further_in(head: Head) -> Format | None:
    """An engine's log that begins with pages of other messages."""
    if not head.is_text or head.source.complete:
        return None
    if head.json is not None and not head.json.lines:
        return None
    logs = [form for form in formats() if form.marks is not None]
    any_mark = re.compile("|".join(form.marks.pattern for form in logs if form.marks))
    seen = 0
    with head.source.open() as stream:
        while seen < LOOK_BYTES and (data := stream.read(CHUNK_BYTES)):
            seen += len(data)
            text = strip_ansi(data.decode("utf-8", "replace"))
            found = any_mark.search(text)
            if found:
                return next(f for f in logs if f.marks and f.marks.search(found[0]))
    return None


def _raise(error: InputError) -> NoReturn:
    raise error


def decide(source: bytes | str | Path | BinaryIO, name: str, options: ReadOptions) -> str:
    """Name of the format. Raises UnknownFormatError or FileContentError."""
    return choose_opened(open_source(source, name, options), options)[0].name
