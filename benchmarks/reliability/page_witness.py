"""Does the dashboard work again: a page of it opens a kept session, changes it, and it is saved."""

from __future__ import annotations

from websockets.exceptions import WebSocketException

from benchmarks.reliability.processes import healthy
from benchmarks.reliability.session_writer import reading_of
from benchmarks.reliability.wire import Run, Tab
from core.records.session import TuningSession, WorkloadRef
from core.store.sessions import LOCAL_USER, SessionStore
from core.store.workloads import workload_digest
from tests import own_loop

PATIENCE_S = 60.0


class PageWitness:
    """One kept session that is changed through the page, again and again."""

    def __init__(self, url: str, address: str) -> None:
        self._url, self._address = url, address
        store, reading = SessionStore(url), reading_of(0)
        document = TuningSession("Page", WorkloadRef("page", workload_digest(reading)))
        self._session_id = store.create(LOCAL_USER, document, reading)
        store.close()
        self._saved = 0

    @property
    def healthy(self) -> bool:
        """Whether the server answers."""
        return healthy(self._address)

    def change(self, number: int) -> list[str]:
        """Choose another number of graphs on the Buckets page; what is wrong, a sentence each."""
        wanted = 17 + number % 40  # never the default, which is not kept
        try:
            run = own_loop.run(self._edit(wanted), PATIENCE_S)
        except (OSError, WebSocketException, TimeoutError, KeyError) as error:
            return [f"the page did not answer: {type(error).__name__}: {error}"]
        wrong = [f"the page shows: {text}" for text in run.errors]
        return wrong + self.check(wanted)

    def check(self, wanted: int | None = None) -> list[str]:
        """The last change that the page was drawn with is in the session."""
        self._saved = wanted or self._saved
        store = SessionStore(self._url)
        try:
            kept = store.load(self._session_id, LOCAL_USER).document.settings.get("best_k")
        finally:
            store.close()
        if self._saved and kept != self._saved:
            return [f"the page was drawn with best_k {self._saved}, the session has {kept}"]
        return []

    async def _edit(self, wanted: int) -> Run:
        async with Tab(self._address, "buckets", f"session={self._session_id}") as tab:
            first = await tab.load()
            if first.errors:
                return first
            return await tab.change({"best_k": wanted})
