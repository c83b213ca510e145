"""Files that inference engineers have at hand -> Trace, LengthHistogram or StepHistogram.

One file a format; sniff.py decides by content. `read` is all that pages and commands need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import core.readers.sniff as sniffing  # before `sniff` below, which takes the name over
from core.errors import FileContentError, ProjectError
from core.readers.common.source import Source, open_source
from core.readers.options import ReadOptions
from core.readers.reading import Reading

__all__ = ["FORMATS", "ReadOptions", "Reading", "read", "sniff"]


def read(
    source: bytes | str | Path | BinaryIO, *, name: str = "", options: ReadOptions | None = None
) -> Reading:
    """Read one file; str and Path are paths on disk, everything else is content.

    name : what messages call it. options : choices of the user.
    Raises a ProjectError in one sentence: UnknownFormatError (none of FORMATS), FileContentError
    (nothing in it can be used, or it is too large), ColumnMappingError (say which column is which).
    """
    try:
        return read_or_fail(source, name, options or ReadOptions())
    except (ProjectError, OSError):
        raise
    except MemoryError as error:
        raise FileContentError(f"{name or 'The file'}: too large for the memory here.") from error
    except Exception as error:  # content of a shape no reader foresaw is still the file's doing
        raise FileContentError(
            f"{name or 'The file'}: its content has a shape that cannot be read "
            f"({type(error).__name__}); give it as the tool wrote it, or as CSV."
        ) from error


def read_or_fail(source: bytes | str | Path | BinaryIO, name: str, options: ReadOptions) -> Reading:
    """As `read`, but a mistake of ours is a traceback: for tests."""
    opened = open_source(source, name, options)
    form, table, head = sniffing.choose_opened(opened, options)
    return _with_parts(form.read(table, head, options), opened)


def _with_parts(reading: Reading, opened: Source) -> Reading:
    """Say which other files of an archive were not read."""
    others = [p for p in opened.parts if p != opened.part and p not in opened.used_parts]
    if not others:
        return reading
    shown = ", ".join(others[:4])
    warning = f"The archive holds other files, which were not read: {shown}; choose one of them."
    facts = {"parts": list(opened.parts[:50]), **reading.facts}
    return replace(reading, facts=facts, warnings=(*reading.warnings, warning))


def sniff(
    source: bytes | str | Path | BinaryIO, *, name: str = "", options: ReadOptions | None = None
) -> str:
    """Name of the file's format, a key of FORMATS. Raises as `read` does."""
    return sniffing.decide(source, name, options or ReadOptions())


class _Formats(Mapping[str, str]):
    """{name: label} of every format, loaded when first looked at."""

    def _table(self) -> dict[str, str]:
        return {form.name: form.label for form in sniffing.formats()}

    def __getitem__(self, name: str) -> str:
        return self._table()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())


FORMATS = _Formats()
