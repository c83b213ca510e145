"""One person's sessions given to another: what was made before people logged in, or by who left."""

from __future__ import annotations

import sqlalchemy as sa

from core.errors import SessionError
from core.store.database import make_engine
from core.store.tables import MEMBERS, PEOPLE


def hand_over(url: str, giver: str, taker: str) -> int:
    """Give every part that one person has in a session to another; returns in how many sessions.

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
            theirs = sa.select(MEMBERS.c.session_id).where(MEMBERS.c.who == old)
            mine = MEMBERS.c.session_id.in_(theirs) & (MEMBERS.c.who == new)
            owned = sa.select(MEMBERS.c.session_id).where(
                MEMBERS.c.who == new, MEMBERS.c.role == "owner"
            )
            # Who owns a session keeps it; any other part of the taker's gives way to the giver's.
            connection.execute(sa.delete(MEMBERS).where(mine, MEMBERS.c.role != "owner"))
            moved = sa.update(MEMBERS).where(
                MEMBERS.c.who == old, MEMBERS.c.session_id.not_in(owned)
            )
            return connection.execute(moved.values(who=new)).rowcount
    finally:
        engine.dispose()


def _found(connection: sa.Connection, text: str) -> str:
    """Who is meant by an identity or a name."""
    statement = sa.select(PEOPLE.c.who).where((PEOPLE.c.name == text) | (PEOPLE.c.who == text))
    found = list(connection.execute(statement).scalars())
    if len(found) > 1:
        raise SessionError(f"{text} is the name of {len(found)} people: {', '.join(found)}.")
    if found:
        return found[0]
    known = sa.select(MEMBERS.c.who).where(MEMBERS.c.who == text).limit(1)
    if connection.execute(known).scalar_one_or_none() is None:
        raise SessionError(
            f"Nobody is known as {text}; people are, once they have logged in and kept or opened "
            "a session."
        )
    return text
