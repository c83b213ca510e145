"""Which format a file is, decided by its content."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from typing import BinaryIO, NoReturn

import core.readers as package
from core.errors import InputError
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import open_source
from core.readers.common.unknown import refuse_known, unknown
from core.readers.options import ReadOptions

LOOK_BYTES = 16 << 20
LOOK_CHARS = 4000


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


def _further_in(head: Head) -> Format | None:
    """An engine's log that begins with pages of other messages."""
    if not head.is_text or head.source.complete:
        return None
    logs = [form for form in formats() if form.marks is not None]
    seen = 0
    for _, line in head.source.lines():
        seen += len(line)
        text = line[:LOOK_CHARS].decode("utf-8", "replace")
        for form in logs:
            if form.marks is not None and form.marks.search(text):
                return form
        if seen > LOOK_BYTES:
            return None
    return None


def _raise(error: InputError) -> NoReturn:
    raise error


def sniff(
    source: bytes | str | Path | BinaryIO, *, name: str = "", options: ReadOptions | None = None
) -> str:
    """Name of the format. Raises UnknownFormatError or FileContentError."""
    options = options or ReadOptions()
    return choose(Head(open_source(source, name, options)), options).name
