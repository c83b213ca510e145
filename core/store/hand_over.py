"""One person's sessions given to another: what was made before people logged in, or by who left.

People choose the names that they are shown as, so a name counts only where nothing else can be
meant.
"""

from __future__ import annotations

import sqlalchemy as sa

from core.errors import SessionError
from core.store.database import make_engine
from core.store.session_people import set_member
from core.store.session_states import LOCAL_USER, Role
from core.store.tables import MEMBERS, PEOPLE


def hand_over(url: str, giver: str, taker: str) -> int:
    """Give every part that one person has in a session to another; returns in how many sessions.

    The giver has no part in any session afterwards; where both had one the higher role is kept.

    giver, taker : what identifies them ("local" where nobody logs in), or the name they are shown
        as, once they have logged in and kept or opened a session
    Raises SessionError where a name is nobody's or not one person's alone.
    """
    engine = make_engine(url)
    try:
        with engine.begin() as connection:
            old, new = _found(connection, giver), _found(connection, taker)
            if old == new:
                raise SessionError(f"{giver} and {taker} are the same person; nothing was done.")
            return _give(connection, old, new)
    finally:
        engine.dispose()


def _give(connection: sa.Connection, old: str, new: str) -> int:
    """Taken away first, so that nobody changes a role in between."""
    taken = sa.delete(MEMBERS).where(MEMBERS.c.who == old)
    given = _roles(connection, taken.returning(MEMBERS.c.session_id, MEMBERS.c.role))
    mine = sa.select(MEMBERS.c.session_id, MEMBERS.c.role).where(MEMBERS.c.who == new)
    held = _roles(connection, mine)
    for session_id, role in given.items():
        if session_id not in held or held[session_id].rank < role.rank:
            set_member(connection, session_id, new, role)
    return len(given)


def _roles(connection: sa.Connection, statement: sa.Executable) -> dict[str, Role]:
    return {row.session_id: Role(row.role) for row in connection.execute(statement)}


def _found(connection: sa.Connection, text: str) -> str:
    """Who is meant: somebody whom the text identifies, else the one person shown as that."""
    known = (sa.select(table.c.who).where(table.c.who == text) for table in (MEMBERS, PEOPLE))
    if connection.execute(sa.union(*known)).first() is not None:
        return text
    found = []
    if text != LOCAL_USER:  # never a name: whoever logs in could take it
        named = sa.select(PEOPLE.c.who).where(PEOPLE.c.name == text).order_by(PEOPLE.c.who)
        found = list(connection.execute(named).scalars())
    if len(found) > 1:
        raise SessionError(
            f"{text} is the name of {len(found)} people: {', '.join(found)}; give one of these."
        )
    if not found:
        raise SessionError(
            f"Nobody is known as {text}; people are, once they have logged in and kept or opened "
            "a session."
        )
    return found[0]
