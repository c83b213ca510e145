"""vLLM's list of capture sizes, release by release, before any graph is captured.

Source: `_set_cudagraph_sizes` of the published wheels 0.8.5 to 0.33.0, restated as a rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from core.engines._vllm_batch import Batch
from core.engines._vllm_modes import SP_HIDDEN, Modes, sequence_parallel
from core.engines.ladder import ceil_to, ladder, powers_of_two, steps
from core.engines.plan import Dropped, Mode
from core.engines.versions import Release
from core.errors import SettingError

GPT_OSS_LARGEST = {"0.10.2": 1024, "0.11.0": 992}
"""A model override of two releases; 992 is the block limit of FlashAttention 3."""

GPT_OSS_MAX = 1024
"""From 0.11.1 on: the maximum of gpt-oss where neither a list nor a maximum is given."""


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


def configured(
    release: Release, values: dict[str, Any], batch: Batch, wanted: tuple[int, ...] | None
) -> Configured:
    """The list of `cudagraph_capture_sizes` that the engine ends up with.

    Raises SettingError where the engine refuses to start.
    """
    limit = values["max_cudagraph_capture_size"]
    if wanted is not None and release < "0.11.1":
        return _taken_as_is(release, values, wanted)
    if wanted is not None:
        result = _from_list(wanted, batch)
    else:
        parts = _parts(release, values, batch, limit)
        tokens = batch.max_num_batched_tokens
        result = Configured(ladder(parts, tokens), asked_max=min(limit, tokens) if limit else None)
    result = _sequence_parallel(release, values, result)
    if wanted is not None and limit is not None and limit != result.largest:
        raise SettingError(
            f"max_cudagraph_capture_size {limit} and the largest of cudagraph_capture_sizes "
            f"{result.largest} disagree, so vLLM does not start; give the list alone."
        )
    return result


def _taken_as_is(release: Release, values: dict[str, Any], wanted: tuple[int, ...]) -> Configured:
    """Up to 0.11.0 a list is neither filtered nor held against a maximum."""
    notes = ()
    if values["max_cudagraph_capture_size"] is not None:
        notes = (f"max_cudagraph_capture_size is ignored beside a list in {release}.",)
    return Configured(ladder(wanted), notes=notes)


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
    if release < "0.11.1":
        return _old_parts(release, values, batch, limit)
    if values["gpt_oss"] and limit is None:
        limit = GPT_OSS_MAX
    largest = min(limit or _default_max(release, values, batch), batch.max_num_batched_tokens)
    parts = stepped(largest)
    if values["performance_mode"] == "interactivity" and release >= "0.17":
        parts += steps(1, min(largest, 32), 1)
    if release >= "0.20" and batch.max_num_batched_tokens <= largest:
        parts.append(batch.max_num_batched_tokens)
    if limit is None:
        parts += _decode_sizes(release, values, batch)
    return parts


def _old_parts(
    release: Release, values: dict[str, Any], batch: Batch, limit: int | None
) -> list[int]:
    """Up to 0.11.0: 1, 2, 4 always, then multiples of 8; a maximum exists since 0.9."""
    if release < "0.9":
        limit = None
    largest = limit or (512 if release < "0.10" else _default_max(release, values, batch))
    override = GPT_OSS_LARGEST.get(str(release)) if values["gpt_oss"] else None
    if override is not None and largest < override:
        return stepped(override)
    return [1, 2, 4, *steps(8, largest, 8)]


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
    """The largest default maximum; 1024 on data-centre Blackwell (capability 10.x) since 0.28."""
    blackwell = 10 <= values["compute_capability"] < 11
    return 1024 if blackwell and release >= "0.28" else 512


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
    if not sequence_parallel(release, values):
        where = "this release" if release >= "0.32" else "this card and model"
        note = f"enable_sp has no effect in {release} with {where}; the list is not filtered."
        return replace(result, notes=(*result.notes, note))
    if release >= "0.17" and values["hidden_size"] is None:
        note = f"hidden_size is not given: {SP_HIDDEN} or more is assumed, else enable_sp is off."
        result = replace(result, notes=(*result.notes, note))
    return result.without(
        tuple(n for n in result.sizes if n % tp),
        f"not a multiple of tensor_parallel_size {tp}, which sequence parallelism needs",
    )


def final(
    release: Release,
    values: dict[str, Any],
    batch: Batch,
    modes: Modes,
    v2: bool,
    config: Configured,
) -> Configured:
    """The list that is captured, once drafts and the state blocks of hybrid models are known.

    Raises SettingError where the engine refuses to start.
    """
    result = config
    if batch.q > 1 and modes.graphs and _rounds(release, modes, v2):
        result = _for_drafts(release, values, batch, config)
    return _mamba(release, values, batch, modes, result)


def _rounds(release: Release, modes: Modes, v2: bool) -> bool:
    """Whether the whole list becomes multiples of a request's tokens.

    The first runner, from 0.11.1 on: where decode steps have full graphs of their own; from 0.20
    on also where one full graph serves all steps. The second runner: in 0.23 and 0.24, whatever
    the mode; later it rounds its decode graphs alone.
    """
    if v2:
        return release < "0.25"
    if release < "0.11.1" or modes.decode is not Mode.FULL:
        return False
    return modes.separate or release >= "0.20"


def _for_drafts(
    release: Release, values: dict[str, Any], batch: Batch, config: Configured
) -> Configured:
    multiple = _draft_multiple(release, values, batch)
    sizes = rounded(config.sizes, multiple)
    if not sizes and config.sizes and release >= "0.12":
        if multiple > config.largest:
            raise SettingError(
                f"No capture size is left: sizes are rounded up to multiples of {multiple} tokens "
                f"and the largest is {config.largest}, so vLLM {release} does not start; use "
                f"--cudagraph-capture-sizes {multiple}."
            )
        sizes = (multiple,)
    return replace(config, sizes=sizes or config.sizes)


def _draft_multiple(release: Release, values: dict[str, Any], batch: Batch) -> int:
    """Tokens of a request, or of all cards where sequence parallelism shares them out.

    0.11.1 takes the cards into account without sequence parallelism too.
    """
    q, tp = batch.q, values["tensor_parallel_size"]
    if tp == 1 or not (sequence_parallel(release, values) or release < "0.11.2"):
        return q
    multiple = max(q, tp)
    if multiple % q or multiple % tp:
        raise SettingError(
            f"{q} tokens a request and tensor_parallel_size {tp}: neither is a multiple of the "
            f"other, so vLLM {release} does not start; change num_speculative_tokens."
        )
    return multiple


def check_shared_full(release: Release, batch: Batch, modes: Modes, config: Configured) -> None:
    """0.13 to 0.17 with one full graph for all steps: a decode step must fill whole requests.

    The list is not rounded there, yet a padded decode step that is no multiple of a request's
    tokens stops the engine. Raises SettingError for the first such step.
    """
    q = batch.q
    if q == 1 or modes.decode is not Mode.FULL or modes.separate:
        return
    if release < "0.13" or release >= "0.18":
        return
    for requests in range(1, batch.max_num_seqs + 1):
        bucket = next((n for n in config.sizes if n >= requests * q), None)
        if bucket is not None and bucket % q:
            raise SettingError(
                f"cudagraph_mode FULL with {q} tokens a request: {requests} requests replay "
                f"{bucket}, no multiple of {q}, and vLLM {release} stops there; give multiples of "
                f"{q} or use FULL_AND_PIECEWISE."
            )


def drafts_miss_shared(release: Release, batch: Batch, modes: Modes) -> bool:
    """0.17 with one full graph for all steps: a decode step with drafts finds only those graphs
    that hold all requests, since it looks for the number of requests they were captured with."""
    shared = modes.decode is Mode.FULL and not modes.separate
    return batch.q > 1 and shared and release >= "0.17" and release < "0.18"


def _mamba(
    release: Release, values: dict[str, Any], batch: Batch, modes: Modes, result: Configured
) -> Configured:
    """Hybrid models: capped in 0.19, refused later, when state blocks do not hold the batch."""
    blocks = values["mamba_cache_blocks"]
    if blocks is None or release < "0.19" or modes.decode is not Mode.FULL:
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


def lora_cases(release: Release, values: dict[str, Any], v2: bool) -> int:
    """Graphs of every size that adapters call for; 1 without adapters.

    One with adapters alone where cudagraph_specialize_lora is off, whatever else is set; else one
    without adapters and one for the most, from 0.16 on, if asked, for each power of two between.
    The second runner of 0.23 knows one case.
    """
    if not values["enable_lora"]:
        return 1
    if not values["cudagraph_specialize_lora"]:
        return 1
    if release < "0.11.1" or (v2 and release < "0.24"):
        return 1
    if values["specialize_active_lora"]:
        return len({0, *powers_of_two(values["max_loras"]), values["max_loras"] + 1})
    return 2
