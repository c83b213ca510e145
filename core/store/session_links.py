"""Share links: what they give, to whom no longer, and how they end.

Each writer takes the links' rows first. Whoever opens a link then sees what the owner did, or the
owner takes back what opening it gave; neither slips between a look and a write of the other.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from core.errors import RecordError, SessionAccessError
from core.store.database import now_s
from core.store.session_people import new_id, role_of, set_member
from core.store.session_states import Role, ShareLink
from core.store.tables import LINK_LIMITS, LINKS, MEMBERS, insert_or


def share(connection: sa.Connection, session_id: str, role: Role) -> str:
    """The session's link token for a role, made on first use."""
    _not_owner(role)
    row: dict[str, Any] = {"token": new_id(), "session_id": session_id, "role": role.value}
    row["created_at"] = now_s(connection)
    connection.execute(insert_or(connection, LINKS, **row).on_conflict_do_nothing())
    statement = sa.select(LINKS.c.token).where(
        LINKS.c.session_id == session_id, LINKS.c.role == role.value
    )
    return connection.execute(statement).scalar_one()


def _not_owner(role: Role) -> None:
    if role is Role.OWNER:
        raise RecordError("Others can be viewers and editors; a session has one owner.")


def links(connection: sa.Connection, session_id: str) -> list[ShareLink]:
    """Viewers' first."""
    statement = sa.select(LINKS).where(LINKS.c.session_id == session_id)
    rows = connection.execute(statement)
    found = [ShareLink(Role(row.role), row.token, row.created_at) for row in rows]
    return sorted(found, key=lambda link: link.role.rank)


def unshare(connection: sa.Connection, session_id: str, role: Role) -> None:
    """The link stops working, and who came in with that role is out."""
    _not_owner(role)
    for table in (LINKS, MEMBERS):
        connection.execute(
            sa.delete(table).where(table.c.session_id == session_id, table.c.role == role.value)
        )


def open_link(connection: sa.Connection, token: str, who: str) -> tuple[str, Role]:
    """(session id, role) after taking what the link gives, unless one has as much already."""
    if not _hold(connection, LINKS.c.token == token):
        raise SessionAccessError("This link leads to no session; it may have been withdrawn.")
    statement = sa.select(LINKS.c.session_id, LINKS.c.role).where(LINKS.c.token == token)
    link = connection.execute(statement).one()
    given = _limited(connection, token, who, Role(link.role))
    present = role_of(connection, link.session_id, who)
    if present is not None and (given is None or present.rank >= given.rank):
        return link.session_id, present
    if given is None:
        raise SessionAccessError("The owner took you out of this session; ask them for a new link.")
    set_member(connection, link.session_id, who, given)
    return link.session_id, given


def _hold(connection: sa.Connection, which: sa.ColumnElement[bool]) -> int:
    """Keep other writers off these links until the transaction ends; how many there are."""
    same = sa.update(LINKS).where(which).values(created_at=LINKS.c.created_at)
    return connection.execute(same).rowcount


def _limited(connection: sa.Connection, token: str, who: str, role: Role) -> Role | None:
    """What the link that says `role` gives this person; None for nothing."""
    statement = sa.select(LINK_LIMITS.c.role).where(
        LINK_LIMITS.c.token == token, LINK_LIMITS.c.who == who
    )
    row = connection.execute(statement).one_or_none()
    if row is None:
        return role
    return None if row.role is None else Role(row.role)


def remove_member(connection: sa.Connection, session_id: str, who: str) -> None:
    """The owner stays."""
    connection.execute(
        sa.delete(MEMBERS).where(
            MEMBERS.c.session_id == session_id,
            MEMBERS.c.who == who,
            MEMBERS.c.role != Role.OWNER.value,
        )
    )


def change_role(connection: sa.Connection, session_id: str, who: str, role: Role) -> None:
    """Raises SessionAccessError if there is no such member, or it is the owner."""
    _not_owner(role)
    limit_links(connection, session_id, who, role)
    one = (MEMBERS.c.session_id == session_id) & (MEMBERS.c.who == who)
    one &= MEMBERS.c.role != Role.OWNER.value
    if connection.execute(sa.update(MEMBERS).where(one).values(role=role.value)).rowcount == 0:
        raise SessionAccessError("There is no such viewer or editor in this session.")


def limit_links(connection: sa.Connection, session_id: str, who: str, most: Role | None) -> None:
    """From now on the links that there are give somebody at most this; None: nothing."""
    _hold(connection, LINKS.c.session_id == session_id)
    there = links(connection, session_id)
    tokens = [link.token for link in there]
    connection.execute(
        sa.delete(LINK_LIMITS).where(LINK_LIMITS.c.token.in_(tokens), LINK_LIMITS.c.who == who)
    )
    for link in there:
        if most is None or link.role.rank > most.rank:
            row = {"token": link.token, "who": who, "role": None if most is None else most.value}
            connection.execute(sa.insert(LINK_LIMITS).values(row))
