"""Texts that people typed, inside sentences that Streamlit takes for Markdown."""

from __future__ import annotations

import string

_ESCAPES = {ord(sign): f"\\{sign}" for sign in string.punctuation}
_ESCAPES |= dict.fromkeys(map(ord, "\n\r\t\v\f"), " ")


def as_text(text: str) -> str:
    """Markdown that shows exactly this text: no link, image, colour or formula comes of it."""
    return text.translate(_ESCAPES)
