"""What LMDeploy states: its warm-up, and running requests at each line of statistics.

Source: LMDeploy 0.18.0.
"""

from __future__ import annotations

import re

from core.logs.collect import LogForm
from core.logs.lines import interest
from core.logs.rules import Into, rule

MARKS = re.compile(r"Engine \(running/waiting\): \d+ / \d+|Warming up decoding")
_RUNNING = re.compile(r"Engine \(running/waiting\): (\d{1,9}) / \d+")


def running(message: str) -> int | None:
    """Requests running at a line of statistics; None for another line."""
    match = _RUNNING.search(message)
    return int(match[1]) if match else None


FORM = LogForm(
    id="lmdeploy",
    name="lmdeploy-log",
    label="LMDeploy log",
    marks=MARKS,
    wanted=interest(r"Engine", r"%\|", r"[Mm]emory", r"OutOf"),
    rules=(
        rule("Engine warmup completed", r"completed in (?P<capture_s>[\d.]{1,12}) seconds"),
        rule("Engine warmup completed", "", Into.FINISHED),
    ),
    rank=25,
)
