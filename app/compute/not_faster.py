"""What uploaded files say of graphs that do not pay."""

from __future__ import annotations

import streamlit as st

from core.not_faster.gather import Part, part_of, read_part
from core.readers.reading import Reading


@st.cache_data(max_entries=8, show_spinner="Reading the file …")
def file_part(name: str, data: bytes) -> Part:
    """A profile, or an engine's log, metrics or recorded run. Raises ProjectError."""
    return read_part(data, name)


def reading_part(reading: Reading, name: str) -> Part:
    """What the session's own upload says; its text is not kept, so no error is looked for."""
    return part_of(reading, name)
