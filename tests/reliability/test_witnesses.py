"""The witnesses of the kill rounds see what they look for: each kind of loss is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reliability.job_witness import differences
from benchmarks.reliability.memory import Use
from benchmarks.reliability.session_witness import SessionWitness
from benchmarks.reliability.session_writer import WHO, document_of, reading_of
from benchmarks.reliability.visitor import Diary
from core.store.database import make_engine
from core.store.jobs import migrate
from core.store.sessions import SessionStore

SAVES = 3


def test_a_lost_doubled_or_changed_step_is_noticed():
    """Steps seen before must be there, once, as they were; new ones are no fault."""
    seen = {"bucket 1": "a", "bucket 2": "b"}
    assert differences("j", seen, [("bucket 1", "a"), ("bucket 2", "b"), ("bucket 3", "c")]) == []
    assert "bucket 2 was finished and is lost" in differences("j", seen, [("bucket 1", "a")])[0]
    changed = differences("j", seen, [("bucket 1", "a"), ("bucket 2", "other")])
    assert changed == ["job j: bucket 2 was b, is other"]
    twice = differences("j", seen, [("bucket 1", "a"), ("bucket 1", "a"), ("bucket 2", "b")])
    assert twice == ["job j: a step is there twice: ['bucket 1', 'bucket 1', 'bucket 2']"]


class Kept:
    """A session with three acknowledged saves, and the witness of them."""

    def __init__(self, folder: Path) -> None:
        self.url, self.log = f"sqlite:///{folder / 'db.sqlite'}", folder / "acknowledged.log"
        migrate(self.url)
        store, reading = SessionStore(self.url), reading_of(7)
        self.session_id = store.create(WHO, document_of(reading, "7-0", 0), reading)
        for number in range(1, SAVES):
            store.save(self.session_id, document_of(reading, f"7-{number}", number), number, WHO)
        store.close()
        self.log.write_text("".join(f"{self.session_id} {n + 1} 7-{n}\n" for n in range(SAVES)))
        self.witness = SessionWitness(self.url, self.log)

    def run(self, statement: str) -> None:
        engine = make_engine(self.url)
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)
        engine.dispose()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    yield Kept(tmp_path)


def test_a_whole_session_is_no_fault(kept: Kept):
    """Three promises, three versions: nothing to say, and the promises are counted once."""
    assert kept.witness.check() == []
    assert kept.witness.read_promises() == SAVES
    assert kept.witness.check(everything=True) == []


def test_a_save_that_is_not_there_is_noticed(kept: Kept):
    """A version that was acknowledged and is missing, or holds another text."""
    with kept.log.open("a") as log:
        log.write(f"{kept.session_id} 4 7-3\n")
    assert kept.witness.check() == [
        f"session {kept.session_id}, version 4: '7-3' was saved, None is there"
    ]


def test_a_hole_in_the_history_is_noticed(kept: Kept):
    """A version in the middle is gone."""
    kept.run("DELETE FROM session_versions WHERE version = 2")
    found = kept.witness.check()
    assert f"session {kept.session_id}: its history has versions [3, 1]" in found
    assert any("version 2: '7-1' was saved, None is there" in text for text in found)


def test_half_a_save_is_noticed(kept: Kept):
    """A newest version whose notes are of one save and whose sets are of another."""
    kept.run(
        "UPDATE session_versions SET document = "
        "replace(document, '\"best_k\":3', '\"best_k\":2') WHERE version = 3"
    )
    assert kept.witness.check() == [
        f"session {kept.session_id}: its newest version mixes two saves"
    ]


def test_a_lost_session_is_noticed(kept: Kept):
    """All of it is gone."""
    kept.run("DELETE FROM tuning_sessions")
    assert kept.witness.check() == [f"session {kept.session_id} is gone"]


def test_the_slope_by_hand():
    """After the first third: 100 MiB at 20 min, 110 at 40, 120 at 60 are 30 MiB an hour."""
    times = np.array([0.0, 10.0, 20.0, 40.0, 60.0]) * 60
    use = Use(Diary(loads_s=[1.0]), times, np.array([10.0, 500.0, 100.0, 110.0, 120.0]), 0.5)
    assert use.slope_mib_per_hour == pytest.approx(30.0)
    assert "100 to 120 MiB" in use.text() and "highest 500 MiB" in use.text()
