"""vLLM's list of capture sizes, release by release, before any graph is captured.

Source: `_set_cudagraph_sizes` of the published wheels 0.8.5 to 0.33.0, restated as a rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from core.engines.ladder import ceil_to, ladder, powers_of_two, steps
from core.engines.plan import Dropped
from core.engines.versions import Release
from core.errors import SettingError

GPT_OSS_LARGEST = {"0.10.2": 1024, "0.11.0": 992}
"""A model override of two releases; 992 is the block limit of FlashAttention 3."""


@dataclass(frozen=True)
class Batch:
    """Scheduler limits after the engine's own defaults.

    q : tokens of one request in a decode step, 1 + draft tokens
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    q: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configured:
    """The list in the compilation config, and what became of the wish for it.

    asked_max : the scalar maximum that the user gave, as far as a step can reach it
    """

    sizes: tuple[int, ...]
    asked_max: int | None = None
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def largest(self) -> int:
        return max(self.sizes, default=0)

    def without(self, sizes: tuple[int, ...], reason: str) -> Configured:
        """The same with some sizes taken out; unchanged when there is none."""
        if not sizes:
            return self
        kept = tuple(n for n in self.sizes if n not in set(sizes))
        return replace(self, sizes=kept, dropped=(*self.dropped, Dropped(sizes, reason)))


def batch_limits(release: Release, values: dict[str, Any]) -> Batch:
    """max_num_seqs and max_num_batched_tokens, defaulted from the card's memory as 0.33.0 does."""
    seqs, server_tokens, offline_tokens = _memory_tier(values)
    tokens = offline_tokens if values["offline"] else server_tokens
    if values["performance_mode"] == "throughput" and release >= "0.17":
        seqs, tokens = 2 * seqs, 2 * tokens
    notes = []
    limits = {"max_num_seqs": seqs, "max_num_batched_tokens": tokens}
    for name, default in limits.items():
        if values[name] is None:
            notes.append(
                f"{name} not given: {default}, what 0.33.0 takes on a card of "
                f"{values['gpu_memory_gib']:g} GiB; give it if your engine runs with another."
            )
        else:
            limits[name] = values[name]
    seqs, tokens = limits.values()
    if seqs > tokens:
        notes.append(f"max_num_seqs {seqs} is lowered to max_num_batched_tokens {tokens}.")
    return Batch(min(seqs, tokens), tokens, 1 + values["num_speculative_tokens"], tuple(notes))


def _memory_tier(values: dict[str, Any]) -> tuple[int, int, int]:
    """Default (max_num_seqs, max_num_batched_tokens of the server, of the offline class)."""
    gib, name = values["gpu_memory_gib"], values["gpu_name"].upper()
    if gib >= 160:
        return 1024, 16384, 16384
    if gib >= 70 and "A100" not in name and "GB10" not in name:
        return 1024, 8192, 16384
    return 256, 2048, 8192


def configured(
    release: Release, values: dict[str, Any], batch: Batch, wanted: tuple[int, ...] | None
) -> Configured:
    """The list of `cudagraph_capture_sizes` that the engine ends up with.

    Raises SettingError where the engine refuses to start.
    """
    limit = values["max_cudagraph_capture_size"]
    if wanted is not None:
        result = _from_list(wanted, batch)
    else:
        parts = _parts(release, values, batch, limit)
        tokens = batch.max_num_batched_tokens
        result = Configured(ladder(parts, tokens), asked_max=min(limit, tokens) if limit else None)
    result = _sequence_parallel(release, values, result)
    result = _mamba(release, values, batch, result)
    if wanted is not None and limit is not None and limit != result.largest:
        raise SettingError(
            f"max_cudagraph_capture_size {limit} and the largest of cudagraph_capture_sizes "
            f"{result.largest} disagree, so vLLM does not start; give the list alone."
        )
    return result


def _from_list(wanted: tuple[int, ...], batch: Batch) -> Configured:
    tokens = batch.max_num_batched_tokens
    too_large = ladder(n for n in wanted if n > tokens)
    return Configured(ladder(wanted)).without(
        too_large, f"larger than max_num_batched_tokens {tokens}"
    )


