"""A process that saves sessions until it is killed, for test_session_kill.py.

python -m tests.core.store.session_writer URL LOG

For each line on stdin it forks a child that writes and prints the child's id. The child appends a
line to LOG after every call that came back: what the store promised to keep.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from dataclasses import replace

import numpy as np

from core.records import BucketSet
from core.records.session import WorkloadRef
from core.store.sessions import SessionStore
from core.store.workloads import workload_digest, workload_to_bytes
from tests.core.store.session_cases import DOCUMENT, PROFILE, READING


def note(log: int, line: str) -> None:
    """One write call: it is in the file whole or not at all."""
    os.write(log, f"{line}\n".encode())


def write_for_ever(url: str, log: int, number: int) -> None:
    """Create, save with new content, comment, fork, restore; again and again."""
    assert READING.trace is not None
    store = SessionStore(url)
    for i in itertools.count():
        tokens = np.arange(20_000) + 1000 * number + i
        trace = replace(READING.trace, prompt_tokens=tokens, output_tokens=tokens, arrival_s=None)
        reading = replace(READING, trace=trace)
        document = replace(DOCUMENT, workload=WorkloadRef("w", workload_digest(reading)))
        session_id = store.create("ana", document, reading)
        note(log, f"saved {session_id} 1 {document.notes}")
        for version in range(1, 6):
            profile = replace(PROFILE, measured_at=f"{number}-{i}-{version}")
            document = replace(
                document,
                notes=f"{number}-{i}-{version}",
                profiles={"p": profile},
                sets=(*document.sets, BucketSet(f"s{version}", tuple(range(1, 400)))),
            )
            store.save(session_id, document, version, "ana")
            note(log, f"saved {session_id} {version + 1} {document.notes}")
        store.comment(session_id, "ana", "x" * 5000)
        note(log, f"comments {session_id} 1 -")
        store.restore(session_id, 2, "ana")
        note(log, f"saved {session_id} 7 {number}-{i}-1")
        copy = store.fork(session_id, "ana")
        note(log, f"saved {copy} 1 {number}-{i}-1")


def main() -> None:
    url, path = sys.argv[1:]
    workload_to_bytes(READING)  # loads what every child would load again
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    child = 0
    for number, _ in enumerate(sys.stdin):
        if child:
            os.waitpid(child, 0)
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # should nobody be left to kill it
            write_for_ever(url, log, number)
        print(child, flush=True)


if __name__ == "__main__":
    main()
