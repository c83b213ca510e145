"""Who may do what with a session: members and comments."""

from __future__ import annotations

import secrets

import sqlalchemy as sa

from core.errors import RecordError, SessionAccessError
from core.records.session import checked_text
from core.store.database import now_s
from core.store.session_states import Comment, Member, Role
from core.store.tables import COMMENTS, MEMBERS, SESSIONS, insert_or

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


def members(connection: sa.Connection, session_id: str) -> list[Member]:
    """The owner first, then by name."""
    statement = sa.select(MEMBERS.c.who, MEMBERS.c.role).where(MEMBERS.c.session_id == session_id)
    found = [Member(row.who, Role(row.role)) for row in connection.execute(statement)]
    return sorted(found, key=lambda m: (-m.role.rank, m.who))


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
