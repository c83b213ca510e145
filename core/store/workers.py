"""Heartbeat rows: which workers listen, on which queue, and since when they were last heard."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import sqlalchemy as sa

from core.store.database import WORKERS, now_s
from core.store.states import STOPPED, WorkerInfo


@dataclass(frozen=True)
class Identity:
    """Who a worker is; the same after every restart, except for the process id."""

    executor_id: str
    host: str
    pid: int
    device_kind: str
    device_name: str
    queue: str
    protocol: str


def beat(engine: sa.Engine, worker: Identity, started_at: float, doing: str) -> None:
    """Write that the worker lives and what it does; started_at: Unix time [s]."""
    with engine.begin() as connection:
        values = {
            **asdict(worker),
            "started_at": started_at,
            "seen_at": now_s(connection),
            "doing": doing,
        }
        key = WORKERS.c.executor_id == worker.executor_id
        if connection.execute(sa.update(WORKERS).where(key).values(values)).rowcount == 0:
            connection.execute(sa.insert(WORKERS).values(values))


def leave(engine: sa.Engine, executor_id: str) -> None:
    """Note that the worker ended in good order; its jobs may be taken over at once."""
    with engine.begin() as connection:
        key = WORKERS.c.executor_id == executor_id
        connection.execute(sa.update(WORKERS).where(key).values(doing=STOPPED))


def read_workers(engine: sa.Engine) -> list[WorkerInfo]:
    """All workers with a row, live ones first, then the last heard."""
    with engine.connect() as connection:
        now = now_s(connection)
        rows = connection.execute(sa.select(WORKERS)).mappings().all()
    found = [WorkerInfo(**row, seen_s_ago=max(0.0, now - row["seen_at"])) for row in rows]
    return sorted(found, key=lambda worker: (not worker.alive, worker.seen_s_ago))
