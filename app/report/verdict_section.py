"""The first part of a report: what to run, as the Buckets page says it."""

from __future__ import annotations

from app.deciding.verdict_rows import holding_rows, scenario_rows
from app.report.document import Block, Code, Section, Table, said
from app.report.work import Work
from app.study import advice_for


def verdict_section(work: Work) -> Section | None:
    """Sentence, list and figures beside what runs today; None where the page has none either.

    Raises ProjectError.
    """
    if work.study is None:
        return None
    advice = advice_for(work.study)
    blocks: list[Block] = [said(advice.sentence)]
    if advice.paste:
        blocks.append(Code(advice.paste))
    blocks += [
        Table(scenario_rows(advice)),
        Table(holding_rows(advice)),
        said(*(f"{g.what} ({g.origin.value}): {g.source}" for g in advice.rests_on), quiet=True),
    ]
    if advice.settle:
        blocks.append(said("Would settle it:", *advice.settle, quiet=True))
    origin = "Estimated: every list was simulated with its own graphs at every load."
    return Section("What to run", tuple(blocks), origin)
