"""Which cost prices which steps: rows of decode steps, prompts by length, or tokens of both.

The curve of decode rows does not price prompts: its row is a request that reads its own KV cache
and is sampled, a prompt's token is neither.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.cost.of_prefill import prefill_step_cost
from core.cost.of_profile import memory_from_profile
from core.cost.points import capture_ms_at, eager_us_at, replay_us_at
from core.errors import SettingError
from core.records import (
    GraphMemory,
    Origin,
    Profile,
    SizeUnit,
    StepCost,
    StepHistogram,
)
from core.simulation.step_times import PrefillCost, weakest

MAX_ROWS = 256
"""Requests that decode together at most, where nothing says: vLLM's default."""


def decodes(steps: StepHistogram) -> bool:
    """Whether sizes count rows of decode steps; else tokens of steps that may hold prompts."""
    return steps.unit is SizeUnit.REQUESTS or (steps.unit is SizeUnit.TOKENS and steps.decode_only)


def cost_for(
    steps: StepHistogram,
    decode: StepCost,
    prefill: PrefillCost | None = None,
    prompts: Profile | None = None,
    max_rows: int = MAX_ROWS,
) -> StepCost:
    """The cost that prices these steps: `decode` itself for decode steps, else one by tokens.

    prefill : what a decode curve does not say; None takes `assumed_prefill`
    prompts : prefill chunks measured for the same model and card, which win over `prefill`
    max_rows : the most requests that decode together
    Raises SettingError.
    """
    if decodes(steps):
        return decode
    return cost_by_tokens(steps.unit, decode, prefill, prompts, max_rows)


def cost_by_tokens(
    unit: SizeUnit,
    decode: StepCost,
    prefill: PrefillCost | None = None,
    prompts: Profile | None = None,
    max_rows: int = MAX_ROWS,
) -> StepCost:
    """The same for steps that may hold prompts, whose sizes are in `unit`. Raises SettingError."""
    alone = prefill_step_cost(decode, prefill, prompts, unit)
    return alone if unit is SizeUnit.LENGTH else mixed_step_cost(decode, alone, max_rows)


def mixed_step_cost(decode: StepCost, prompts: StepCost, max_rows: int = MAX_ROWS) -> StepCost:
    """Steps by all their tokens: the first ones are rows of decode steps, further ones prompts'.

    prompts : steps that hold prompts alone, by tokens
    max_rows : where rows end; sooner, at its largest size, where `decode` ends sooner
    A file of tokens a step does not say how many requests decode beside a prompt. Most narrow steps
    hold no prompt, most wide ones come while many decode: on 917 steps with prefill of vLLM 0.23
    this is half as far off as either curve alone (docs/step_cost.md). Raises SettingError.
    """
    if max_rows < 1:
        raise SettingError(f"{max_rows} requests decode together at most; give 1 or more.")
    top = min(max_rows, int(decode.sizes[-1]))
    rows = decode.sizes[decode.sizes < top]
    sizes = np.union1d(rows, np.append(prompts.sizes[prompts.sizes > top], (top, top + 1)))
    row, beyond = np.minimum(sizes, top), np.maximum(sizes, top)
    more = replay_us_at(prompts, beyond) - replay_us_at(prompts, [top])[0]
    mixed = sizes > top  # no less than if all its tokens were prompts', replayed or submitted
    least = np.where(mixed, replay_us_at(prompts, sizes), 0.0)
    replay = np.maximum(replay_us_at(decode, row) + more, least)
    eager = np.where(mixed, np.maximum(eager_us_at(prompts, sizes), replay), 0.0)
    return StepCost(
        sizes,
        replay,
        np.maximum(eager, eager_us_at(decode, row)),
        np.where(mixed, capture_ms_at(prompts, sizes), capture_ms_at(decode, row)),
        weakest((decode.origin, prompts.origin, Origin.ESTIMATED)),
        f"the first {top:,} tokens of a step as rows of decode steps ({decode.origin.value}), "
        f"those beyond as prompts' ({prompts.source}); left out is the attention of long prompts",
        decode.copy_us,
        SizeUnit.TOKENS,
        eager_known=decode.eager_known and prompts.eager_known,
    )


def memory_by_tokens(memory: GraphMemory, prompts: Profile | None = None) -> GraphMemory:
    """Memory of graphs of so many tokens: measured on prefill chunks, else a token as a row.

    memory : of decode graphs
    """
    if prompts is not None and any(row.pool_bytes is not None for row in prompts.rows):
        return memory_from_profile(prompts)
    return replace(
        memory,
        origin=weakest((memory.origin, Origin.ESTIMATED)),
        source=f"{memory.source}; a graph of so many tokens is taken to need what one of so many "
        "requests does",
    )
