"""The rounds of kill -9 as a Markdown table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.reliability.kill import BUCKET, PAGE, RUN, SAVE, Report, Round

WAITED = (PAGE, SAVE, BUCKET, RUN)
HEAD = (
    f"| killed | rounds | faults | {' | '.join(f'{what} [s]' for what in WAITED)} |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)


def table(report: Report) -> str:
    """One line a target: rounds, what went wrong, and median / worst times after the kill."""
    targets = sorted({item.target for item in report.rounds})
    lines = [_row(t, [r for r in report.rounds if r.target == t]) for t in targets]
    lines.append(_row("all", report.rounds))
    return "\n".join([_summary(report), "", HEAD, *lines, *_faults(report)])


def _summary(report: Report) -> str:
    jobs = "; ".join(
        f"{count:,} steps of {task}s, {report.failed[task]} of them given up (jobs: "
        f"{', '.join(f'{n} {how}' for how, n in report.endings[task].items())})"
        for task, count in report.done.items()
    )
    return (
        f"{len(report.rounds)} rounds on {report.database}, seed {report.seed}, "
        f"{report.wall_s / 60:.0f} minutes. Finished: {jobs}. "
        f"Acknowledged: {report.saves:,} saves in {report.sessions} sessions. "
        f"{len(report.wrong)} faults. Times from the kill on: median / worst."
    )


def _row(target: str, rounds: Sequence[Round]) -> str:
    faults = sum(len(item.wrong) for item in rounds)
    columns = [_times([item.back_s.get(what) for item in rounds]) for what in WAITED]
    return f"| {target} | {len(rounds)} | {faults} | " + " | ".join(columns) + " |"


def _times(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.1f} / {max(known):.1f}" if known else "–"


def _faults(report: Report) -> list[str]:
    texts = [*report.wrong, *(f"a job failed: {text}" for text in report.failures)]
    return ["", *(f"- {text}" for text in texts)] if texts else []
