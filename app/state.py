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

from app.fitting import fits
from app.ranges import RANGES
from app.theme import SET_COLOURS
from core.readers.reading import Reading
from core.records import BucketSet, Profile

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
    profiles: dict[str, Profile] = field(default_factory=dict)
    sets: tuple[BucketSet, ...] = ()
    # Jobs that the open session names and no setting shows.
    other_jobs: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)
    job_id: str | None = None
    page: str | None = None
    drawn: set[str] = field(default_factory=set)
    defaults: dict[str, Any] = field(default_factory=dict)
    # Keys whose default follows from the work: merely shown, it is no choice, and it moves along.
    following: set[str] = field(default_factory=set)
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
    # Keys whose values came from outside and that no widget has held yet; see app/web/unfit.py.
    unproven: set[str] = field(default_factory=set)
    set_aside: dict[str, Any] = field(default_factory=dict)
    # Values that were asked for and could not be used: {key: (the value, what was used)}.
    unused: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    last_used: str | None = None


def session() -> Session:
    """This browser session's state, made on first use."""
    try:
        return st.session_state[_KEY]  # one look: it is asked for some hundred times a run
    except KeyError:
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


def remember(
    key: str,
    default: Any,
    follows: bool = False,
    within: tuple[float, float] | None = None,
) -> str:
    """Fill widget `key` from the session before the widget is drawn; returns the key.

    On the first run of a page its key may still hold the value of another page's widget of the
    same key, which Streamlit does not give to the new one: so it is set then in any case.
    Follow the widget with `keep(key)`.

    follows : the default depends on the traffic or on other choices; until the user chooses, the
        widget shows the present one, as `value` with the same default does
    within : least and most that the widget takes; a browser would cut what is beyond, and merely
        looking at a session would change it
    """
    held = session()
    if follows:
        _follow(key, default)
    held.defaults[key], held.last_used = default, key
    if key in held.values and not _is_fit(held.values[key], default, within):
        put_aside(key)
    if key not in held.drawn or key not in st.session_state:
        st.session_state[key] = held.values.get(key, default)
        held.drawn.add(key)
    return key


def _is_fit(found: Any, default: Any, within: tuple[float, float] | None) -> bool:
    is_number = isinstance(found, (int, float))
    if within is not None and is_number and not within[0] <= found <= within[1]:
        return False
    return fits(found, default)


def _follow(key: str, default: Any) -> None:
    """Where a widget still shows the former default, and nobody chose it, fill it anew."""
    held = session()
    held.following.add(key)
    shown = key in st.session_state and st.session_state[key] == held.defaults.get(key, default)
    if shown and key not in held.values:
        held.drawn.discard(key)


def put_aside(key: str) -> None:
    """The default holds from now on; a later save still keeps what was there."""
    held = session()
    held.set_aside[key] = held.values.pop(key)
    held.unproven.discard(key)
    held.drawn.discard(key)


def keep(key: str) -> Any:
    """Store what the widget `key` holds, beyond its page; returns it."""
    held = session()
    value = st.session_state[key]
    if key in held.unproven and value != held.values.get(key, value):
        put_aside(key)  # the widget does not offer it, and took another
        value = held.defaults[key] if value is None else value
    if key in held.set_aside and value != held.defaults[key]:
        del held.set_aside[key]  # the user chose anew
    if key in held.following and key not in held.values and value == held.defaults[key]:
        return value
    held.values[key] = value
    held.unproven.discard(key)
    return value


def value(key: str, default: Any) -> Any:
    """What widget `key` was last set to, on whichever page it is."""
    held = session()
    if key in held.unproven:
        held.last_used = key
    if key not in held.values:
        return default
    found = held.values[key]
    if _is_fit(found, default, RANGES.get(key)):
        return found
    say_unused(key, found, default)
    return default


def say_unused(key: str, found: Any, used: Any) -> None:
    """A value that cannot be used here stays where it is; who looks is told what was used."""
    session().unused[key] = (found, used)


def let_go(key: str) -> None:
    """A choice that is gone: the default holds; what came from outside is put aside."""
    held = session()
    if key in held.unproven:
        put_aside(key)
    held.values.pop(key, None)
    held.drawn.discard(key)


def set_values(values: Mapping[str, Any]) -> None:
    """Set widgets, before any of them is drawn; what came from outside and is none of the choices
    is put aside."""
    held = session()
    for key, item in values.items():
        if key in held.unproven and held.values.get(key, item) != item:
            put_aside(key)
        held.values[key] = st.session_state[key] = item


def set_from_address(values: Mapping[str, Any]) -> None:
    """Set widgets to what a link asks for, which may be anything."""
    set_values(values)
    session().unproven.update(values)


def replace_values(values: Mapping[str, Any]) -> None:
    """Take over the settings of a kept session; widgets are filled anew when they are drawn."""
    held = session()
    held.values = {"address_read": True, **values}
    held.unproven, held.set_aside, held.unused = set(values), {}, {}
    held.drawn.clear()


def colour_of(set_name: str) -> str:
    """The colour of a bucket set, the same on every page for as long as the session lives."""
    colours = session().colours
    if set_name not in colours:
        colours[set_name] = SET_COLOURS[len(colours) % len(SET_COLOURS)]
    return colours[set_name]
