"""Who else sees a session: links that give a role, and the people who have one."""

from __future__ import annotations

import streamlit as st

from app import state
from app.address import full_address
from app.drawing.markdown_text import as_text
from app.drawing.views import table
from app.sessions import current as sessions
from app.sessions.current import Role
from app.sessions.view import when
from app.web import identity

ROLE_WORDS = {
    Role.VIEWER: "look, fork, export",
    Role.EDITOR: "also change, comment, undo",
    Role.OWNER: "also share and delete",
}
GIVEN = (Role.VIEWER, Role.EDITOR)


def show_sharing(names: dict[str, str]) -> None:
    """Links and members; what changes them is for the owner alone."""
    owner = state.session().open_role == Role.OWNER.value
    with st.expander("Share", expanded=owner):
        if owner:
            _links()
        else:
            st.caption("The owner of the session makes links and changes roles.")
        _members(names, owner)
        if owner:
            _delete()


def _article(role: Role) -> str:
    return f"{'an' if role is Role.EDITOR else 'a'} **{role.value}**"


def _links() -> None:
    session_id, me = str(state.session().open_id), sessions.me()
    links = {link.role: link for link in sessions.store().links(session_id, me)}
    for role in GIVEN:
        link = links.get(role)
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        if link is None:
            left.markdown(f"No link makes {_article(role)} ({ROLE_WORDS[role]}).")
            if right.button(f"Make a link for {role.value}s", key=f"share_{role}", width="stretch"):
                sessions.store().share(session_id, me, role)
                st.rerun()
            continue
        made = when(link.created_at)
        left.markdown(f"Who opens this becomes {_article(role)} ({ROLE_WORDS[role]}); made {made}.")
        left.code(full_address("", key=link.token), language=None, wrap_lines=True)
        if right.button(
            f"Withdraw the {role.value}s' link",
            key=f"unshare_{role}",
            width="stretch",
            help=f"The link stops working, and every {role.value} is out.",
        ):
            sessions.store().unshare(session_id, me, role)
            st.rerun()
    if not identity.login_is_set_up():
        st.caption(
            "Nobody logs in here: a browser that came by a link has the link's role, and whoever "
            "opens the dashboard without one is the local user. Set up login to share for real "
            "(docs/deployment.md)."
        )


def _members(names: dict[str, str], owner: bool) -> None:
    session_id, me = str(state.session().open_id), sessions.me()
    members = sessions.store().members(session_id, me)
    rows: list[dict[str, object]] = [
        {"who": names.get(m.who, m.who), "role": m.role.value, "may": ROLE_WORDS[m.role]}
        for m in members
    ]
    table(rows, "members")
    others = [m for m in members if m.role is not Role.OWNER and (owner or m.who == me)]
    for member in others:
        shown = as_text(names.get(member.who, member.who))
        left, middle, right = st.columns([3, 2, 1], vertical_alignment="center")
        left.markdown(f"{shown}, {member.role.value}")
        if owner:
            other = Role.EDITOR if member.role is Role.VIEWER else Role.VIEWER
            if middle.button(f"Make {other.value}", key=f"role_{member.who}", width="stretch"):
                sessions.store().set_role(session_id, member.who, other, me)
                st.rerun()
        label = "Leave" if member.who == me else "Remove"
        told = None if member.who == me else "They are out, and no link made so far lets them in."
        if right.button(label, key=f"remove_{member.who}", width="stretch", help=told):
            sessions.store().remove_member(session_id, member.who, me)
            if member.who == me:
                sessions.close()
            st.rerun()


def _delete() -> None:
    with st.popover("Delete the session …"):
        st.markdown("History, comments and links go with it; this cannot be undone.")
        if st.button("Delete it for everybody", key="delete_session"):
            sessions.delete()
            st.rerun()
