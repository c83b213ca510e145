"""What mini-sglang states at its start.

Source: mini-sglang of March 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from core.logs.collect import LogForm
from core.logs.lines import interest
from core.logs.record import EngineLog, Stated
from core.logs.rules import Into, rule

MARKS = re.compile(r"Start capturing CUDA graphs with sizes: \[|Capturing graphs: bs = ")
RULES = (
    rule("before capturing", r"graphs: (?P<free_before_gib>[\d.]{1,12}) GiB"),
    rule("after capturing", r"graphs: (?P<free_after_gib>[\d.]{1,12}) GiB"),
    rule("CUDA graphs with sizes", r"CUDA graphs with sizes: \[(?P<sizes>[\d,\s]*)\]",
         Into.CAPTURED),
    rule("after capturing", r"Free GPU memory after capturing CUDA graphs", Into.FINISHED),
)  # fmt: skip


def _derived(log: EngineLog) -> Mapping[str, Stated[Any]]:
    """What graphs took [GiB]."""
    before, after = log.number("free_before_gib"), log.number("free_after_gib")
    if before is None or after is None:
        return {}
    stated = log.facts["free_after_gib"]
    return {
        "graph_gib": Stated(round(before - after, 4), stated.line, stated.text),
        "free_gib": stated,
    }


FORM = LogForm(
    id="mini-sglang",
    name="minisglang-log",
    label="mini-sglang log",
    marks=MARKS,
    wanted=interest(r"graphs", r"%\|", r"[Mm]emory", r"OutOf"),
    rules=RULES,
    rank=26,
    derived=_derived,
)
