"""Lines of SGLang that tell of steps: decode batches and prefill batches."""

from __future__ import annotations

import re
from typing import NamedTuple

DECODE = "Decode batch"
PREFILL = "Prefill batch"
_DECODE = re.compile(
    r"#running-req: (\d{1,9})\b.{0,800}?(?:cuda|cpu|npu|musa|xpu) graph: (True|False)"
)
_DECODE_PLAIN = re.compile(r"#running-req: (\d{1,9})\b.{0,800}?gen throughput")
_RATE = re.compile(r"gen throughput \(token/s\): (\d{1,12}(?:\.\d+)?)")
_ACCEPT = re.compile(r"accept len: (\d{1,6}(?:\.\d+)?)")
_PREFILL = re.compile(r"#new-seq: (\d{1,9}), #new-token: (\d{1,9})")
_FINISH = re.compile(
    r"'prompt_tokens': (\d{1,9}).{0,2000}?'completion_tokens': (\d{1,9})", re.DOTALL
)


class Decode(NamedTuple):
    """One decode line: the batch of one step in so many.

    graph : whether it replayed one, None where the line does not say
    tokens_per_s : since the line before; accepted : tokens a request and step with speculation
    """

    requests: int
    graph: bool | None
    tokens_per_s: float | None
    accepted: float | None


def decode(message: str) -> Decode | None:
    """None where the line is cut."""
    match = _DECODE.search(message) or _DECODE_PLAIN.search(message)
    if match is None:
        return None
    graph = match[2] == "True" if match.re is _DECODE else None
    rate, accepted = _RATE.search(message), _ACCEPT.search(message)
    return Decode(
        int(match[1]),
        graph,
        float(rate[1]) if rate else None,
        float(accepted[1]) if accepted else None,
    )


def prefill_tokens(message: str) -> int | None:
    """New tokens of a prefill step; None where the line is cut."""
    match = _PREFILL.search(message)
    return int(match[2]) if match else None


def finished(message: str) -> tuple[int, int] | None:
    """(prompt tokens, output tokens) of a finished request's line."""
    if "Finish: obj=" not in message:
        return None
    match = _FINISH.search(message)
    return (int(match[1]), int(match[2])) if match else None
