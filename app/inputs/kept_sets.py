"""Bucket sets that the session keeps under names of the user's, each with a note."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.inputs.parsing import parse_sizes
from core.errors import ProjectError, SettingError
from core.records import BucketSet, SizeUnit
from core.records.session import checked_name, checked_text
from core.text.counting import counted

PREFIX = "Kept: "
"""Before the names that users give, so that none is mistaken for one of ours."""


def options() -> dict[str, BucketSet]:
    """{what it is chosen by: the set}, oldest first."""
    return {PREFIX + item.name: item for item in state.session().sets}


def kept_set(option: str, unit: SizeUnit) -> BucketSet:
    """The set under the name that pages show. Raises SettingError where it counts another unit."""
    found = options()[option]
    if found.unit is not unit:
        raise SettingError(
            f"it was kept for steps that count {found.unit.value}, and these count {unit.value}; "
            "choose another set, or change what is bucketed on the Workload page."
        )
    return replace(found, name=option)


def keep_form(own_sizes: str, unit: SizeUnit) -> str | None:
    """Widgets that keep the user's list under a name, and take kept ones out; returns what a set
    that was just kept is chosen by."""
    with st.expander("Keep 'My list' under a name"):
        _taken_out()
        st.caption(
            "The list as it is now goes with the session, is chosen like the other sets above, and "
            "stays when you change 'My list'."
        )
        with st.form("keep_list", border=False):
            left, right = st.columns([1, 2])
            name = left.text_input("Name", key="kept_set_name")
            note = right.text_input("Note", key="kept_set_note")
            pressed = st.form_submit_button(
                "Keep this list", help="It takes the place of a kept list of the same name."
            )
        if not pressed:
            return None
        try:
            return _keep(name.strip(), note, own_sizes, unit)
        except ProjectError as error:
            st.error(as_text(str(error)))
            return None


def _keep(name: str, note: str, own_sizes: str, unit: SizeUnit) -> str:
    """Raises RecordError (a name or note that cannot be kept), CaptureSizesError."""
    checked_name(PREFIX + name if name else name, "The list's name")
    checked_text(note, "The note")
    made = BucketSet(name, parse_sizes(own_sizes), unit, note)
    others = [item for item in state.session().sets if item.name != name]
    state.session().sets = (*others, made)
    return PREFIX + name


def _taken_out() -> None:
    """A button a kept set; out of the session's newest version, its history still has it."""
    for item in state.session().sets:
        left, right = st.columns([5, 1], vertical_alignment="center")
        note = f": {item.note}" if item.note else ""
        left.markdown(as_text(f"{item.name}, {counted(len(item), 'sizes')}{note}"))
        if right.button("Take out", key=f"take_out_{item.name}", width="stretch"):
            state.session().sets = tuple(s for s in state.session().sets if s is not item)
            st.rerun()
