"""Are all acknowledged saves there, and every session whole? Judged from the writer's own notes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.reliability.session_writer import WHO, reading_of
from core.store.sessions import SessionStore
from core.store.workloads import workload_digest


class SessionWitness:
    """Reads what was promised, and looks for it in the database."""

    def __init__(self, url: str, log: Path) -> None:
        self._url, self._log = url, log
        self._offset = 0
        self.saves = 0
        self._promised: dict[str, dict[int, str]] = {}
        self._changed: set[str] = set()

    @property
    def sessions(self) -> int:
        """How many were promised."""
        return len(self._promised)

    def read_promises(self) -> int:
        """Take in what the writer has noted since; how many saves were acknowledged so far."""
        if self._log.exists():
            with self._log.open() as lines:
                lines.seek(self._offset)
                for line in lines:
                    session_id, version, notes = line.split()
                    self._promised.setdefault(session_id, {})[int(version)] = notes
                    self._changed.add(session_id)
                    self.saves += 1
                self._offset = lines.tell()
        return self.saves

    def check(self, everything: bool = False) -> list[str]:
        """What is wrong, one sentence each; only sessions with new promises, or all of them.

        Sessions that were begun but never acknowledged must be whole as well.
        """
        self.read_promises()
        store = SessionStore(self._url)
        try:
            found = {info.session_id for info in store.list_for(WHO)}
            missing = [f"session {key} is gone" for key in self._promised if key not in found]
            wanted = found if everything else self._changed & found
            wrong = [text for key in sorted(wanted) for text in self._check_one(store, key)]
            self._changed.clear()
            return missing + wrong
        finally:
            store.close()

    def _check_one(self, store: SessionStore, session_id: str) -> list[str]:
        wrong = []
        history = store.history(session_id, WHO)
        numbers = [entry.version for entry in history]
        if numbers != list(range(len(history), 0, -1)):
            wrong.append(f"session {session_id}: its history has versions {numbers}")
        notes = {n: store.load_version(session_id, n, WHO).notes for n in numbers}
        for version, promised in self._promised.get(session_id, {}).items():
            if notes.get(version) != promised:
                wrong.append(
                    f"session {session_id}, version {version}: {promised!r} was saved, "
                    f"{notes.get(version)!r} is there"
                )
        return wrong + self._check_content(store, session_id)

    def _check_content(self, store: SessionStore, session_id: str) -> list[str]:
        """The traffic is the one that was given, and the newest document agrees with itself."""
        document = store.load(session_id, WHO).document
        seed, number = (int(part) for part in document.notes.split("-"))
        reading = store.load_workload(session_id, WHO)
        wrong = []
        if workload_digest(reading) != workload_digest(reading_of(seed)):
            wrong.append(f"session {session_id}: its traffic is another one")
        if document.settings != {"best_k": number + 1} or len(document.sets[0]) != number + 1:
            wrong.append(f"session {session_id}: its newest version mixes two saves")
        return wrong
