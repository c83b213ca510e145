"""Token counts in the `usage` objects of OpenAI, its Responses API and Anthropic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLACES = ("", "response", "response.body", "body", "result", "result.message", "message", "output")
"""Where gateways put the answer."""


def find_usage(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any] | None:
    """(the object that holds `usage`, its usage or None); None when there is no such key."""
    for place in PLACES:
        holder: Any = row
        for key in place.split(".") if place else ():
            holder = holder.get(key) if isinstance(holder, Mapping) else None
        if isinstance(holder, Mapping) and "usage" in holder:
            return holder, holder["usage"]
    return None


def tokens_of_usage(usage: Any) -> tuple[Any, Any] | None:
    """(prompt, output) [tokens] as written; None when the object has neither.

    OpenAI's cached and reasoning tokens are parts of the two numbers. Anthropic's input_tokens
    leaves out what was read from and written to its cache, so those are added.
    """
    if not isinstance(usage, Mapping):
        return None
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        return usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
    if "input_tokens" not in usage and "output_tokens" not in usage:
        return None
    prompt = usage.get("input_tokens")
    extra = [usage.get("cache_creation_input_tokens"), usage.get("cache_read_input_tokens")]
    if isinstance(prompt, int) and not isinstance(prompt, bool):
        prompt += sum(e for e in extra if isinstance(e, int) and not isinstance(e, bool))
    return prompt, usage.get("output_tokens")
