"""Two sessions as one table: what differs, both columns, and the difference."""

from __future__ import annotations

from collections.abc import Callable

from app import theme
from app.sessions.compare import Side
from app.sessions.setting_values import setting_name, value_words
from core.records.session_changes import changes
from core.session_figures import SideBySide, Unit, side_by_side

Row = dict[str, object]
TEXTS: dict[Unit, Callable[[float | None], object]] = {
    Unit.COUNT: lambda value: theme.UNKNOWN if value is None else theme.count_text(value),
    Unit.TOKENS: lambda value: theme.UNKNOWN if value is None else theme.count_text(value),
    Unit.SHARE: theme.share_text,
    Unit.US: theme.us_text,
    Unit.BYTES: theme.bytes_text,
}
SAME = "same"


def compare_rows(first: Side, second: Side, only_different: bool) -> list[Row]:
    """Settings and traffic that differ, then the numbers of traffic and sets."""
    rows: list[Row] = [
        {
            "about": "settings" if change.field.startswith("settings.") else "session",
            "what": setting_name(change.field),
            first.name: value_words(change, change.before),
            second.name: value_words(change, change.after),
            "difference": "differs",
        }
        for change in changes(first.document, second.document)
    ]
    for line in side_by_side(first.figures, second.figures):
        if only_different and line.is_same:
            continue
        rows.append(
            {
                "about": line.about,
                "what": line.what,
                first.name: TEXTS[line.unit](line.first),
                second.name: TEXTS[line.unit](line.second),
                "difference": difference_text(line),
            }
        )
    return rows


def difference_text(line: SideBySide) -> str:
    """Second less first with its sign; shares in percentage points."""
    by = line.difference
    if by is None:
        return SAME if line.is_same else theme.UNKNOWN
    if by == 0:
        return SAME
    sign = "+" if by > 0 else "−"
    if line.unit is Unit.SHARE:
        return f"{sign}{100 * abs(by):.2f} points"
    return f"{sign}{TEXTS[line.unit](abs(by))}"
