"""The session store's calls about people: links, members, comments."""

from __future__ import annotations

from collections.abc import Mapping

from core.records.session import checked_name
from core.store import session_links as links
from core.store import session_names as names
from core.store import session_people as people
from core.store.session_base import SessionBase
from core.store.session_states import Comment, Member, Role, ShareLink


class SharingCalls(SessionBase):
    """Share links, members and the comment thread."""

    def share(self, session_id: str, who: str, role: Role) -> str:
        """The link token that makes its opener a viewer or an editor; the same until withdrawn.

        For the owner alone. Raises RecordError for the role of an owner.
        """
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.OWNER)
            return links.share(connection, session_id, role)

    def links(self, session_id: str, who: str) -> list[ShareLink]:
        """The links that work, viewers' first. For the owner alone."""
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.OWNER)
            return links.links(connection, session_id)

    def unshare(self, session_id: str, who: str, role: Role) -> None:
        """Withdraw the link of a role; whoever has that role is out. For the owner alone.

        Raises RecordError for the role of an owner.
        """
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.OWNER)
            links.unshare(connection, session_id, role)

    def open_link(self, token: str, who: str) -> tuple[str, Role]:
        """(session id, role) for somebody who comes with a link; they are a member from now on."""
        checked_name(who, "Your name")
        with self._transaction() as connection:
            return links.open_link(connection, token, who)

    def members(self, session_id: str, who: str) -> list[Member]:
        """Everybody with a part in the session, the owner first."""
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.VIEWER)
            return people.members(connection, session_id)

    def remove_member(self, session_id: str, member: str, who: str) -> None:
        """The owner takes anybody else out, whom no link made so far lets in again; everybody else
        leaves by themselves, and may come back by a link."""
        with self._transaction() as connection:
            needed = Role.VIEWER if member == who else Role.OWNER
            people.require(connection, session_id, who, needed)
            if member != who:
                links.limit_links(connection, session_id, member, None)
            links.remove_member(connection, session_id, member)

    def set_role(self, session_id: str, member: str, role: Role, who: str) -> None:
        """Make a member a viewer or an editor, also where they open a link again. For the owner
        alone.

        Raises RecordError for the role of an owner, SessionAccessError if there is no such member
        or it is the owner.
        """
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.OWNER)
            links.change_role(connection, session_id, member, role)

    def introduce(self, who: str, name: str) -> None:
        """Keep the name that `who` is shown as to people of the same sessions."""
        checked_name(who, "Your identity")
        checked_name(name, "Your name")
        with self._transaction() as connection:
            names.introduce(connection, who, name)

    def names_known_to(self, who: str) -> Mapping[str, str]:
        """{who: name} of everybody in the sessions that `who` has a part in."""
        with self._transaction() as connection:
            return names.names_known_to(connection, who)

    def comment(self, session_id: str, who: str, body: str) -> int:
        """Add to the thread; returns the comment's number. For editors and the owner.

        Raises RecordError on an empty or overlong text, and on control characters.
        """
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.EDITOR)
            return people.add_comment(connection, session_id, who, body)

    def comments(self, session_id: str, who: str) -> list[Comment]:
        """The thread, the oldest first."""
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.VIEWER)
            return people.comments(connection, session_id)

    def delete_comment(self, session_id: str, comment_id: int, who: str) -> None:
        """Own comments; the owner of the session deletes any."""
        with self._transaction() as connection:
            role = people.require(connection, session_id, who, Role.EDITOR)
            people.delete_comment(connection, session_id, comment_id, who, role)
