"""The session store's calls that look back and go back."""

from __future__ import annotations

from core.errors import SessionError
from core.records.session import TuningSession
from core.store import session_people as people
from core.store import session_versions as versions
from core.store.session_base import Draft, SessionBase
from core.store.session_states import Role, VersionInfo


class HistoryCalls(SessionBase):
    """History, restore and undo. Going back adds a version; nothing is taken out."""

    def history(self, session_id: str, who: str) -> list[VersionInfo]:
        """Every version that is kept, the newest first."""
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.VIEWER)
            return versions.read_history(connection, session_id)

    def load_version(self, session_id: str, version: int, who: str) -> TuningSession:
        """An older document. Raises SessionError if the history does not have it."""
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.VIEWER)
            document = versions.read_document(connection, session_id, version)
        if document is None:
            raise SessionError(f"The session's history has no version {version}.")
        return document

    def restore(self, session_id: str, version: int, who: str) -> int:
        """Make an older document the newest; returns the new version's number.

        Raises SessionError if the history does not have it, SessionConflict if somebody saved at
        the same moment.
        """
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.EDITOR)
            entries = {e.version: e for e in versions.read_history(connection, session_id)}
            text = versions.read_text(connection, session_id, version)
            document = versions.read_document(connection, session_id, version)
            if text is None or document is None or version not in entries:
                raise SessionError(f"The session's history has no version {version}.")
            newest = max(entries)
            old = Draft(document, versions.Packed(text, ()))
            entry = VersionInfo(
                version=newest + 1,
                saved_at=0.0,
                saved_by=who,
                action="restored",
                # Undo goes on from where the restored version stood, so that it can be repeated.
                based_on=entries[version].based_on,
                changes=versions.noted_changes(
                    versions.read_document(connection, session_id, newest), document
                ),
            )
            done = self._append(connection, session_id, newest, entry, old)
        return done or self._conflict(session_id, old, newest)

    def undo(self, session_id: str, who: str) -> int | None:
        """Go back one change; returns the new version's number, None where there is none left
        or a prune took it."""
        with self._transaction() as connection:
            people.require(connection, session_id, who, Role.EDITOR)
            entries = {e.version: e for e in versions.read_history(connection, session_id)}
        before = entries[max(entries)].based_on
        if before not in entries:
            return None
        return self.restore(session_id, before, who)
