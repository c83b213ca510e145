"""The job engine inside a worker: started under the worker's id for one kind of job."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Sequence

from core.errors import JobError
from core.store.engine import APPLICATION, engine_url, refuse_pickle
from core.store.kinds import KINDS, MEASURE, SWEEP
from core.store.lost_connections import wait_for_lost_databases

WORKFLOWS = {MEASURE.name: "gpu_worker.workflow", SWEEP.name: "gpu_worker.sweep_workflow"}
"""The module that declares the workflow of each kind."""
QUEUE_POLL_S = 0.25


def start_engine(
    url: str, executor_id: str, protocol: str, queues: Sequence[str] = (), log_level: str = ""
) -> None:
    """Run jobs of one protocol from these queues, one at a time, in threads of this process.

    What the id still had running when it died goes back to its queue.
    Raises JobError for a protocol that this version does not speak.
    """
    kind = next((kind for kind in KINDS.values() if kind.protocol == protocol), None)
    if kind is None:
        spoken = ", ".join(sorted(kind.protocol for kind in KINDS.values()))
        raise JobError(f"Protocol {protocol} is not spoken here, only {spoken}.")
    refuse_pickle()
    wait_for_lost_databases()
    logging.getLogger("dbos").addFilter(is_news)
    from dbos import DBOS, DBOSPortableJSONSerializer

    importlib.import_module(WORKFLOWS[kind.name])  # the engine must know the workflow by name
    DBOS(
        config={
            "name": APPLICATION,
            "system_database_url": engine_url(url),
            "executor_id": executor_id,
            "application_version": protocol,
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": log_level or os.environ.get("BUCKETWISE_LOG_LEVEL", "WARNING"),
            "enable_otlp": False,
        }
    )
    DBOS.listen_queues(list(queues))
    DBOS.launch()
    for queue in queues:
        DBOS.register_queue(queue, worker_concurrency=1, polling_interval_sec=QUEUE_POLL_S)


NO_NEWS = ("is no longer owned by this execution", "is not the latest version")


def is_news(record: logging.LogRecord) -> bool:
    """False for what is no fault: the engine's traceback of a job that was cancelled while it
    ran, whose own state says it, and that the kinds of jobs have versions of their own."""
    error = record.exc_info[1] if record.exc_info else None
    if type(error).__name__ == "DBOSAwaitedWorkflowCancelledError":
        return False
    return not any(text in record.getMessage() for text in NO_NEWS)
