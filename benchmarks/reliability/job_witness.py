"""Keeps a job running, and remembers each finished step from the moment it is first seen."""

from __future__ import annotations

import threading

from sqlalchemy import exc

from benchmarks.reliability.job_tasks import finished_rows, send
from core.errors import ProjectError
from core.store.jobs import JobClient
from core.store.states import JobState, JobStatus

LOOK_EVERY_S = 0.05


class JobWitness:
    """Looks at the running job twenty times a second, from a thread of its own.

    done, failed : finished steps seen, and those of them whose row is an error
    wrong : what was found since the last check
    no_answer : {kind of error: how often} while the database was away
    """

    def __init__(self, url: str, task: str) -> None:
        """task : one of job_tasks"""
        self._url, self._task = url, task
        self._stopping = threading.Event()
        # Held from reading a state to comparing it: an older look must not follow a newer one.
        self._lock = threading.RLock()
        self._seen: dict[str, dict[str, str]] = {}
        self._ended: dict[str, JobState] = {}
        self._job_id: str | None = None
        self.done = 0
        self.failed = 0
        self.wrong: list[str] = []
        self.no_answer: dict[str, int] = {}
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._thread.start()

    @property
    def endings(self) -> dict[str, int]:
        """How many jobs ended in which way."""
        with self._lock:
            ends = [state.status.value for state in self._ended.values()]
        return {end: ends.count(end) for end in sorted(set(ends))}

    @property
    def failures(self) -> list[str]:
        """What is said of the jobs that failed."""
        with self._lock:
            states = list(self._ended.values())
        return [state.message for state in states if state.status is JobStatus.FAILED]

    def stop(self) -> None:
        """Look no more, and cancel what runs."""
        self._stopping.set()
        self._thread.join()
        client = JobClient(self._url)
        try:
            if self._job_id is not None:
                client.cancel(self._job_id)
        finally:
            client.close()

    def check(self, everything: bool = False) -> list[str]:
        """What is wrong, one sentence each; the last three jobs, or all, read by a new client."""
        with self._lock:
            jobs = list(self._seen)[-3:] if not everything else list(self._seen)
        client = JobClient(self._url)
        try:
            for job_id in jobs:
                with self._lock:
                    self._compare(client.state(job_id))
        finally:
            client.close()
        with self._lock:
            found, self.wrong = self.wrong, []
        return found

    def _look_on(self) -> None:
        client: JobClient | None = None
        while not self._stopping.wait(LOOK_EVERY_S):
            try:
                client = client or JobClient(self._url)
                self._look(client)
            except (ProjectError, exc.SQLAlchemyError) as error:
                self._note(error)
        if client is not None:
            client.close()

    def _note(self, error: Exception) -> None:
        """No answer is no fault while something is dead; a job that is not there is one."""
        if "There is no job" in str(error):
            with self._lock:
                self.wrong.append(f"an accepted job is gone: {error}")
            self._job_id = None
        kind = type(error).__name__
        self.no_answer[kind] = self.no_answer.get(kind, 0) + 1

    def _look(self, client: JobClient) -> None:
        if self._job_id is None:
            self._job_id = send(self._task, client)
        with self._lock:
            state = client.state(self._job_id)
            self._compare(state)
            if state.finished:
                self._ended[state.job_id] = state
                self._job_id = None

    def _compare(self, state: JobState) -> None:
        """Every step seen before is there, once, as it was."""
        rows = finished_rows(state)
        with self._lock:
            seen = self._seen.setdefault(state.job_id, {})
            self.wrong += differences(state.job_id, seen, [(what, text) for what, text, _ in rows])
            new = [failed for what, _, failed in rows if what not in seen]
            self.done += len(new)
            self.failed += sum(new)
            seen.update({what: text for what, text, _ in rows})


def differences(job_id: str, seen: dict[str, str], now: list[tuple[str, str]]) -> list[str]:
    present = dict(now)
    wrong = []
    if len(present) != len(now):
        wrong.append(f"job {job_id}: a step is there twice: {sorted(what for what, _ in now)}")
    for what, text in seen.items():
        if what not in present:
            wrong.append(f"job {job_id}: {what} was finished and is lost")
        elif present[what] != text:
            wrong.append(f"job {job_id}: {what} was {text}, is {present[what]}")
    return wrong
