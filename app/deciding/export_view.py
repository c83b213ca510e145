"""A chosen set as the text to paste into the engine."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import compute, state
from app.drawing.markdown_text import as_text
from app.inputs import sets as inputs
from app.study import NO_DECODES
from core.engines import ENGINES
from core.errors import ProjectError
from core.records import BucketSet, SizeUnit

NEWEST = "newest known"


def export_view(sets: Sequence[BucketSet], unit: SizeUnit) -> None:
    """Set, engine and release; the setting in each form there is, with what would be altered.

    unit : of the steps that the sets are for; lengths are no decode sizes, which engines' lists are
    """
    st.subheader("Paste it into your engine", anchor=False)
    if unit is SizeUnit.LENGTH:
        st.info(NO_DECODES)
        return
    left, middle, right = st.columns(3)
    picked = inputs.export_choice(left, sets)
    middle.selectbox(
        "Engine",
        list(ENGINES),
        format_func=lambda name: ENGINES[name].label,
        key=state.remember("export_engine", next(iter(ENGINES))),
    )
    engine = ENGINES[state.keep("export_engine")]
    key = f"export_version_{engine.id}"
    right.selectbox("Release", [NEWEST, *engine.versions], key=state.remember(key, NEWEST))
    version = state.keep(key)
    try:
        found = compute.exported(
            engine.id,
            None if version == NEWEST else version,
            picked.sizes,
            inputs.shared_settings(engine.id),
        )
    except ProjectError as error:
        st.warning(str(error))
        st.code(", ".join(map(str, picked.sizes)), language=None, wrap_lines=True)
        return
    for warning in found.warnings:
        st.warning(warning)
    form = st.segmented_control(
        "Form",
        [form.name for form in found.forms],
        default=found.forms[0].name,
        key=f"form_{engine.id}_{len(found.forms)}",
    )
    chosen = found.form(form or found.forms[0].name)
    st.code(chosen.text, language=chosen.language, wrap_lines=True)
    if picked.note:
        st.caption(as_text(picked.note))
