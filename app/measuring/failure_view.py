"""Measured rows that failed: the error, its first cause and the way out."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import theme
from app.drawing.markdown_text import as_text
from core.failures.row_failures import row_failures
from core.records import MeasureRow
from core.text.counting import counted


def show_failures(rows: Sequence[MeasureRow]) -> None:
    """Nothing where every row is good; rows of one reason stand together."""
    found = row_failures(rows)
    if not found:
        return
    failed = sum(len(failure.sizes) for failure in found)
    st.markdown(f"**{failed} of {counted(len(rows), 'rows')} failed**")
    for failure in found:
        with st.container(border=True):
            kind = failure.klass.replace("_", " ")
            st.markdown(f"**{kind}**, size {theme.sizes_text(failure.sizes)}")
            st.code(failure.error, language=None, wrap_lines=True)
            st.markdown(f"Why: {as_text(failure.cause)}")
            st.markdown(f"What to do: {as_text(failure.remedy)}")
