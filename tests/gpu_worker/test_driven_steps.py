"""Which steps are sampled, on an engine of a few lines whose clock is its own step count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_worker.driven.contract import Limits, PointRefusedError, Started, StepRecord
from gpu_worker.driven.replaying import replay
from gpu_worker.driven.steps import Prompts, decode_times, mixed_times, prefill_times

BUDGET = 64


@dataclass
class Held:
    """One request: tokens computed and given out."""

    prompt: int
    output: int
    computed: int = 0
    given: int = 0


@dataclass
class SmallEngine:
    """Chunked prefill, first come first served. A step lasts as many microseconds as the tokens
    of context that its rows read, so that times tell contexts. drafts : tokens more a step."""

    drafts: int = 0
    limits: Limits = field(init=False)
    started: Any = None
    live: dict[str, Held] = field(default_factory=dict)
    made: int = 0
    steps: int = 0

    def __post_init__(self) -> None:
        self.limits = Limits(16, BUDGET, 10_000, 100, 100_000, 1 + self.drafts)
        self.started = Started("small", "1", (), None, None, (), ())

    @property
    def busy(self) -> bool:
        return bool(self.live)

    def add(self, tokens: Sequence[int], output_tokens: int) -> str:
        self.made += 1
        self.live[str(self.made)] = Held(len(tokens), output_tokens)
        return str(self.made)

    def abort(self, requests: Sequence[str]) -> None:
        for name in requests:
            self.live.pop(name, None)

    def step(self) -> StepRecord:
        budget, rows, tokens, context, counts = BUDGET, 0, 0, 0, {}
        for name, one in list(self.live.items())[: self.limits.max_num_seqs]:
            share = min(budget, 1 if one.computed >= one.prompt else one.prompt - one.computed)
            if not share:
                continue
            budget, rows, tokens = budget - share, rows + 1, tokens + share
            context += one.computed + 1
            one.computed += share
            if one.computed >= one.prompt:
                one.given = min(one.output, one.given + self.limits.step_tokens)
                counts[name] = one.given
        ended = tuple(name for name in counts if self.live[name].given == self.live[name].output)
        self.abort(ended)
        self.steps += 1
        return StepRecord(
            *(self.steps * 1.0, context / 1e6, rows, 0, len(self.live), rows, tokens),
            *("NONE", tokens, None, counts, ended),
        )


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 16),
    context=st.integers(120, 600),
    samples=st.integers(5, 30),
    drafts=st.integers(0, 3),
)
def test_decode_steps_are_at_the_context_that_is_asked_for(
    size: int, context: int, samples: int, drafts: int
) -> None:
    """So many samples, each of all requests and nothing else; the mean context of all of them is
    within 3 % of what was asked, although who came first has decoded for long."""
    engine = SmallEngine(drafts)
    times = decode_times(engine, Prompts(100, 0), size, context, samples)
    assert len(times.wall_us) == samples and times.padded == size
    mean = sum(times.wall_us) / samples / size
    assert mean == pytest.approx(context, rel=0.03, abs=3)
    assert not engine.busy


def test_prompts_are_taken_in_whole() -> None:
    """Each sample is one step of the prompt's tokens alone; other prompts each time."""
    engine = SmallEngine()
    times = prefill_times(engine, Prompts(100, 0), 50, 7)
    assert len(times.wall_us) == 7 and times.padded == 50 and engine.steps == 3 + 7
    with pytest.raises(PointRefusedError, match="65 tokens exceeds max_num_batched_tokens 64"):
        prefill_times(engine, Prompts(100, 0), 65, 7)


def test_a_mixed_step_holds_what_was_asked() -> None:
    """40 tokens of which 8 requests decode: a prompt of 32 beside them."""
    engine = SmallEngine()
    times = mixed_times(engine, Prompts(100, 0), 40, 8, 100, 6)
    assert len(times.wall_us) == 6 and times.padded == 40 and not engine.busy


def test_prompts_are_random_and_repeatable() -> None:
    """Of one seed the same, all of them within the vocabulary, and above the reserved tokens."""
    one, same, other = (Prompts(50, seed).of(200) for seed in (1, 1, 2))
    assert one == same != other and len(one) == 200
    assert min(one) >= 10 and max(one) < 50


def test_a_replay_by_hand() -> None:
    """Two requests, the second while the first runs: every token's time is the end of its step."""
    engine = SmallEngine()
    run = replay(engine, Prompts(100, 0), [(0.0, 64, 3), (0.0, 10, 2)])
    column = {name: i for i, name in enumerate(run["step_columns"])}
    # The first prompt fills the first step; the second comes in with the first one's decode.
    assert [row[column["tokens"]] for row in run["steps"]] == [64, 1 + 10, 2]
    assert [row[6] for row in run["requests"]] == [3, 2]
    assert run["itl_s"]["count"] == 2 + 1
    first = run["requests"][0]
    # Steps begin a second apart: three tokens, so two seconds and what the steps differ by.
    assert first[5] - first[4] == pytest.approx(2.0, abs=1e-3)


def test_tokens_of_one_step_come_out_together() -> None:
    """With drafts a step gives several: the gaps between them are nothing."""
    engine = SmallEngine(drafts=3)
    run = replay(engine, Prompts(100, 0), [(0.0, 20, 9)])
    assert len(run["steps"]) == 3 and run["itl_s"]["count"] == 8
    assert run["itl_s"]["p50"] == 0.0
