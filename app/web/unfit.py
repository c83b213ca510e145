"""Settings from outside (a session, a link) that a page cannot use: put aside, told, never lost.

A session may be written by hand, by a newer version, or by somebody who means harm.
"""

from __future__ import annotations

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.sessions.setting_words import setting_words

SHOWN_CHARS = 40


def refuse_last() -> bool:
    """A page failed: put the value it used last aside, if that came from outside and no widget
    has held it yet; True where there was one."""
    held = state.session()
    key = held.last_used
    if key is None or key not in held.unproven or key not in held.values:
        return False
    state.put_aside(key)
    return True


def show_unfit() -> None:
    """What was put aside, so that nobody wonders why a number differs."""
    aside = state.session().set_aside
    if aside:
        texts = (f"{setting_words(k)} = {str(v)[:SHOWN_CHARS]}" for k, v in aside.items())
        st.caption(
            f"Settings that cannot be used here, so the default holds: {as_text(', '.join(texts))}."
        )
