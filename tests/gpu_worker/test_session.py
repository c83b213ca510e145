"""The measuring process seen from outside, with stand-ins that crash, hang and chatter."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from core.errors import JobError
from gpu_worker import session as session_module
from gpu_worker.session import (
    MeasuringProcess,
    Session,
    SessionEndedError,
    SessionStoppedError,
    never,
)
from tests.gpu_worker.conftest import tiny_spec

# Answers like the real one, but dies at bucket 2 and hangs at bucket 3; it tells what it captured
# through the row's sample count.
STAND_IN = """
import json, os, sys, time
captured = 0
print("a library's banner", flush=True)
for line in sys.stdin:
    question = json.loads(line)
    if "open" in question:
        answer = {"device": {"kind": "cpu", "name": "stand-in", "graphs": False}}
    elif "restore" in question:
        captured += len(question["restore"])
        answer = {"restored": len(question["restore"])}
    else:
        if question["measure"] == 2:
            print("out of luck", file=sys.stderr, flush=True)
            os._exit(7)
        if question["measure"] == 3:
            time.sleep(60)
        captured += 1
        answer = {"row": {"size": question["measure"], "eager_us": 1.0, "samples": captured}}
    print(json.dumps(answer), flush=True)
"""
COMMAND = [sys.executable, "-c", STAND_IN]
BROKEN = [sys.executable, "-c", "import sys; sys.exit('no such card')"]


@pytest.fixture
def process() -> Iterator[MeasuringProcess]:
    made = MeasuringProcess(COMMAND)
    yield made
    made.close()


def test_rows_come_back_and_chatter_is_ignored(process: MeasuringProcess) -> None:
    """Lines that are no JSON object are not answers."""
    assert process.open(tiny_spec(1), never).name == "stand-in"
    assert process.measure(1, never).eager_us == 1.0
    assert process.captured == [1]


def test_a_crash_tells_how_it_ended(process: MeasuringProcess) -> None:
    """Exit code and last words of the process are in the sentence."""
    process.open(tiny_spec(1), never)
    with pytest.raises(SessionEndedError, match="exit code 7: out of luck"):
        process.measure(2, never)
    assert not process.alive


def test_the_bucket_after_an_error_of_the_device_has_a_new_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process says that a row is its last answer and takes its time to end: the next bucket is
    not asked of it, and its row is no "ended with exit code 3"."""
    last_words = STAND_IN.replace(
        "    print(json.dumps(answer), flush=True)",
        "    if question.get('measure') == 4:\n"
        "        answer = {'row': {'size': 4, 'error': 'Memory ran out.'}, 'ends': True}\n"
        "    print(json.dumps(answer), flush=True)\n"
        "    if answer.get('ends'):\n"
        "        time.sleep(0.5)\n"
        "        os._exit(3)",
    )
    monkeypatch.setattr(session_module, "COMMAND", [sys.executable, "-c", last_words])
    session = Session(tiny_spec(4, 1))
    try:
        session.open()
        assert session.measure(4, []).error == "Memory ran out."
        row = session.measure(1, [])
        assert (row.error, row.eager_us, session.crashed) == (None, 1.0, False)
    finally:
        session.close()


def test_a_hang_can_be_stopped(process: MeasuringProcess) -> None:
    """The process is killed within moments when `stop` says so, whatever it does."""
    process.open(tiny_spec(1), never)
    begin = time.monotonic()
    with pytest.raises(SessionStoppedError):
        process.measure(3, lambda: time.monotonic() - begin > 0.3)
    assert time.monotonic() - begin < 2.0
    assert not process.alive


def test_ending_it_on_purpose_is_a_stop_and_no_crash(process: MeasuringProcess) -> None:
    """A worker that shuts down kills it while a thread waits for the row: no row is made up."""
    process.open(tiny_spec(1), never)
    stopping = threading.Event()

    def shut_down() -> None:
        stopping.set()
        process._process.kill()

    threading.Timer(0.3, shut_down).start()
    with pytest.raises(SessionStoppedError):
        process.measure(3, stopping.is_set)


def test_after_a_crash_the_next_bucket_finds_the_pool_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bucket that crashed is a row with an error; a new process first captures what the old
    one had captured, then measures the next bucket."""
    monkeypatch.setattr(session_module, "COMMAND", COMMAND)
    session = Session(tiny_spec(8, 4, 2, 1))
    session.open()
    assert session.measure(8, []).samples == 1
    assert session.measure(4, [8]).samples == 2
    crashed = session.measure(2, [8, 4])
    assert crashed.error is not None and "exit code 7" in crashed.error
    assert crashed.eager_us is None
    # 8 and 4 captured anew, then 1 itself: three.
    assert session.measure(1, [8, 4]).samples == 3
    session.close()


def test_a_model_that_cannot_be_loaded_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The job fails with the process's last words, not bucket by bucket."""
    monkeypatch.setattr(session_module, "COMMAND", BROKEN)
    session = Session(tiny_spec(1))
    with pytest.raises(JobError, match="exit code 1: no such card"):
        session.open()
    session.close()
