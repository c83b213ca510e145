"""What a session keeps is what its pages show, and what a reopened session shows again."""

from __future__ import annotations

import numpy as np
import pytest

from tests.app.apptest import to_page, with_file
from tests.app.session_steps import in_address, press

pytestmark = pytest.mark.usefixtures("own_database")


def newest(session_id: str):
    """The document that the database holds, with its version."""
    from app.sessions import current as sessions

    return sessions.store().load(session_id, "local")


def kept_arrivals(session_id: str) -> list[float]:
    """Arrivals of the traffic that the newest version names [s]."""
    from app.sessions import current as sessions

    found = sessions.store().load_workload(
        session_id, "local", newest(session_id).document.workload.digest
    )
    assert found.trace is not None and found.trace.arrival_s is not None
    return np.asarray(found.trace.arrival_s).tolist()


def read_again(at, role: str, column: str) -> None:
    """Take another column for a role, on the Workload page."""
    box = next(box for box in at.selectbox if box.label == role)
    box.set_value(column)
    press(at, "Read again")
    assert not at.error


def test_a_file_that_is_read_again_is_saved_again():
    """Arrivals 0, 1, 2 and then, from another column, 0, 10, 30: the session holds the latter,
    and so does a fork of it."""
    data = b"arrival,later,prompt_tokens,output_tokens\n0,0,10,5\n1,10,10,5\n2,30,10,5\n"
    at = with_file(data, "two.csv")
    to_page(at, "sessions.py")
    press(at, "Keep this work as a session")
    session_id = in_address(at, "session")
    assert kept_arrivals(session_id) == [0, 1, 2]
    to_page(at, "workload.py")
    at.file_uploader(key="upload").set_value(("two.csv", data, "text/csv")).run()
    read_again(at, "arrival time", "later")
    assert kept_arrivals(session_id) == [0, 10, 30]
    to_page(at, "sessions.py")
    press(at, "Fork: a copy of your own")
    fork_id = in_address(at, "session")
    assert fork_id != session_id
    assert kept_arrivals(fork_id) == [0, 10, 30]
