"""What vLLM on Gaudi states: buckets prepared and warmed up.

A bucket is (batch size, query length, context blocks). Source: vllm-gaudi of August 2026.
"""

from __future__ import annotations

import re

from core.logs.collect import LogForm
from core.logs.lines import interest
from core.logs.rules import Into, rule

MARKS = re.compile(
    r"\[Warmup\]\[\w+(?:/\w+)?\]\[\d+/\d+\]|Generated \d+ (?:prompt|decode) buckets"
    r"|HPUGraphs|was not warmed-up!"
)
_WARMED = r"\[Warmup\]\[\w*/?[Dd]ecode\]\[\d+/\d+\] batch_size:(?P<size>\d{1,9})"
_LIST = r"decode buckets \[[^\]]{0,200}\]: \[(?P<buckets>(?:\(\d+, \d+, \d+\)(?:, )?)*)\]"
_MISSED = re.compile(
    r"Configuration: \('(\w+)', (\d+), (\d+), (\d+)\) was not warmed-up"
    r"|(Decode|Prompt) bucket for \((\d+), (\d+), (\d+)\) was not prepared"
)
RULES = (
    rule("Warmup finished", r"in (?P<capture_s>\d+) secs"),
    rule("Warmup finished", r"secs, allocated (?P<graph_gib>[\d.]{1,12}) GiB"),
    rule("reserved for HPUGraphs", r"(?P<reserved_gib>[\d.]{1,12}) GiB reserved for HPUGraphs"),
    rule("Generated", r"Generated (?P<prompt_buckets>\d+) prompt buckets"),
    rule("Generated", r"Generated (?P<decode_buckets>\d+) decode buckets"),
    rule("Generated", r"Generated (?P<prompt>\d+) prompt buckets", Into.GRAPHS),
    rule("Generated", r"Generated (?P<decode>\d+) decode buckets", Into.GRAPHS),
    rule("decode buckets [", _LIST, Into.CAPTURED,
         every=True, item=r"\((\d{1,9}),"),
    rule("batch_size:", _WARMED, Into.CAPTURED, every=True),
    rule("Warmup finished", "", Into.FINISHED),
)  # fmt: skip


def missed_bucket(message: str) -> str | None:
    """ "decode 8,1": a bucket that was met while serving and not prepared."""
    match = _MISSED.search(message)
    if match is None:
        return None
    kind = (match[1] or match[5]).lower()
    return f"{kind} {match[2] or match[6]},{match[3] or match[7]}"[:40]


FORM = LogForm(
    id="gaudi",
    name="gaudi-log",
    label="vLLM log on Gaudi",
    marks=MARKS,
    wanted=interest(r"Warmup", r"HPUGraphs", r"Generated", r"warmed-up", r"not prepared"),
    rules=RULES,
    rank=19,
)
