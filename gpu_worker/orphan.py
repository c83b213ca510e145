"""A job that counts as this worker's and that it does not run: its thread ended without a word.

The engine takes such a job up again when the worker starts, so the worker ends and is started
again by its supervisor.
"""

from __future__ import annotations

from core.store.states import IDLE

LOOKS = 3
"""One look may fall between taking a job and its first step, or between its last and the end."""


class OrphanWatch:
    """Counts looks in a row at which a job was held and nothing was done."""

    def __init__(self) -> None:
        self._looks = 0

    def look(self, doing: str, holds_job: bool) -> bool:
        """Whether the job has been orphaned for sure."""
        self._looks = self._looks + 1 if holds_job and doing == IDLE else 0
        return self._looks >= LOOKS
