"""What the pages are told about tuning sessions, their history and the people in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.errors import ConflictError
from core.records.session import TuningSession
from core.records.session_changes import FieldChange, Merge, changes, merge

LOCAL_USER = "local"
"""Who works where nobody logs in."""

SHOWN_CHANGES = 5


class Role(StrEnum):
    """What somebody may do: a viewer looks, forks and exports, an editor also changes and
    comments, an owner also shares and deletes."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        return list(Role).index(self)

    @property
    def may_edit(self) -> bool:
        return self.rank >= Role.EDITOR.rank


@dataclass(frozen=True)
class SessionInfo:
    """One session as it stands in a list. Times: Unix time [s]; role: the asker's."""

    session_id: str
    name: str
    version: int
    role: Role
    owner: str
    created_at: float
    saved_at: float
    saved_by: str
    forked_from: str | None = None
    forked_version: int | None = None


@dataclass(frozen=True)
class LoadedSession:
    """A session's document and the version that `save` wants back."""

    info: SessionInfo
    document: TuningSession
    version: int

    @property
    def role(self) -> Role:
        return self.info.role


@dataclass(frozen=True)
class VersionInfo:
    """One entry of the history.

    action : "created", "saved", "restored", "forked" or "imported"
    based_on : the version that one step of undo leads to; None for the first
    changes : one line a changed field, compared to the version before
    """

    version: int
    saved_at: float
    saved_by: str
    action: str
    based_on: int | None
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Comment:
    """One comment. version : the session's version when it was written."""

    comment_id: int
    author: str
    written_at: float
    version: int
    body: str


@dataclass(frozen=True)
class Member:
    """Somebody and what they may do."""

    who: str
    role: Role


@dataclass(frozen=True)
class ShareLink:
    """A link that makes its opener a viewer or an editor. Times: Unix time [s]."""

    role: Role
    token: str
    created_at: float


class SessionConflict(ConflictError):
    """Somebody else saved first; nothing was written.

    version : the newest, which a second `save` must name
    theirs : its document; mine : the refused one; base : the one mine started from, or None where
        it is no longer in the history
    name : what the other writer is shown as
    """

    def __init__(
        self,
        newest: VersionInfo,
        theirs: TuningSession,
        mine: TuningSession,
        base: TuningSession | None,
        name: str | None = None,
    ) -> None:
        self.name = name or newest.saved_by
        self.version, self.saved_by, self.saved_at = (
            newest.version,
            newest.saved_by,
            newest.saved_at,
        )
        self.theirs, self.mine, self.base = theirs, mine, base
        self.their_changes: tuple[FieldChange, ...] = changes(base or mine, theirs)
        self.my_changes: tuple[FieldChange, ...] = changes(base, mine) if base else ()
        super().__init__(self._sentence())

    def merged(self, prefer_mine: bool = True) -> Merge:
        """Both writers' changes in one document; `clashes` names the fields that both changed.

        Without a base, fields that differ are taken from the preferred side.
        """
        if self.base is None:
            kept = self.mine if prefer_mine else self.theirs
            return Merge(kept, tuple(change.field for change in self.their_changes))
        return merge(self.base, self.mine, self.theirs, prefer_mine)

    def _sentence(self) -> str:
        texts = [change.text for change in self.their_changes]
        more = f"; and {len(texts) - SHOWN_CHANGES} more" if len(texts) > SHOWN_CHANGES else ""
        what = "; ".join(texts[:SHOWN_CHANGES]) or "nothing that differs from yours"
        return (
            f"{self.name} saved version {self.version} while you were changing the session: "
            f"{what}{more}. Nothing of yours was written: take theirs, join both, or save yours "
            "over it."
        )
