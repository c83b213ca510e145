"""SGLang's lists for decode (requests) and prefill (tokens), release by release.

Source: arg_groups/memory_hook.py, cuda_graph_hook.py and the graph runners of 0.4.6.post5 to
0.5.23, restated as rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from core.engines.ladder import ceil_to, ladder, steps
from core.engines.plan import Dropped
from core.engines.versions import Release

_TIERS = (
    # below GiB, max_bs for tp < 4, for tp >= 4, chunked prefill tokens
    (20, 8, 8, 2048),
    (35, 48, 160, 4096),
    (60, 32, 160, 4096),
    (90, 256, 512, 8192),
    (160, 256, 512, 8192),
    (math.inf, 512, 512, 16384),
)
_SMALL_TIER_TO_0516 = (35, 24, 80, 2048)
_UNKNOWN_CARD = (math.inf, 160, 160, 4096)


@dataclass(frozen=True)
class DecodeList:
    """Captured batch sizes, and what was taken out or put in."""

    sizes: tuple[int, ...]
    dropped: tuple[Dropped, ...] = ()
    added: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def _tier(release: Release, values: dict[str, Any]) -> tuple[float, int, int, int]:
    gib = values["gpu_memory_gib"]
    if gib == 0:
        return _UNKNOWN_CARD
    tier = next(row for row in _TIERS if gib < row[0])
    return _SMALL_TIER_TO_0516 if tier[0] == 35 and release < "0.5.17" else tier


def default_max_bs(release: Release, values: dict[str, Any]) -> int:
    """Largest batch captured when the user gives none [requests]."""
    _, few, many, _ = _tier(release, values)
    largest = many if values["tp_size"] >= 4 else few
    running = values["max_running_requests"]
    return min(largest, running) if running else largest


def chunked_prefill(release: Release, values: dict[str, Any]) -> int:
    """Tokens of a prefill chunk."""
    return values["chunked_prefill_size"] or _tier(release, values)[3]


def decode_list(
    release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
) -> DecodeList:
    """The list after the filters at capture time."""
    if wanted is not None:
        return _captured(values, ladder(wanted))
    if release < "0.5.5":
        return _captured(values, _old_list(values))
    largest = values["cuda_graph_max_bs"] or default_max_bs(release, values)
    sizes = ladder(_grid(values, largest), largest)
    if largest not in sizes and release >= "0.5.12":
        sizes = (*sizes, largest)
    return _captured(values, sizes)


def _grid(values: dict[str, Any], largest: int) -> list[int]:
    if values["device"] == "cpu":
        small = steps(1, 16, 1) + steps(18, 30, 2) + steps(32, 80, 4)
        return [*small, *steps(84, largest, 8), largest]
    if values["disable_cuda_graph_padding"]:
        return steps(1, largest, 1)
    if values["num_draft_tokens"]:
        small = steps(1, 8, 1) + steps(10, 32, 2) + steps(40, 64, 4)
        return small + steps(72, 256, 8) + steps(272, largest, 16)
    small = [1, 2, 4, 8, 12] + steps(16, 256, 8)
    return small + steps(272, 511, 16) + steps(512, largest, 32)


def _old_list(values: dict[str, Any]) -> tuple[int, ...]:
    """0.4.6: a fixed list, extended in steps of 16 when a larger maximum is asked for."""
    if values["disable_cuda_graph_padding"]:
        sizes = steps(1, 32, 1) + steps(40, 160, 16)
    elif values["num_draft_tokens"]:
        sizes = steps(1, 8, 1) + steps(10, 32, 2) + steps(40, 160, 16)
    else:
        sizes = [1, 2, 4, 8] + steps(16, 160, 8)
    gib = values["gpu_memory_gib"]
    if gib > 96:
        sizes += steps(160, 256, 8)
    largest = values["cuda_graph_max_bs"]
    if largest is None and 0 < gib < 25:
        largest = 8 if values["tp_size"] < 4 else 80
    if largest is not None and largest > max(sizes):
        sizes += steps(max(sizes), largest, 16)
    return ladder(sizes, largest)


def alignment(values: dict[str, Any]) -> int:
    """What a batch's tokens must be a multiple of."""
    multiple = 2 if values["enable_two_batch_overlap"] else 1
    if values["enable_dp_attention"]:
        multiple *= max(values["tp_size"] // values["dp_size"], 1)
    if multiple % values["attn_cp_size"]:
        multiple *= values["attn_cp_size"]
    return multiple


def _captured(values: dict[str, Any], sizes: tuple[int, ...]) -> DecodeList:
    """Drops what the request pool or the alignment rules out, as at capture."""
    align = alignment(values)
    width = 1 if values["enable_two_batch_overlap"] else max(values["num_draft_tokens"], 1)
    dropped, added = [], ()
    running = values["max_running_requests"]
    if running is not None and sizes and max(sizes) > ceil_to(running, align):
        pool = ceil_to(running, align)
        too_large = tuple(n for n in sizes if n > pool)
        dropped.append(Dropped(too_large, f"larger than max_running_requests {pool}"))
        added = () if pool in sizes else (pool,)
        sizes = ladder((*sizes, pool), pool)
    odd = tuple(n for n in sizes if n * width % align)
    if odd:
        dropped.append(Dropped(odd, f"its tokens are not a multiple of {align}"))
        sizes = tuple(n for n in sizes if n not in odd)
    return DecodeList(sizes, tuple(dropped), tuple(n for n in added if n in sizes))


def prefill_max(release: Release, values: dict[str, Any]) -> int:
    """The largest prefill size [tokens]."""
    if values["cuda_graph_max_bs_prefill"]:
        return values["cuda_graph_max_bs_prefill"]
    largest = chunked_prefill(release, values)
    if values["mla"] or values["pp_size"] > 1:
        largest = min(largest, 8192)
    return min(largest, values["max_total_tokens"] or largest)


def prefill_list(release: Release, values: dict[str, Any]) -> tuple[int, ...]:
    """Captured token counts; the maximum itself is not added to the grid."""
    if values["cuda_graph_bs_prefill"] is not None:
        sizes = ladder(values["cuda_graph_bs_prefill"])
    else:
        largest = prefill_max(release, values)
        sizes = ladder(_prefill_grid(release, largest), largest)
    return ladder(ceil_to(n, 8) for n in sizes) if values["deepep"] else sizes


def _prefill_grid(release: Release, largest: int) -> list[int]:
    small = steps(4, 32, 4) + steps(48, 256, 16) + steps(288, 512, 32)
    if release < "0.5.8":
        return small + steps(640, 4096, 128) + steps(4352, largest, 256)
    first = 640 if release < "0.5.12" else 576
    return small + steps(first, 1024, 64) + steps(1280, 4096, 256) + steps(4608, largest, 512)
