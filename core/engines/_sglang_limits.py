"""What SGLang settles before it builds a list: attention groups, speculation, pool and chunk.

Source: server_args.py (to 0.5.18), arg_groups (from 0.5.19) and the memory pools of 0.4.6.post5 to
0.5.23, restated as rules.
"""

from __future__ import annotations

import math
from typing import Any

from core.engines.versions import Release
from core.errors import SettingError

WIDER_SMALL_CARDS = "0.5.20"
ATTN_DP_FLAG = "0.5.22"
SPECULATIVE_RUNNING = 48
"""Running requests with speculation when the user gives no limit, in every release read."""
UNSET_DRAFT_TOKENS = 4
"""Assumed where only an algorithm is given: most models take 4, Llama and older releases 8."""

_TIERS = (
    # below GiB, max_bs for tp < 4, for tp >= 4, chunked prefill tokens
    (20, 8, 8, 2048),
    (35, 48, 160, 4096),
    (60, 32, 160, 4096),
    (90, 256, 512, 8192),
    (160, 256, 512, 8192),
    (math.inf, 512, 512, 16384),
)
_UNKNOWN_CARD = (math.inf, 160, 160, 4096)


def tier(release: Release, values: dict[str, Any]) -> tuple[float, int, int, int]:
    """(below GiB, max_bs for tp < 4, for tp >= 4, chunk) by the card's memory."""
    gib = values["gpu_memory_gib"]
    if gib == 0:
        return _UNKNOWN_CARD
    row = next(row for row in _TIERS if gib < row[0])
    if row[0] == 35 and release < WIDER_SMALL_CARDS:
        return (35, 16 if release < "0.5.5" else 24, 80, 2048)
    return row


def attention_groups(release: Release, values: dict[str, Any]) -> int:
    """Data-parallel groups of attention; 1 without.

    Raises SettingError where the release refuses to divide its ranks so.
    """
    groups = values["attn_dp_size"]
    if groups > 1:
        _check_flag(release, values)
    elif values["enable_dp_attention"]:
        groups = values["dp_size"]
        if groups == 1 and release < "0.4.10":
            raise SettingError(
                f"SGLang {release}: enable_dp_attention needs dp_size above 1; give one, or leave "
                "the flag out."
            )
    if values["tp_size"] % groups:
        raise SettingError(
            f"SGLang {release}: tp_size {values['tp_size']} is no multiple of the {groups} "
            "attention groups; choose a divisor."
        )
    return groups


def _check_flag(release: Release, values: dict[str, Any]) -> None:
    if release < ATTN_DP_FLAG:
        raise SettingError(
            f"SGLang {release} has no attn_dp_size; use enable_dp_attention with dp_size."
        )
    if values["dp_size"] > 1 and not values["enable_dp_attention"]:
        raise SettingError(
            f"SGLang {release}: dp_size {values['dp_size']} and attn_dp_size "
            f"{values['attn_dp_size']} together are not supported; give one of them."
        )


def speculative(values: dict[str, Any]) -> bool:
    """Whether drafts are verified: an algorithm is named, or draft tokens are given."""
    return values["speculative_algorithm"] != "none" or values["num_draft_tokens"] > 0


def verified_tokens(values: dict[str, Any]) -> int:
    """Tokens of one request in a verification step; 1 without speculation."""
    if not speculative(values):
        return 1
    steps = values["speculative_num_steps"]
    if steps and values["speculative_eagle_topk"] == 1:
        return steps + 1  # a chain of drafts and the verified token
    return values["num_draft_tokens"] or UNSET_DRAFT_TOKENS


def running(values: dict[str, Any]) -> int | None:
    """Running requests that the engine settles on; None where memory decides."""
    given = values["max_running_requests"]
    return SPECULATIVE_RUNNING if given is None and speculative(values) else given


def request_pool(release: Release, values: dict[str, Any]) -> int | None:
    """Requests one rank's pool holds; None where memory decides."""
    limit = running(values)
    if limit is None:
        return None
    share = max(limit // attention_groups(release, values), 1)
    return share + 1 if release < "0.4.10" else share  # 0.4.6 holds one slot more


def chunked_prefill(release: Release, values: dict[str, Any]) -> int:
    """Tokens of a prefill chunk of one attention group."""
    return card_chunk(release, values) // attention_groups(release, values)


def card_chunk(release: Release, values: dict[str, Any]) -> int:
    """Tokens of a prefill chunk before attention groups share it."""
    given = values["chunked_prefill_size"]
    if given:
        return given
    if release < "0.5.4":
        return _early_chunk(release, values["gpu_memory_gib"])
    return tier(release, values)[3]


def _early_chunk(release: Release, gib: float) -> int:
    """Before the tables by card: 0.4.6 knows small cards, 0.4.10 the largest too."""
    if release < "0.4.10":
        return 2048 if 0 < gib < 25 else 8192
    if gib == 0:
        return 4096
    return 2048 if gib < 35 else 8192 if gib < 160 else 16384
