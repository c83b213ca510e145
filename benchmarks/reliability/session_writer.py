"""A process that saves sessions until it is killed, and notes what the store acknowledged.

    python -m benchmarks.reliability.session_writer URL LOG

After every call that came back a line is appended to LOG: session, version, notes.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from core.errors import SessionError
from core.readers.reading import Reading
from core.records import BucketSet, DeviceInfo, Grade, MeasureRow, MeasureSpec, Profile, Trace
from core.records.session import TuningSession, WorkloadRef
from core.store.sessions import SessionStore
from core.store.workloads import workload_digest

WHO = "writer"
SAVES = 30
"""Versions of one session before the next is made."""
PAUSE_S = 0.05
REQUESTS = 2000


def reading_of(seed: int) -> Reading:
    """Traffic that no other session has."""
    tokens = np.random.default_rng(seed).integers(1, 4000, REQUESTS)
    trace = Trace(tokens, tokens[::-1].copy(), np.arange(REQUESTS) / 10.0, name="written")
    return Reading("plain-csv", "CSV", Grade.REQUESTS, rows=REQUESTS, kept=REQUESTS, trace=trace)


def document_of(reading: Reading, notes: str, number: int) -> TuningSession:
    """A document that differs from the one before in notes, sets and profile."""
    row = MeasureRow(1, eager_us=900.0 + number, replay_us=100.0 + number, samples=7)
    profile = Profile(
        DeviceInfo("card", "A card", True), MeasureSpec((1,), samples=7), (row,), notes
    )
    return TuningSession(
        "Written",
        WorkloadRef("written", workload_digest(reading)),
        {"best_k": number + 1},
        (BucketSet("Mine", tuple(range(1, number + 2))),),
        {"p": profile},
        (),
        notes,
    )


def write_one(store: SessionStore, log: int, seed: int) -> None:
    """One session with its saves. Raises SessionError when the database goes away."""
    reading = reading_of(seed)
    document = document_of(reading, f"{seed}-0", 0)
    session_id = store.create(WHO, document, reading)
    _note(log, session_id, 1, document.notes)
    for number in range(1, SAVES):
        time.sleep(PAUSE_S)
        document = document_of(reading, f"{seed}-{number}", number)
        version = store.save(session_id, document, number, WHO)
        _note(log, session_id, version, document.notes)


def _note(log: int, session_id: str, version: int, notes: str) -> None:
    """One write call: the line is in the file whole or not at all."""
    os.write(log, f"{session_id} {version} {notes}\n".encode())


def main() -> None:
    url, path = sys.argv[1:]
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        try:
            store = SessionStore(url)
            while True:
                write_one(store, log, int.from_bytes(os.urandom(4), "big"))
        except SessionError as error:  # the database is away; what was under way is not promised
            print(error, flush=True)
            time.sleep(0.1)


if __name__ == "__main__":
    main()
