"""What people are shown as: names told at log-in, known to those who share a session with them."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from core.store.database import now_s
from core.store.tables import COMMENTS, MEMBERS, PEOPLE, VERSIONS, insert_or


def introduce(connection: sa.Connection, who: str, name: str) -> None:
    """Keep the name that somebody is shown as, whatever it was before."""
    row = {"who": who, "name": name, "seen_at": now_s(connection)}
    connection.execute(
        insert_or(connection, PEOPLE, **row).on_conflict_do_update(
            index_elements=[PEOPLE.c.who], set_={"name": name, "seen_at": row["seen_at"]}
        )
    )


def shown_name(connection: sa.Connection, who: str) -> str:
    """The name, or what identifies somebody who never told one."""
    statement = sa.select(PEOPLE.c.name).where(PEOPLE.c.who == who)
    return connection.execute(statement).scalar_one_or_none() or who


def forget(connection: sa.Connection, told_before: float) -> int:
    """Drop the names of those who neither have a part in a session nor wrote in one; how many.

    told_before : names told later stay [Unix time, s]
    """
    seen = (MEMBERS.c.who, VERSIONS.c.saved_by, COMMENTS.c.author)
    unknown = [PEOPLE.c.who.not_in(sa.select(column)) for column in seen]
    gone = sa.delete(PEOPLE).where(PEOPLE.c.seen_at <= told_before, *unknown)
    return connection.execute(gone).rowcount


def names_known_to(connection: sa.Connection, who: str) -> Mapping[str, str]:
    """{who: name} of the asker, and of everybody in a session that the asker has a part in."""
    mine = sa.select(MEMBERS.c.session_id).where(MEMBERS.c.who == who)
    met = sa.union(
        *(
            sa.select(column).where(column.table.c.session_id.in_(mine))
            for column in (MEMBERS.c.who, VERSIONS.c.saved_by, COMMENTS.c.author)
        )
    )
    known = (PEOPLE.c.who == who) | PEOPLE.c.who.in_(met)
    rows = connection.execute(sa.select(PEOPLE.c.who, PEOPLE.c.name).where(known))
    return {row.who: row.name for row in rows}
