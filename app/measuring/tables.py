"""Tables of what a worker measured, one row a size."""

from __future__ import annotations

from collections.abc import Sequence

from app import theme
from app.drawing.quantity import Quantity
from app.drawing.tables import Row
from core.cost.row_bound import row_bound, saved_us
from core.records import MeasureRow
from core.records.measuring import fewer_samples


def measured_rows(
    rows: Sequence[MeasureRow], asked: int, context_tokens: int | None = None
) -> list[Row]:
    """What a device cannot measure is left out, not guessed.

    asked : samples that the spec asks for of each row
    context_tokens : a column of its own, where rows of several contexts stand in one table
    """
    result = [_cells(row, asked, context_tokens) for row in rows]
    return [
        {key: text for key, text in cells.items() if key == "size" or _any(result, key)}
        for cells in result
    ]


def _cells(row: MeasureRow, asked: int, context_tokens: int | None) -> Row:
    bound = row_bound(row)
    cells: Row = {} if context_tokens is None else {"context": context_tokens}
    return cells | {
        "size": row.size,
        "eager step": theme.us_text(row.eager_us),
        "graph replay": theme.us_text(row.replay_us),
        "graph saves": theme.us_text(saved_us(row)),
        "eager is": theme.UNKNOWN if bound is None else bound.bound.value,
        "eager submit": theme.us_text(row.eager_host_us),
        "replay submit": theme.us_text(row.replay_host_us),
        "copy in": theme.us_text(row.copy_us),
        "capture": _capture_text(row.capture_ms),
        "pool": theme.bytes_text(row.pool_bytes),
        "kernels": theme.UNKNOWN if not row.nodes else row.nodes.get("kernel", 0),
        "pieces": theme.UNKNOWN if row.pieces in (None, 1) else row.pieces,
        "samples": _samples_text(row, asked),
        "same as eager": {True: "yes", False: "NO", None: theme.UNKNOWN}[row.equal],
        "error": row.error or "",
    }


def _samples_text(row: MeasureRow, asked: int) -> Quantity:
    text = f"{row.samples} of {asked}" if fewer_samples([row], asked) else str(row.samples)
    return Quantity(text, row.samples)


def _capture_text(ms: float | None) -> Quantity:
    return Quantity(theme.UNKNOWN if ms is None else f"{ms:.1f} ms", ms, "ms")


def _any(rows: Sequence[Row], key: str) -> bool:
    return any(row[key] not in (theme.UNKNOWN, "") for row in rows)
