"""The door of a team's dashboard: log in by OpenID Connect, log out, and who may come in at all.

Without an [auth] section in Streamlit's secrets there is no door: one local user.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal

import streamlit as st

from app.drawing.markdown_text import as_text
from app.web import identity
from core.errors import ProjectError

REQUIRED_SETTING = "BUCKETWISE_REQUIRE_LOGIN"
"""1: refuse to serve where no login is set up, so that a lost secrets file opens nothing."""
EMAILS_SETTING = "BUCKETWISE_LOGIN_EMAILS"
"""Who may log in: addresses and @domains, with commas between; unset: all whom the provider knows.
"""


def navigation_place() -> Literal["top", "hidden"]:
    """No list of pages before the door."""
    closed = identity.login_is_set_up() and not identity.is_logged_in()
    return "hidden" if closed else "top"


def require_login() -> None:
    """Go on for somebody who may be here; show the door to everybody else and end the run."""
    if not identity.login_is_set_up():
        if os.environ.get(REQUIRED_SETTING, "").strip() not in ("", "0"):
            st.error(
                f"{REQUIRED_SETTING} is set, but Streamlit's secrets have no [auth] section; "
                "docs/deployment.md shows what to write there."
            )
            st.stop()
        return
    if not identity.is_logged_in():
        _door()
        st.stop()
    problem = _refusal()
    if problem is not None:
        st.error(as_text(problem))
        st.button("Log out", on_click=st.logout)
        st.stop()


def _door() -> None:
    st.title("Bucketwise", anchor=False)
    st.caption("Choose CUDA-graph buckets from your own traffic.")
    st.markdown("This dashboard is for people who log in.")
    named = provider_names(st.secrets["auth"])
    for name in named:
        st.button(f"Log in with {as_text(name)}", on_click=st.login, args=(name,), type="primary")
    if not named:
        st.button("Log in", on_click=st.login, type="primary")


def provider_names(auth: Mapping[str, object]) -> list[str]:
    """Sections [auth.NAME], where there are several providers to choose from."""
    return [
        name
        for name, section in auth.items()
        if isinstance(section, Mapping) and "server_metadata_url" in section
    ]


def _refusal() -> str | None:
    """Why somebody who logged in may not be here; None for whoever may."""
    try:
        person = identity.current()
    except ProjectError as error:
        return str(error)
    allowed = os.environ.get(EMAILS_SETTING, "").split(",")
    claims = st.user.to_dict()
    if may_enter(claims, allowed):
        return None
    return f"{person.name} is not among those who may use this dashboard; ask who runs it."


def may_enter(claims: Mapping[str, object], allowed: Iterable[str]) -> bool:
    """Is the e-mail address verified and among `allowed` (addresses and @domains)?

    Everybody may where nothing is listed.
    """
    rules = {rule.strip().lower() for rule in allowed} - {""}
    email = claims.get("email")
    if not rules:
        return True
    if not isinstance(email, str) or claims.get("email_verified") is not True:
        return False
    address = email.strip().lower()
    return address in rules or f"@{address.rpartition('@')[2]}" in rules


def show_account() -> None:
    """Who is logged in, and the way out; nothing where nobody logs in."""
    if identity.is_logged_in():
        st.caption(f"Logged in as {as_text(identity.current().name)}")
        st.button("Log out", key="log_out", on_click=st.logout)
