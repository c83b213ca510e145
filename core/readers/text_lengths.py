"""One number a line: lengths, with or without a word above them."""

from __future__ import annotations

from core.readers.common import columns
from core.readers.common.cells import is_blank, plain_number
from core.readers.common.dialect import Dialect
from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

SAY = "Read as prompt lengths; say so if they are outputs."


def detect(head: Head, options: ReadOptions) -> bool:
    dialect = head.dialect
    if dialect is None or len(dialect.names) != 1 or not dialect.sample:
        return False
    if dialect.has_header and not columns.find(dialect.header_row, columns.LENGTH):
        return False
    filled = [row[0] for row in dialect.sample if row and not is_blank(row[0])]
    return 2 * sum(plain_number(cell) is not None for cell in filled) > len(filled)


def read_text_lengths(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Grade C: lengths of prompts, or of outputs as the user says."""
    dialect: Dialect | None = head.dialect
    assert dialect is not None
    role = "output_tokens" if options.histogram_of == "output" else "prompt_tokens"
    notes = (SAY,) if options.histogram_of is None else ()
    form = TableFormat(FORMAT.name, FORMAT.label, {role: dialect.names[0]}, notes=notes)
    return read_table(source, dialect, form, options)


FORMAT = Format("text-lengths", "lengths, one a line", detect, read_text_lengths, rank=65)
