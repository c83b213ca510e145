"""Which metric of an engine says what, by name."""

from __future__ import annotations

import re

# The exact names of engines whose metrics were read; others by what their names say.
EXACT = {
    "vllm:request_prompt_tokens": "prompt",
    "vllm:request_generation_tokens": "output",
    "vllm:iteration_tokens_total": "step",
    "sglang:prompt_tokens_histogram": "prompt",
    "sglang:generation_tokens_histogram": "output",
    "tgi_request_input_length": "prompt",
    "tgi_request_generated_tokens": "output",
    "tgi_batch_next_size": "step",
    "dynamo_frontend_input_sequence_tokens": "prompt",
    "dynamo_frontend_output_sequence_tokens": "output",
}
RUNNING = (
    "vllm:num_requests_running", "sglang:num_running_reqs", "trtllm_num_requests_running",
    "trtllm_num_scheduled_requests", "tgi_batch_current_size", "lmdeploy:num_requests_running",
)  # fmt: skip
_LENGTH = re.compile(r"tokens|length|seq")
_PROMPT = re.compile(r"prompt|input|context")
_OUTPUT = re.compile(r"generat|output|completion|response")
_STEP = re.compile(r"iteration_tokens|batch_next_size|batch_size|tokens_per_(?:step|iteration)")
_NOT = re.compile(
    r"cached|uncached|max|params|limit|second|latency|time|throughput|per_second|reject|accept|"
    r"prefill_kv|draft|bytes|new_tokens"
)
_SUFFIX = re.compile(r"_(?:bucket|sum|count)$")


def family_of(name: str) -> str:
    """The histogram's name without `_bucket`, `_sum`, `_count`."""
    return _SUFFIX.sub("", name)


def role_of(family: str) -> str | None:
    """ "prompt", "output" or "step" for histograms of lengths and of step sizes, else None."""
    if family in EXACT:
        return EXACT[family]
    name = family.lower()
    if _NOT.search(name):
        return None
    if _STEP.search(name):
        return "step"
    if not _LENGTH.search(name):
        return None
    if _PROMPT.search(name):
        return "prompt"
    return "output" if _OUTPUT.search(name) else None


def is_running(name: str) -> bool:
    """A gauge of running requests: a sample of the decode batch."""
    return name in RUNNING or name.endswith(("num_requests_running", "num_running_reqs"))
