"""TensorRT-LLM's iteration lines (print_iter_log), all three forms."""

from __future__ import annotations

import re
from typing import NamedTuple

ITERATION = "iter = "
_RANK = re.compile(r"global_rank = (\d{1,6})")
_SCHEDULED = re.compile(r"num_scheduled_requests\s*[:=]\s*(\d{1,9})")
_PROMPTS = re.compile(r"'num_ctx_requests': (\d{1,9})")
_TOKENS = re.compile(r"'num_ctx_tokens': (\d{1,9})")
_HOST = re.compile(r"host_step_time = (\d{1,9}(?:\.\d+)?)ms")
_ELAPSED = re.compile(r"elapsed_time = (\d{1,9}(?:\.\d+)?)s")
_DEVICE = re.compile(r"prev_device_step_time = (\d{1,9}(?:\.\d+)?)ms")


class Iteration(NamedTuple):
    """One step of one rank; None for what a form or a cut line does not hold.

    scheduled : requests, those in prefill (prompts) among them
    host_ms : of the engine's loop; device_ms : on the card, of the step before
    """

    rank: str | None
    scheduled: int | None
    prompts: int | None
    prompt_tokens: int | None
    host_ms: float | None
    device_ms: float | None


def iteration(message: str) -> Iteration:
    """What an iteration line holds."""
    rank = _RANK.search(message)
    counts = [pattern.search(message) for pattern in (_SCHEDULED, _PROMPTS, _TOKENS)]
    host, elapsed, device = (p.search(message) for p in (_HOST, _ELAPSED, _DEVICE))
    loop = float(host[1]) if host else 1e3 * float(elapsed[1]) if elapsed else None
    return Iteration(
        rank[1] if rank else None,
        *(int(found[1]) if found else None for found in counts),
        host_ms=loop,
        device_ms=float(device[1]) if device else None,
    )
