"""What a deployment file starts."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.deploy.read import read_deployments
from core.deploy.record import Found
from core.errors import FileContentError


@st.cache_data(max_entries=16, show_spinner="Reading the configuration …")
def deployments(text: str, engine: str, variables: Mapping[str, str]) -> Found:
    """Every engine in a text, as the text tells them; the chosen one where it names none.

    Raises FileContentError.
    """
    try:
        found = read_deployments(text, None, variables)
    except FileContentError:
        return read_deployments(text, engine, variables)
    return found
