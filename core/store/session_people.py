"""Who may do what with a session: members, share links, comments."""

from __future__ import annotations

import secrets
from typing import Any

import sqlalchemy as sa

from core.errors import RecordError, SessionAccessError
from core.records.session import checked_text
from core.store.database import now_s
from core.store.session_states import Comment, Member, Role, ShareLink
from core.store.tables import COMMENTS, LINKS, MEMBERS, SESSIONS, insert_or

MAX_COMMENT_CHARS = 10_000


def new_id() -> str:
    """128 random bits as 22 characters that a link can carry."""
    return secrets.token_urlsafe(16)


def role_of(connection: sa.Connection, session_id: str, who: str) -> Role | None:
    """None for somebody who has no part in the session, and where there is none."""
    statement = sa.select(MEMBERS.c.role).where(
        MEMBERS.c.session_id == session_id, MEMBERS.c.who == who
    )
    role = connection.execute(statement).scalar_one_or_none()
    return None if role is None else Role(role)


def require(connection: sa.Connection, session_id: str, who: str, needed: Role) -> Role:
    """The caller's role. Raises SessionAccessError if it is below `needed`.

    The sentence is the same whether the session is missing or not shared, so that ids cannot be
    tried out.
    """
    role = role_of(connection, session_id, who)
    if role is None:
        raise SessionAccessError(
            "There is no such session, or it is not shared with you; ask its owner for a link."
        )
    if role.rank < needed.rank:
        raise SessionAccessError(
            f"You are {'an' if role is Role.EDITOR else 'a'} {role} of this session and it takes "
            f"an {needed} to do that; fork it to change a copy of your own."
        )
    return role


def set_member(connection: sa.Connection, session_id: str, who: str, role: Role) -> None:
    """Give somebody a role, whatever they had before."""
    row = {"session_id": session_id, "who": who, "role": role.value}
    connection.execute(
        insert_or(connection, MEMBERS, **row).on_conflict_do_update(
            index_elements=[MEMBERS.c.session_id, MEMBERS.c.who], set_={"role": role.value}
        )
    )


def remove_member(connection: sa.Connection, session_id: str, who: str) -> None:
    """The owner stays."""
    connection.execute(
        sa.delete(MEMBERS).where(
            MEMBERS.c.session_id == session_id,
            MEMBERS.c.who == who,
            MEMBERS.c.role != Role.OWNER.value,
        )
    )


def members(connection: sa.Connection, session_id: str) -> list[Member]:
    """The owner first, then by name."""
    statement = sa.select(MEMBERS.c.who, MEMBERS.c.role).where(MEMBERS.c.session_id == session_id)
    found = [Member(row.who, Role(row.role)) for row in connection.execute(statement)]
    return sorted(found, key=lambda m: (-m.role.rank, m.who))


def change_role(connection: sa.Connection, session_id: str, who: str, role: Role) -> None:
    """Raises SessionAccessError if there is no such member, or it is the owner."""
    _not_owner(role)
    one = (MEMBERS.c.session_id == session_id) & (MEMBERS.c.who == who)
    one &= MEMBERS.c.role != Role.OWNER.value
    if connection.execute(sa.update(MEMBERS).where(one).values(role=role.value)).rowcount == 0:
        raise SessionAccessError("There is no such viewer or editor in this session.")


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
    """(session id, role) after taking the link's role, unless one as high is there already."""
    statement = sa.select(LINKS.c.session_id, LINKS.c.role).where(LINKS.c.token == token)
    row = connection.execute(statement).one_or_none()
    if row is None:
        raise SessionAccessError("This link leads to no session; it may have been withdrawn.")
    role, present = Role(row.role), role_of(connection, row.session_id, who)
    if present is not None and present.rank >= role.rank:
        return row.session_id, present
    set_member(connection, row.session_id, who, role)
    return row.session_id, role


def add_comment(connection: sa.Connection, session_id: str, who: str, body: str) -> int:
    """Returns the comment's number. Raises RecordError on an empty or overlong text."""
    if not checked_text(body, "The comment", MAX_COMMENT_CHARS).strip():
        raise RecordError("The comment is empty; write a word.")
    version = sa.select(SESSIONS.c.version).where(SESSIONS.c.session_id == session_id)
    done = connection.execute(
        sa.insert(COMMENTS).values(
            session_id=session_id,
            author=who,
            written_at=now_s(connection),
            version=version.scalar_subquery(),
            body=body,
        )
    )
    key = done.inserted_primary_key
    assert key is not None
    return int(key[0])


def comments(connection: sa.Connection, session_id: str) -> list[Comment]:
    """The oldest first."""
    columns = [column for column in COMMENTS.c if column.name != "session_id"]
    statement = sa.select(*columns).where(COMMENTS.c.session_id == session_id)
    rows = connection.execute(statement.order_by(COMMENTS.c.comment_id)).mappings()
    return [Comment(**row) for row in rows]


def delete_comment(
    connection: sa.Connection, session_id: str, comment_id: int, who: str, role: Role
) -> None:
    """Own comments, and for the owner any. Raises SessionAccessError."""
    key = (COMMENTS.c.session_id == session_id) & (COMMENTS.c.comment_id == comment_id)
    if role is not Role.OWNER:
        key &= COMMENTS.c.author == who
    if connection.execute(sa.delete(COMMENTS).where(key)).rowcount == 0:
        raise SessionAccessError("There is no such comment of yours in this session.")
