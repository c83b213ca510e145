"""Values of settings as people read them, in lines of the history and in tables."""

from __future__ import annotations

import json
import re
from typing import Any

from app.inputs.sets import set_label
from app.serving.inputs import WORDS as CHOICES
from app.sessions.setting_words import words_for
from core.records.session_changes import ABSENT, FieldChange, shown_value

SETTINGS = "settings."
NAMED = {
    **dict.fromkeys(("prefill_mode", "arrive", "prefix_use", "sizes_count"), CHOICES),
    "example": {"1": "yes", "": "no"},
}
"""Settings whose values pages show in other words than they are stored in."""
LONG = {"model_config": "a pasted config"}
_UNIT = re.compile(r"^(.*) \[([^\]]+)\]$")


def readable(line: str) -> str:
    """A line of the history or a conflict for people.

    "settings.card_gib: 80.0 -> 40.0" is "card memory: 80 GiB → 40 GiB".
    """
    field, colon, rest = line.partition(": ")
    if not colon or not field.startswith(SETTINGS):
        return f"{words_for(field)}{colon}{rest}" if colon else line
    name, unit = _name_and_unit(field)
    key = field.removeprefix(SETTINGS)
    said = lambda text: _with_unit(value_text(key, text), unit)  # noqa: E731
    before, arrow, after = rest.partition(" -> ")
    if arrow:
        return f"{name}: {said(before)} → {said(after)}"
    if rest.startswith("taken out (was ") and rest.endswith(")"):
        return f"{name}: back to the default (was {said(rest[len('taken out (was ') : -1])})"
    if rest.endswith(" (new)"):
        return f"{name}: {said(rest.removesuffix(' (new)'))} (was the default)"
    return f"{name}: {rest}"


def value_words(change: FieldChange, value: Any) -> str:
    """A value with its unit; where a document has none, the page's own default holds."""
    is_setting = change.field.startswith(SETTINGS)
    if value is ABSENT:
        return "default" if is_setting else "–"
    text = shown_value(change.field, value)
    if not is_setting:
        return _unquoted(text)
    unit = _name_and_unit(change.field)[1]
    return _with_unit(value_text(change.field.removeprefix(SETTINGS), text), unit)


def value_text(key: str, text: str) -> str:
    """A setting's stored value, JSON on one line and perhaps cut short, as the pages print it."""
    if key in LONG:
        return LONG[key]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip('"')
    if key == "sets" and isinstance(value, list):
        return ", ".join(set_label(str(name)) for name in value)
    if key in NAMED and isinstance(value, str):
        return NAMED[key].get(value, value)
    return _plain(value)


def _plain(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,.10g}" if isinstance(value, float) else f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def setting_name(field: str) -> str:
    """A document's field in words, without its unit, which stands behind its values."""
    return _name_and_unit(field)[0]


def _name_and_unit(field: str) -> tuple[str, str]:
    words = words_for(field)
    found = _UNIT.match(words)
    return (found[1], found[2]) if found else (words, "")


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text
