"""Give a dead worker's jobs back to their queue, where live workers of its kind take them.

Starting the job engine under the dead worker's id makes it put that id's running jobs back; it
listens to no queue here, so it runs none of them itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from core.errors import ProjectError
from core.store.database import default_database_url
from core.store.jobs import JobClient
from gpu_worker.engine import start_engine
from gpu_worker.lifeline import claim_id

WAIT_S = 10.0


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0 when no job is left under the id, 1 otherwise; then says why on stderr."""
    parser = argparse.ArgumentParser(prog="python -m gpu_worker.takeover")
    parser.add_argument("--dead", required=True, help="executor id of the dead worker")
    parser.add_argument("--url", help="database; default: BUCKETWISE_DATABASE_URL, else data/")
    args = parser.parse_args(argv)
    url = args.url or default_database_url()
    lock = claim_id(args.dead, url, wait_s=0.0)
    if lock is None:
        print(f"{args.dead} is alive on this host; nothing was taken over.", file=sys.stderr)
        return 1
    try:
        return 0 if give_back(args.dead, url) else 1
    except ProjectError as error:
        print(f"{args.dead}: {error} Its jobs wait for a worker that does.", file=sys.stderr)
        return 1


def give_back(executor_id: str, url: str) -> bool:
    """True once none of the id's jobs counts as running.

    Raises JobError for jobs of a protocol that this version does not speak.
    """
    client = JobClient(url)
    protocols = client.protocols_of(executor_id)
    client.close()
    return all(_give_back(executor_id, url, protocol) for protocol in protocols)


def _give_back(executor_id: str, url: str, protocol: str) -> bool:
    start_engine(url, executor_id, protocol, log_level="ERROR")
    from dbos import DBOS

    deadline = time.monotonic() + WAIT_S
    left = True
    while left and time.monotonic() < deadline:
        found = DBOS.list_workflows(status="PENDING", executor_id=executor_id, app_version=protocol)
        left = bool(found)
        time.sleep(0.1)
    DBOS.destroy(workflow_completion_timeout_sec=0)
    return not left


if __name__ == "__main__":
    sys.exit(main())
