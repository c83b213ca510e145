"""The numbers of a table as CSV: what a cell stands for, not how it is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.drawing.quantity import Quantity
from core.text.csv_table import csv_text

Rows = Sequence[Mapping[str, object]]


def rows_csv(rows: Rows, origin: str = "") -> str:
    """Quantities of a column in one unit, which stands in the header; other cells as they are.

    A column whose cells differ in unit keeps its printed texts, each with its own.
    origin : where the numbers come from, a column of its own; none where empty
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    units = {name: _unit(rows, name) for name in names}
    headers = {name: f"{name} [{units[name]}]" if units[name] else name for name in names}
    values = [
        {headers[name]: _value(cell, units[name]) for name, cell in row.items()}
        | ({"origin": origin} if origin else {})
        for row in rows
    ]
    return csv_text([*headers.values(), *(["origin"] if origin else [])], values)


def _unit(rows: Rows, name: str) -> str | None:
    """The unit that all quantities of a column share; None where they differ."""
    found = {cell.unit for row in rows if isinstance(cell := row.get(name), Quantity)}
    return found.pop() if len(found) == 1 else ("" if not found else None)


def _value(cell: object, unit: str | None) -> object:
    if isinstance(cell, Quantity):
        return str(cell) if unit is None else cell.value
    return None if cell == "–" else cell