def _parts(release: Release, values: dict[str, Any], batch: Batch, limit: int | None) -> list[int]:
    """Sizes before the clip to max_num_batched_tokens."""
    if values["runner"] == "v0":
        return straight(_v0_largest(batch.max_num_seqs))
    if release < "0.10.2":
        return straight(limit or 512)
    if values["gpt_oss"] and str(release) in GPT_OSS_LARGEST and limit is None:
        return stepped(GPT_OSS_LARGEST[str(release)])
    largest = min(limit or _default_max(release, values, batch), batch.max_num_batched_tokens)
    if release < "0.11.2":
        return straight(largest)
    parts = stepped(largest)
    if values["performance_mode"] == "interactivity" and release >= "0.17":
        parts += steps(1, min(largest, 32), 1)
    if release >= "0.23" and batch.max_num_batched_tokens <= largest:
        parts.append(batch.max_num_batched_tokens)
    if limit is None:
        parts += _decode_sizes(release, values, batch)
    return parts


def straight(largest: int) -> list[int]:
    """1, 2, 4 and multiples of 8."""
    return [n for n in (1, 2, 4) if n <= largest] + steps(8, largest, 8)


def stepped(largest: int) -> list[int]:
    """1, 2, 4, multiples of 8 below 256, multiples of 16 from 256."""
    return straight(min(largest, 255)) + steps(256, largest, 16)


def _v0_largest(max_num_seqs: int) -> int:
    """The first of 1, 2, 4, 8k that holds max_num_seqs."""
    return next((n for n in (1, 2, 4) if n >= max_num_seqs), ceil_to(max_num_seqs, 8))


def cap(release: Release, values: dict[str, Any]) -> int:
    """The largest default maximum; 1024 on data-centre Blackwell (capability 10.x) since 0.29."""
    blackwell = 10 <= values["compute_capability"] < 11
    return 1024 if blackwell and release >= "0.29" else 512


def _default_max(release: Release, values: dict[str, Any], batch: Batch) -> int:
    """Twice the widest decode step, capped; the factor q entered with 0.13."""
    q = batch.q if release >= "0.13" else 1
    return min(2 * batch.max_num_seqs * q, cap(release, values))


def _decode_sizes(release: Release, values: dict[str, Any], batch: Batch) -> list[int]:
    """Exact sizes of uniform decode steps, added to the default list only."""
    largest = _default_max(release, values, batch)
    if batch.q == 1:
        fits = release >= "0.31" and batch.max_num_seqs <= largest
        return [batch.max_num_seqs] if fits else []
    if release < "0.29":
        return []
    requests = min(batch.max_num_seqs, cap(release, values))
    sizes = (n * batch.q for n in [*stepped(requests), requests])
    return [n for n in sizes if n <= largest]


def _sequence_parallel(release: Release, values: dict[str, Any], result: Configured) -> Configured:
    tp = values["tensor_parallel_size"]
    if not values["enable_sp"] or tp == 1:
        return result
    if release >= "0.33":
        note = "enable_sp does not exist in 0.33.0; the list is not filtered."
        return replace(result, notes=(*result.notes, note))
    return result.without(
        tuple(n for n in result.sizes if n % tp),
        f"not a multiple of tensor_parallel_size {tp}, which sequence parallelism needs",
    )


def _mamba(
    release: Release, values: dict[str, Any], batch: Batch, result: Configured
) -> Configured:
    """Hybrid models: capped in 0.19, refused later, when state blocks do not hold the batch."""
    blocks = values["mamba_cache_blocks"]
    if blocks is None or release < "0.19":
        return result
    if release < "0.20":
        return result.without(
            tuple(n for n in result.sizes if n > blocks),
            f"larger than the {blocks} Mamba cache blocks",
        )
    if batch.max_num_seqs > blocks:
        raise SettingError(
            f"max_num_seqs {batch.max_num_seqs} exceeds the {blocks} Mamba cache blocks, so vLLM "
            f"does not start; use --max-num-seqs {blocks} or give the cache more memory."
        )
    return result


def rounded(sizes: tuple[int, ...], q: int) -> tuple[int, ...]:
    """Each size rounded up to a multiple of q tokens, kept while not above the largest size."""
    return ladder((ceil_to(n, q) for n in sizes), max(sizes, default=0))


def lora_cases(release: Release, values: dict[str, Any]) -> int:
    """Graphs of every size that adapters call for; 1 without adapters."""
    if not values["enable_lora"]:
        return 1
    if values["specialize_active_lora"]:
        return len({0, *powers_of_two(values["max_loras"]), values["max_loras"] + 1})
    return 2 if values["cudagraph_specialize_lora"] and release >= "0.11.2" else 1
