"""A few rounds of kill -9 on the real processes; `python -m benchmarks.reliability` runs 200."""

from __future__ import annotations

import pytest

from benchmarks.reliability.databases import DatabaseMissing
from benchmarks.reliability.kill import run_rounds
from benchmarks.reliability.kill_table import table
from tests.conftest import POSTGRES_MARKS

ROUNDS = 8


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=POSTGRES_MARKS)])
def test_whatever_dies_nothing_that_was_promised_is_lost(database: str):
    """Worker, measuring process, supervisor, dashboard, writer, database: every finished bucket
    and run is there once and unchanged, every acknowledged save too, and the page works again."""
    try:
        report = run_rounds(database, ROUNDS, seed=5, say=print)
    except DatabaseMissing as error:  # no Postgres on this machine; it says why
        pytest.skip(str(error))
    assert report.wrong == [], table(report)
    assert len(report.rounds) == ROUNDS
    assert report.saves > ROUNDS and all(count > ROUNDS for count in report.done.values())
