"""What one browser session holds; the only file that knows the keys of st.session_state.

Streamlit forgets a widget's value when its page is left, so choices live in one Session object
and widgets are filled from it (`remember`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from app.theme import SET_COLOURS
from core.readers.reading import Reading
from core.records import Profile

_KEY = "bucketwise"


@dataclass(frozen=True)
class Workload:
    """The traffic under study. `digest` names its content for the caches."""

    name: str
    digest: str
    reading: Reading
    is_example: bool = False


@dataclass
class Session:
    """Everything the pages of one browser session share."""

    workload: Workload | None = None
    profile_name: str | None = None
    profiles: dict[str, Profile] = field(default_factory=dict)
    custom_sets: dict[str, tuple[int, ...]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)
    job_id: str | None = None
    page: str | None = None
    drawn: set[str] = field(default_factory=set)
    defaults: dict[str, Any] = field(default_factory=dict)
    open_id: str | None = None
    open_version: int = 0
    open_role: str = ""
    open_name: str = ""
    open_notes: str = ""
    saved: Any = None
    conflict: Any = None
    save_problem: str | None = None
    link_key: str | None = None
    # Sessions that were in the address: a run may still see one there that was closed since.
    from_address: set[str | None] = field(default_factory=set)
    introduced: Any = None


def session() -> Session:
    """This browser session's state, made on first use."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    return st.session_state[_KEY]


@contextmanager
def as_if(other: Session) -> Iterator[None]:
    """Inside, everything is worked out for another session's choices; no widget may be drawn."""
    own = session()
    st.session_state[_KEY] = other
    try:
        yield
    finally:
        st.session_state[_KEY] = own


def enter_page(page: str) -> None:
    """Say which page this run draws, before any of its widgets."""
    if session().page != page:
        session().page = page
        session().drawn.clear()


def remember(key: str, default: Any) -> str:
    """Fill widget `key` from the session before the widget is drawn; returns the key.

    On the first run of a page its key may still hold the value of another page's widget of the
    same key, which Streamlit does not give to the new one: so it is set then in any case.
    Follow the widget with `keep(key)`.
    """
    session().defaults[key] = default
    if key not in session().drawn or key not in st.session_state:
        st.session_state[key] = session().values.get(key, default)
        session().drawn.add(key)
    return key


def keep(key: str) -> Any:
    """Store what the widget `key` holds, beyond its page; returns it."""
    value = st.session_state[key]
    session().values[key] = value
    return value


def value(key: str, default: Any) -> Any:
    """What widget `key` was last set to, on whichever page it is."""
    return session().values.get(key, default)


def set_values(values: Mapping[str, Any]) -> None:
    """Set widgets from outside (the address bar); before any of them is drawn."""
    session().values.update(values)
    for key, item in values.items():
        st.session_state[key] = item


def replace_values(values: Mapping[str, Any]) -> None:
    """Take over the settings of a kept session; widgets are filled anew when they are drawn."""
    held = session()
    held.values = {"address_read": True, **values}
    held.drawn.clear()


def colour_of(set_name: str) -> str:
    """The colour of a bucket set, the same on every page for as long as the session lives."""
    colours = session().colours
    if set_name not in colours:
        colours[set_name] = SET_COLOURS[len(colours) % len(SET_COLOURS)]
    return colours[set_name]
