"""SGLang's decode list (requests), release by release.

Source: the memory rules and graph runners of 0.4.6.post5 to 0.5.23, restated as rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.engines import _sglang_limits as limit
from core.engines.ladder import ceil_to, ladder, steps
from core.engines.plan import Dropped
from core.engines.versions import Release
from core.errors import SettingError

BUILT_LIST = "0.5.4"
TOKENS_ALIGNED = "0.5.8"
CONTEXT_ALIGNED = "0.5.9"
MAX_ADDED = "0.5.10"
POOL_ALIGNED = "0.5.10"
MAX_FOLLOWS_REQUESTS = "0.5.22"


@dataclass(frozen=True)
class DecodeList:
    """Captured batch sizes, and what was taken out or put in.

    asked : the list before the request pool and the alignment filter it
    """

    sizes: tuple[int, ...]
    asked: tuple[int, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    added: tuple[int, ...] = ()


def default_max_bs(release: Release, values: dict[str, Any]) -> int:
    """Largest batch of the built list when the user gives none [requests]."""
    _, few, many, _ = limit.tier(release, values)
    largest = many if values["tp_size"] >= 4 else few
    running = values["max_running_requests"]
    if running is None or release < MAX_FOLLOWS_REQUESTS:
        return largest
    return min(largest, running)


def decode_list(
    release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
) -> DecodeList:
    """The list after the filters at capture time.

    Raises SettingError where no size is left, with which the engine does not start.
    """
    if release < BUILT_LIST:
        return _from_fixed(release, values, wanted)
    if wanted is not None:
        return _captured(release, values, ladder(wanted))
    largest = values["cuda_graph_max_bs"] or default_max_bs(release, values)
    sizes = ladder(_grid(release, values, largest), largest)
    if largest not in sizes and release >= MAX_ADDED:
        sizes = (*sizes, largest)
    return _captured(release, values, sizes)


def _grid(release: Release, values: dict[str, Any], largest: int) -> list[int]:
    if values["disable_cuda_graph_padding"]:
        return steps(1, largest, 1)
    if values["device"] == "cpu":
        small = steps(1, 16, 1) + steps(18, 30, 2) + steps(32, 80, 4)
        return [*small, *steps(84, largest, 8), largest]
    if limit.speculative(values):
        last = 60 if release < "0.5.5" else 64
        small = steps(1, 8, 1) + steps(10, 32, 2) + steps(40, last, 4)
        return small + steps(72, 256, 8) + steps(272, largest, 16)
    small = [1, 2, 4, 8, 12] + steps(16, 256, 8)
    return small + steps(272, 511, 16) + steps(512, largest, 32)


def _from_fixed(
    release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
) -> DecodeList:
    """To 0.4.10: a fixed list or the user's, with the pool's size, then up to the maximum."""
    asked = ladder(wanted or _fixed_grid(release, values))
    pool, align = limit.request_pool(release, values), alignment(release, values)
    sizes = asked
    if pool is not None and max(sizes) > pool:
        sizes = ladder([*sizes, pool] if release >= "0.4.10" else [*sizes, pool - 1, pool])
    sizes = tuple(n for n in sizes if n % align == 0)
    sizes = _to_maximum(release, values, sizes)
    sizes = tuple(n for n in sizes if pool is None or n <= pool)
    if not sizes:
        raise _nothing_left(release, pool, align)
    lost = tuple(n for n in asked if n not in sizes)
    reason = "above the request pool or the maximum of this card, or off the alignment"
    dropped = (Dropped(lost, reason),) if wanted and lost else ()
    added = tuple(n for n in sizes if n not in asked) if wanted else ()
    return DecodeList(sizes, asked, dropped, added)


def _to_maximum(
    release: Release, values: dict[str, Any], sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """Cut at the maximum, or extended to it in steps of 16.

    Raises SettingError where every size is above it, with which the engine does not start.
    """
    largest = values["cuda_graph_max_bs"]
    small_card = 25 if release < "0.4.10" else 35
    if largest is None and 0 < values["gpu_memory_gib"] < small_card:
        largest = 8 if values["tp_size"] < 4 else 80
    if largest is None:
        return sizes
    kept = ladder(sizes, largest)
    if not kept:
        raise SettingError(
            f"SGLang {release}: no size of the list is {largest} or less, its maximum here, and "
            "it does not start; give cuda_graph_max_bs or smaller sizes."
        )
    return ladder([*kept, *steps(max(kept), largest, 16)], largest)


def _fixed_grid(release: Release, values: dict[str, Any]) -> list[int]:
    old, gib = release < "0.4.10", values["gpu_memory_gib"]
    if limit.speculative(values):
        sizes = steps(1, 8, 1) + steps(10, 32, 2)
        sizes += steps(40, 160, 16) if old else steps(40, 63, 8) + steps(80, 160, 16)
    elif values["disable_cuda_graph_padding"]:
        sizes = steps(1, 32, 1) + steps(40 if old else 48, 160, 16)
    else:
        sizes = [1, 2, 4, 8] + steps(16, 160, 8)
    if gib > (96 if old else 90):
        sizes += steps(160, 256, 8)
    if not old and gib * 1024 > 160_000:  # MiB, as the engine compares
        sizes += steps(256, 512, 16)
    return sizes


def alignment(release: Release, values: dict[str, Any]) -> int:
    """What a batch's tokens must be a multiple of."""
    if release < "0.4.10":
        return 1
    multiple = 2 if values["enable_two_batch_overlap"] else 1
    groups, context = limit.attention_groups(release, values), values["attn_cp_size"]
    if groups > 1:
        multiple *= max(values["tp_size"] // groups // context, 1)
    if release >= CONTEXT_ALIGNED and multiple % context:
        multiple *= context
    return multiple


def _width(release: Release, values: dict[str, Any]) -> int:
    """Tokens of a request that the alignment counts."""
    if values["enable_two_batch_overlap"] or release < TOKENS_ALIGNED:
        return 1
    return limit.verified_tokens(values)


def _captured(release: Release, values: dict[str, Any], asked: tuple[int, ...]) -> DecodeList:
    """Drops what the request pool or the alignment rules out, as at capture."""
    align, width = alignment(release, values), _width(release, values)
    pool = limit.request_pool(release, values)
    dropped: list[Dropped] = []
    sizes = asked
    if pool is not None:
        if release >= POOL_ALIGNED:
            pool = ceil_to(pool, align)
        too_large = tuple(n for n in sizes if n > pool)
        if too_large:
            dropped.append(Dropped(too_large, f"larger than the request pool of {pool}"))
            sizes = ladder((*sizes, pool), pool)
    odd = tuple(n for n in sizes if n * width % align)
    if odd:
        lost = tuple(n for n in odd if n in asked)
        if lost:
            dropped.append(Dropped(lost, f"its tokens are not a multiple of {align}"))
        sizes = tuple(n for n in sizes if n not in odd)
    if not sizes:
        raise _nothing_left(release, pool, align)
    return DecodeList(sizes, asked, tuple(dropped), tuple(n for n in sizes if n not in asked))


def _nothing_left(release: Release, pool: int | None, align: int) -> SettingError:
    below = "" if pool is None else f" up to the pool of {pool} requests"
    return SettingError(
        f"SGLang {release} captures no decode size here and does not start: none{below} is a "
        f"multiple of {align}; give such a size, or disable_cuda_graph."
    )
