"""Rounds of kill -9: something dies at a random moment, and what was promised must be there."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import exc

from benchmarks.reliability.databases import start_database
from benchmarks.reliability.house import MEASURING, SUPERVISOR, SWEEPER, WORKER, House
from benchmarks.reliability.job_tasks import MEASUREMENT, SWEEP
from core.errors import ProjectError

PAGE, SAVE, BUCKET, RUN = "dashboard healthy", "next save", "next bucket", "next run of a sweep"
PATIENCE_S = 120.0
TRIES = 3
"""A step is given up, and its row holds an error, when its process has died so often in it."""
DEADLY = {MEASUREMENT: {WORKER, MEASURING, SUPERVISOR}, SWEEP: {SWEEPER, SUPERVISOR}}
"""Which kills end the process that works on a step."""
HASTY_SHARE = 0.2
"""Share of rounds after which the next kill does not wait for the job to go on."""


@dataclass(frozen=True)
class Round:
    """One kill and what came after.

    back_s : {what: seconds from the kill until it went on}, None where it did not in time
    wrong : what was lost, doubled, changed or did not come back, a sentence each
    """

    target: str
    back_s: Mapping[str, float | None]
    wrong: tuple[str, ...]


@dataclass
class Report:
    """All rounds of a run, and how much was going on meanwhile."""

    database: str
    seed: int
    rounds: list[Round] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    endings: dict[str, dict[str, int]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)
    saves: int = 0
    sessions: int = 0
    last_wrong: tuple[str, ...] = ()
    wall_s: float = 0.0

    @property
    def wrong(self) -> list[str]:
        return [text for item in self.rounds for text in item.wrong] + list(self.last_wrong)


def run_rounds(kind: str, count: int, seed: int, say: Callable[[str], None]) -> Report:
    """kind : "sqlite" or "postgres". Raises DatabaseMissing where Postgres cannot start."""
    draw, report, begin = random.Random(seed), Report(kind, seed), time.monotonic()
    database = start_database(kind)
    with tempfile.TemporaryDirectory(prefix="bucketwise-rounds-") as folder:
        house = House(database, Path(folder))
        try:
            _wait_for_all(house, time.monotonic(), want_steps=True)
            for number in range(1, count + 1):
                made = _round(house, draw, number)
                report.rounds.append(made)
                say(_line(number, count, made))
            report.last_wrong = tuple(_check_everything(house, report.rounds))
            _note_jobs(report, house)
            report.saves, report.sessions = house.sessions.saves, house.sessions.sessions
        finally:
            house.stop()
            database.stop()
    report.wall_s = time.monotonic() - begin
    return report


def _round(house: House, draw: random.Random, number: int) -> Round:
    time.sleep(draw.uniform(0.0, 1.5))
    target = draw.choice(house.targets)
    hasty = draw.random() < HASTY_SHARE
    killed = time.monotonic()
    while not house.strike(target):  # nothing of that kind runs right now
        target = draw.choice(house.targets)
        killed = time.monotonic()
    times = _wait_for_all(house, killed, want_steps=not hasty)
    late = [f"{what} did not come back" for what, seconds in times.items() if seconds is None]
    wrong = [f"round {number}, {target}: {text}" for text in late + _check_round(house, number)]
    return Round(target, times, tuple(wrong))


def _wait_for_all(house: House, killed: float, want_steps: bool) -> dict[str, float | None]:
    """Seconds after the kill until the dashboard answered, a save was acknowledged and, if wanted,
    the jobs went on; None for what did not happen in time."""
    saves = house.sessions.read_promises()
    buckets, runs = (house.jobs[task].done for task in (MEASUREMENT, SWEEP))
    back: dict[str, Callable[[], bool]] = {
        PAGE: lambda: house.page.healthy,
        SAVE: lambda: house.sessions.read_promises() > saves,
    }
    if want_steps:
        back[BUCKET] = lambda: house.jobs[MEASUREMENT].done > buckets
        back[RUN] = lambda: house.jobs[SWEEP].done > runs
    times: dict[str, float | None] = dict.fromkeys(back)
    while back and time.monotonic() < killed + PATIENCE_S:
        for what in [what for what, is_back in back.items() if is_back()]:
            times[what] = time.monotonic() - killed
            del back[what]
        time.sleep(0.02)
    return times


def _check_round(house: House, number: int) -> list[str]:
    checks: list[Callable[[], list[str]]] = [house.sessions.check]
    checks += [witness.check for witness in house.jobs.values()]
    checks.append(lambda: house.page.change(number))
    wrong = []
    for check in checks:
        try:
            wrong += check()
        except (ProjectError, exc.SQLAlchemyError) as error:
            wrong.append(f"no answer from the database: {str(error).splitlines()[0]}")
    return wrong


def _check_everything(house: House, rounds: Sequence[Round]) -> list[str]:
    wrong = house.sessions.check(everything=True)
    for witness in house.jobs.values():
        wrong += witness.check(everything=True)
    wrong += house.page.check()
    for task, targets in DEADLY.items():
        deaths = sum(item.target in targets for item in rounds)
        failed = house.jobs[task].failed
        if failed > deaths // TRIES:
            wrong.append(
                f"{failed} steps of {task}s failed, after {deaths} deaths of its processes"
            )
    return wrong


def _note_jobs(report: Report, house: House) -> None:
    for task, witness in house.jobs.items():
        report.done[task], report.endings[task] = witness.done, witness.endings
        report.failed[task] = witness.failed
        report.failures += witness.failures


def _line(number: int, count: int, made: Round) -> str:
    texts = [f"{what} {seconds:.1f} s" for what, seconds in made.back_s.items() if seconds]
    verdict = "; ".join(made.wrong) or "whole"
    return f"{number}/{count} {made.target}: {', '.join(texts)}: {verdict}"
