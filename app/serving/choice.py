"""The engine that serves and how requests come to it, as one frozen choice."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app import compute
from core.records import SizeUnit, StepCost, Trace
from core.simulate import Machine, Mode


@dataclass(frozen=True)
class ServingLimits:
    """What bounds a step in the engine, and how the trace is replayed.

    sizes_count : what a capture size counts where drafts are verified; without drafts both are one
    prefix_hit_rate : share of every prompt that is cached; None: as the trace says
    concurrency : closed loop, so many requests in flight; None: requests come when they arrive
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_tokens: int
    load_factor: float
    mode: Mode = "chunked"
    block_size_tokens: int = 16
    whole_prompt_must_fit: bool = True
    draft_tokens: int = 0
    acceptance: float = 0.0
    sizes_count: SizeUnit = SizeUnit.TOKENS
    prefix_cache: bool = True
    prefix_hit_rate: float | None = None
    concurrency: int | None = None


def machine_of(limits: ServingLimits) -> Machine:
    """The engine with the whole KV cache. Raises SettingError."""
    return Machine(
        kv_tokens=limits.kv_tokens,
        block_size_tokens=limits.block_size_tokens,
        max_num_seqs=limits.max_num_seqs,
        max_num_batched_tokens=limits.max_num_batched_tokens,
        mode=limits.mode,
        whole_prompt_must_fit=limits.whole_prompt_must_fit,
        prefix_cache=limits.prefix_cache,
        draft_tokens=limits.draft_tokens,
        acceptance=limits.acceptance,
    )


def requests_of(trace: Trace, limits: ServingLimits) -> Trace:
    """The requests under the chosen load and prefix hits; a closed loop needs no load.

    Raises SettingError.
    """
    if limits.prefix_cache and limits.prefix_hit_rate is not None:
        trace = compute.with_hit_rate(trace, limits.prefix_hit_rate)
    return trace if limits.concurrency is not None else compute.scaled(trace, limits.load_factor)


def cost_of(cost: StepCost, limits: ServingLimits) -> StepCost:
    """The step cost by what a capture size counts: a drafted token is a row like any other."""
    by_tokens = limits.draft_tokens and limits.sizes_count is SizeUnit.TOKENS
    return replace(cost, unit=SizeUnit.TOKENS) if by_tokens else cost
