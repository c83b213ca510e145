"""Rows as CSV that a spreadsheet can open safely: UTF-8, units in the headers, numbers as numbers.

Texts are made harmless by core.plain_text: no formula, no terminal escape.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from core.text.plain_text import cell_text


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number; empty for what is no number."""
    if math.isnan(value):
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def field_text(value: object) -> str:
    """A cell as it is written: numbers bare, None empty, texts harmless."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return number_text(float(value))
    return cell_text(str(value))


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A header and one line a row; a column that a row lacks stays empty there."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([cell_text(name) for name in columns])
    writer.writerows([field_text(row.get(name)) for name in columns] for row in rows)
    return out.getvalue()
