"""Azure's public LLM inference traces (2023 and 2024, and the multimodal one of 2025) as CSV.

Source: the data sets' own descriptions, AzurePublicDataset.
"""

from __future__ import annotations

from core.readers.common.formats import Format
from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.common.table import TableFormat, read_table
from core.readers.options import ReadOptions
from core.readers.reading import Reading

COLUMN_MAP = {
    "arrival": "TIMESTAMP",
    "prompt_tokens": "ContextTokens",
    "output_tokens": "GeneratedTokens",
}
_CLIPPED = (
    "The service cut long requests (prompts near 7,437, outputs at 1,000 in the 2023 files): the "
    "largest length is the largest seen, not the largest possible."
)
_IMAGES = (
    "The trace has images (NumImages); its description does not say whether their tokens are "
    "inside ContextTokens."
)


def detect(head: Head, options: ReadOptions) -> bool:
    return head.header >= set(COLUMN_MAP.values())


def read_azure(source: Source, head: Head, options: ReadOptions) -> Reading:
    """Timestamps without a zone are UTC; all seven digits of their fraction are used."""
    dialect = head.dialect
    assert dialect is not None
    notes = (_CLIPPED, _IMAGES) if "NumImages" in dialect.header_row else (_CLIPPED,)
    form = TableFormat(FORMAT.name, FORMAT.label, COLUMN_MAP, notes=notes)
    return read_table(source, dialect, form, options)


FORMAT = Format("azure-csv", "Azure LLM trace (CSV)", detect, read_azure)
