"""HTML elements from texts: whatever is no Markup is escaped, so no text becomes an element."""

from __future__ import annotations

import html
from collections.abc import Iterable

from core.text.plain_text import plain_lines


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """The text as HTML that shows exactly it, without terminal escapes."""
    return text if isinstance(text, Markup) else Markup(html.escape(plain_lines(str(text))))


def joined(parts: Iterable[object]) -> Markup:
    return Markup("".join(escaped(part) for part in parts))


def element(tag: str, *children: object, **attributes: str) -> Markup:
    """<tag name="value">children</tag>; `class_` stands for class."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for name, value in attributes.items()
    )
    return Markup(f"<{tag}{given}>{joined(children)}</{tag}>")
