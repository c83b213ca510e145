"""The choices that the address bar carries, so that a link shows the same view.

Only settings travel in a link, never data: the receiver opens the example or uploads the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from app import state
from app.fitting import fits
from app.web import identity


def _int_list(text: str) -> str:
    return text.replace("-", ", ")


def _names(text: str) -> list[str]:
    return [name for name in text.split("~") if name]


# query parameter -> (widget key, from text, to text)
_PARAMETERS: Mapping[str, tuple[str, Callable[[str], Any], Callable[[Any], str]]] = {
    "sets": ("sets", _names, "~".join),
    "k": ("best_k", int, str),
    "own": ("own_sizes", _int_list, lambda text: "-".join(text.replace(",", " ").split())),
    "seqs": ("max_num_seqs", int, str),
    "batch": ("max_num_batched_tokens", int, str),
    "kv": ("kv_tokens", int, str),
    "load": ("load_factor", float, str),
    "example": ("example", str, str),
    "sweep": ("sweep_job", str, str),
}


def read_address() -> None:
    """Take the choices of a link over, once a browser session; what is malformed is said."""
    session_values = state.session().values
    if session_values.get("address_read"):
        return
    session_values["address_read"] = True
    values, bad = {}, []
    for parameter, (key, parse, _) in _PARAMETERS.items():
        if parameter in st.query_params:
            try:
                values[key] = parse(st.query_params[parameter])
            except ValueError:
                bad.append(f"{parameter}={st.query_params[parameter]}")
    state.set_from_address(values)
    if bad:
        st.warning(f"The link holds {', '.join(bad)}, which cannot be read; the default is used.")


def write_address() -> None:
    """Show the present choices in the address bar, and the open session."""
    open_id = state.session().open_id
    state.session().from_address.add(open_id)
    if open_id is not None:
        st.query_params["session"] = open_id
    elif "session" in st.query_params:
        del st.query_params["session"]
    _write_key()
    values = state.session().values
    for parameter, (key, parse, text) in _PARAMETERS.items():
        if values.get(key) not in (None, "", []) and fits(values[key], parse("0")):
            st.query_params[parameter] = text(values[key])
        elif parameter in st.query_params:
            del st.query_params[parameter]


def _write_key() -> None:
    """A guest is whom the link makes them, so it stays; who logged in has the role for good."""
    key = state.session().link_key
    if key is not None and not identity.login_is_set_up():
        st.query_params["key"] = key
    elif "key" in st.query_params:
        del st.query_params["key"]


def full_address(page: str, **query: str) -> str:
    """The address of a page as this browser reaches it, to copy and hand on.

    page : its url_path; "" for the first page
    Where the browser has not told its address, it starts with a slash.
    """
    here = st.context.url or ""
    shown = state.session().page
    root = here.removesuffix(shown).rstrip("/") if shown else here.rstrip("/")
    return f"{root}/{page}?{urlencode(query)}"
