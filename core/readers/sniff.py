"""Which format a file is, decided by its content."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from typing import BinaryIO

import core.readers as package
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import open_source
from core.readers.common.unknown import refuse_known, unknown
from core.readers.options import ReadOptions


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
    raise unknown(head)


def sniff(
    source: bytes | str | Path | BinaryIO, *, name: str = "", options: ReadOptions | None = None
) -> str:
    """Name of the format. Raises UnknownFormatError or FileContentError."""
    options = options or ReadOptions()
    return choose(Head(open_source(source, name, options)), options).name
