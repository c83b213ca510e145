"""Jobs that no live worker has: found, and moved to where one will take them."""

from __future__ import annotations

from core.store import job_table
from core.store.engine import database_answers
from core.store.job_looks import JobLooks
from core.store.kinds import KINDS, MEASURE, Kind


class JobRescue(JobLooks):
    """What workers ask, every few seconds."""

    @database_answers()
    def adopt_waiting(self, queue: str, kind: Kind = MEASURE) -> list[str]:
        """Move waiting jobs that may run anywhere, and whose queue nobody hears, to `queue`.

        Returns their ids. A worker calls this so that a job sent before any worker was up is
        not stranded on the queue of another device kind. A job with rows stays: they are of one
        device.
        """
        if not kind.movable:
            return []
        heard = {w.queue for w in kind.speakers(self.workers())} | {queue}
        waiting = {
            w.workflow_id: w.queue_name
            for w in self._client.list_workflows(
                status=["ENQUEUED"], app_version=kind.protocol, load_input=False, load_output=False
            )
            if w.queue_name not in heard
        }
        return [job_id for job_id, old in waiting.items() if self._adopt(job_id, old, queue)]

    def _adopt(self, job_id: str, old: str | None, queue: str) -> bool:
        if self._client.list_workflow_steps(job_id):
            return False
        with self._engine.begin() as connection:
            mine = job_table.move_job(connection, job_id, old, queue)
        if mine:
            self._client.resume_workflow(job_id, queue_name=queue)
            with self._engine.connect() as connection:
                cancelled = job_table.was_cancelled(connection, job_id)
            if cancelled:  # in between: the engine would wake a cancelled job
                self._client.cancel_workflow(job_id)
        return mine

    @database_answers()
    def stranded(self, queue: str) -> list[str]:
        """Ids of dead workers of this queue that still hold running jobs."""
        live = {w.executor_id for w in self.workers() if w.alive}
        running = self._client.list_workflows(
            status=["PENDING"],
            queue_name=queue,
            app_version=[kind.protocol for kind in KINDS.values()],
            load_input=False,
            load_output=False,
        )
        return sorted({w.executor_id for w in running if w.executor_id} - live)

    @database_answers()
    def protocols_of(self, executor_id: str) -> list[str]:
        """Protocols of the jobs that count as running under this worker's id."""
        running = self._client.list_workflows(
            status=["PENDING"], executor_id=executor_id, load_input=False, load_output=False
        )
        return sorted({w.app_version for w in running if w.app_version})
