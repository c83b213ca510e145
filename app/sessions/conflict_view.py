"""Somebody else saved first: what both did, and the ways on."""

from __future__ import annotations

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.sessions import conflict as session_conflict
from app.sessions.setting_values import readable
from app.sessions.setting_words import words_for
from core.errors import ProjectError
from core.store.session_states import SessionConflict

SHOWN = 5


def settle_form() -> None:
    """What changed there and here, and one button a way on; nothing of either is lost."""
    conflict = state.session().conflict
    st.warning(
        as_text(
            f"{conflict.name} saved version {conflict.version} while you were changing the "
            "session. Nothing of yours is written yet."
        )
    )
    for whose, found in (("Theirs", conflict.their_changes), ("Yours", conflict.my_changes)):
        if found:
            lines = [f"- {as_text(readable(change.text))}" for change in found[:SHOWN]]
            lines += [f"- and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            st.markdown("\n".join([f"{whose}:", *lines]))
    ways = [(session_conflict.MINE, "Save mine over it", "Theirs stays in the history.")]
    ways += [(session_conflict.THEIRS, "Take theirs", "Yours is dropped from this browser.")]
    ways += [(session_conflict.COPY, "Keep mine as a copy", "A new session of your own.")]
    if conflict.base is not None:
        ways.insert(0, (session_conflict.BOTH, "Join both", _join_words()))
    for choice, label, help_text in ways:
        if st.button(label, key=f"settle_{choice}", help=help_text):
            _settle(choice)


def _join_words() -> str:
    clashes = session_conflict.joined().clashes
    if not clashes:
        return "Both writers' changes; none touches the other."
    fields = as_text(", ".join(map(words_for, clashes)))
    return f"Both changed {fields}: yours is taken, theirs stays in history."


def _settle(choice: str) -> None:
    try:
        session_conflict.settle(choice)
    except SessionConflict:
        st.rerun()  # somebody saved once more: the question is another one now
    except ProjectError as error:
        st.error(as_text(str(error)))
    else:
        st.rerun()
