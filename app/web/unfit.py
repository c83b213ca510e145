"""Settings from outside (a session, a link) that a page cannot use: put aside, told, never lost.

A session may be written by hand, by a newer version, or by somebody who means harm.
"""

from __future__ import annotations

import json
from enum import Enum

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.sessions.setting_values import value_text
from app.sessions.setting_words import setting_words

SHOWN_CHARS = 40
ABSENT = object()


def refuse_last() -> bool:
    """A page failed: put the value it used last aside, if that came from outside and no widget
    has held it yet; True where there was one."""
    held = state.session()
    key = held.last_used
    if key is None or key not in held.unproven or key not in held.values:
        return False
    state.put_aside(key)
    return True


def unfit_sentences() -> list[str]:
    """One sentence a setting that could not be used: its value, and what was used instead."""
    held = state.session()
    aside = {key: (value, held.defaults.get(key)) for key, value in held.set_aside.items()}
    return [
        f"{_name(key)} is {_shown(key, value)}, which cannot be used; "
        f"{'the default' if used is None else _shown(key, used)} is used."
        for key, (value, used) in {**aside, **held.unused}.items()
    ]


def _name(key: str) -> str:
    return f"'{setting_words(key)}'"


def _shown(key: str, value: object) -> str:
    plain = value.value if isinstance(value, Enum) else value
    text = value_text(key, json.dumps(plain, ensure_ascii=False, default=str))
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def show_unfit() -> None:
    """What was put aside, so that nobody wonders why a number differs."""
    held = state.session()
    unused = {k: v for k, (v, _) in held.unused.items() if held.values.get(k, ABSENT) == v}
    aside = {**unused, **held.set_aside}
    if aside:
        texts = (f"{setting_words(k)} = {str(v)[:SHOWN_CHARS]}" for k, v in aside.items())
        st.caption(
            f"Settings that cannot be used here, so the default holds: {as_text(', '.join(texts))}."
        )
