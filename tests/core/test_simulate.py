"""The simulator on systems small enough for pencil and paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SettingError
from core.example.trace import example_trace
from core.records import Origin, SizeUnit, StepCost, Trace
from core.simulate import (
    Machine,
    PrefillCost,
    assumed_prefill,
    simulate,
    step_times,
)
from core.step_cost import assumed_step_cost
from tests.core.small_engine import PREFILL, US, cost, machine, run, trace, us


def test_one_request():
    """6 prompt tokens take 5 + 2 x 6 = 17 us and give the first token; two decode steps of
    8 + 2 = 10 us give the others: 17, 27, 37. TPOT (37 - 17) / 2 = 10 us."""
    result = run(trace((0, 6, 3)))
    assert us(result.first_token_s) == [17] and us(result.finish_s) == [37]
    assert us(result.tpot_s) == [10] and us(result.ttft_s) == [17] and us(result.e2e_s) == [37]
    assert result.decode_steps.sizes.tolist() == [1] and result.decode_steps.steps.tolist() == [2]
    assert result.mixed_steps.sizes.tolist() == [6] and result.mixed_steps.steps.tolist() == [1]
    assert result.output_tps == pytest.approx(3 / 37e-6)
    assert result.origin is Origin.ESTIMATED


def test_long_prompts_come_in_chunks():
    """A budget of 4 cuts 6 tokens into 4 and 2: 5 + 8 = 13 us, then 5 + 4 = 9, which is below
    the shortest step of 10: the first token comes at 23."""
    result = run(trace((0, 6, 1)), machine(max_num_batched_tokens=4))
    assert us(result.first_token_s) == [23] == us(result.finish_s)
    assert result.mixed_steps.sizes.tolist() == [2, 4]
    assert np.isnan(result.tpot_s[0])  # one token has no gap


def test_prefill_shares_a_step_with_decoding():
    """The second request comes at 20, in the step from 17 to 27, and is taken at 27: 1 + 3 tokens
    take 5 + 8 = 13 us. At 40 the first has its last token and the second its only one."""
    result = run(trace((0, 6, 3), (20, 3, 1)))
    assert us(result.finish_s) == [40, 40] and us(result.first_token_s) == [17, 40]
    assert result.mixed_rows.tolist() == [1, 1, 0, 0, 0]


def test_separate_prefill_stalls_decoding():
    """Prefill goes first and alone: 3 tokens from 27 to 38, then the first request decodes until
    48. Its gaps are 10 (17 to 27) and 21 (27 to 48)."""
    result = run(trace((0, 6, 3), (20, 3, 1)), machine(mode="separate"))
    assert us(result.finish_s) == [48, 38]
    assert result.latency().itl_ms.max == pytest.approx(0.021, rel=0.008)
    assert result.itl_counts.tolist() == [1, 1]


def test_padding_and_eager_steps():
    """Three requests decode on a graph of 4, padding 1 each step; five have no graph up to 4."""
    three = run(trace(*[(0, 1, 3)] * 3), sizes=(1, 2, 4))
    # prefill of 3 tokens: 11 us; two steps at the bucket 4: 8 + 8 = 16 us each
    assert us(three.finish_s) == [43, 43, 43]
    assert three.padded_slots == 2 and three.eager_steps == 0
    five = run(trace(*[(0, 1, 2)] * 5), machine(max_num_seqs=5), sizes=(1, 2, 4))
    # prefill of 5: 5 + 10 = 15, but no graph holds 5 tokens, so at least 90 + 10; then
    # one eager step of 90 + 5 x 10 = 140
    assert us(five.makespan_s) == [240]
    assert five.padded_slots == 0 and five.eager_steps == 1
    mixed = run(trace((0, 1, 4), (0, 1, 2), (0, 1, 2)), sizes=(1, 4))
    # one step of three on 4, then two of one on 1
    assert mixed.decode_steps.sizes.tolist() == [1, 3]
    assert mixed.padded_by_size.tolist() == [0, 1] and mixed.eager_by_size.tolist() == [0, 0]


def test_without_graphs_every_step_is_eager():
    """No list: prefill takes at least 100 us, a decode step of one 100 us."""
    result = run(trace((0, 6, 3)), sizes=None)
    assert us(result.finish_s) == [300] and result.eager_steps == 2


def test_preemption_by_recomputation():
    """Four blocks of 2. Both requests prefill 3 tokens (2 blocks each): 5 + 12 = 17. Both decode
    into their second block: 12, at 29. Then both need a block and none is free: the second goes
    (4 tokens to do again), the first decodes alone to 39 and 49 and is done. The second computes
    3 + 2 tokens, 15 us, at 64, and decodes at 74."""
    result = run(trace((0, 3, 4), (0, 3, 4)), machine(kv_tokens=8, block_size_tokens=2))
    assert us(result.finish_s) == [49, 74] and us(result.first_token_s) == [17, 17]
    assert result.preemptions == 1 and result.recomputed_tokens == 4
    assert result.peak_kv_tokens == 8
    # gaps: 12, 10, 10 of the first and 12, 35, 10 of the second
    assert result.itl_counts.tolist() == [3, 2, 1]
    assert result.itl_s[-1] == pytest.approx(35 * US, rel=0.008)


def test_whole_prompts_wait_for_room():
    """Three blocks of 4 are free beside the first request (2 blocks of 5). A prompt of 16 needs 4:
    it waits; asked for its first chunk of 4 alone it would start at once."""
    requests = trace((0, 8, 5), (1, 16, 1))
    engine = {"kv_tokens": 20, "max_num_batched_tokens": 8}
    # Waiting: the first ends at 21 + 4 x 10 = 61; 16 tokens in two chunks of 8 take 21 each.
    waits = run(requests, machine(**engine))
    assert us(waits.finish_s) == [61, 103] and waits.preemptions == 0
    # At once: it takes 7 tokens beside the decode at 21, finds no block for more, and is sent back.
    tries = run(requests, machine(**engine, whole_prompt_must_fit=False))
    assert tries.preemptions > 0


def test_context_slows_decoding():
    """3 us a token of context beyond 2 a request: the decode step reads 7 tokens, so it takes
    10 + 3 x (7 - 2) = 25 us; the next one reads 8 and takes 28."""
    prefill = PrefillCost(5.0, 2.0, 3.0, 2, Origin.FITTED, "by hand")
    result = run(trace((0, 6, 3)), machine(max_num_seqs=1), prefill=prefill)
    assert us(result.finish_s) == [17 + 25 + 28]


def test_an_eager_step_hides_context_behind_its_launch():
    """Eager, one request: launching takes 100 us, the card 8 + 2 us and 30 us a token of context.
    The step reads 4 tokens, then 5: 130 and 160 us, above the launch; at 20 us a token 90 and 110:
    the first takes the 100 of its launch, the second 110. Prefill takes at least 100."""
    for per_token, decode in ((30.0, 130 + 160), (20.0, 100 + 110), (0.0, 100 + 100)):
        prefill = PrefillCost(5.0, 2.0, per_token, 0, Origin.ASSUMED, "by hand")
        result = run(trace((0, 3, 3)), machine(), sizes=None, prefill=prefill)
        assert us(result.finish_s) == [100 + decode]


def test_prompts_and_what_they_attend_to_take_time():
    """Two prompts of 2 and 3 tokens attend to 1 + 2 and 1 + 2 + 3 tokens, 9 pairs: 5 + 2 x 5 for
    the tokens, 2 x 7 for the prompts, 9 x 0.5 for the pairs: 33.5 us."""
    prefill = PrefillCost(
        5.0, 2.0, 0.0, 0, Origin.ASSUMED, "by hand", us_per_prompt=7.0, us_per_pair=0.5
    )
    result = run(trace((0, 2, 1), (0, 3, 1)), prefill=prefill)
    assert us(result.finish_s) == [33.5, 33.5]
    # In chunks of 4 and 2 the second chunk's tokens attend to 5 + 6 of the 6: 10 and 11 pairs.
    chunks = run(trace((0, 6, 1)), machine(max_num_batched_tokens=4), prefill=prefill)
    assert us(chunks.finish_s) == [5 + 8 + 7 + 5 + 5 + 4 + 7 + 5.5]


def test_context_in_mixed_steps_has_its_own_price():
    """The second request joins a decode that reads 8 tokens, at 1 us each: 5 + 2 x 4 + 8 = 21 us
    after 27, where the decode step itself (7 tokens, 0 us each) took 10."""
    prefill = PrefillCost(
        5.0, 2.0, 0.0, 0, Origin.ASSUMED, "by hand", mixed_context_us_per_token=1.0
    )
    result = run(trace((0, 6, 3), (20, 3, 1)), prefill=prefill)
    assert us(result.finish_s) == [48, 48]


@pytest.mark.parametrize(
    ("drafts", "acceptance", "steps"),
    [(0, 0.0, 8), (3, 1.0, 2), (3, 0.0, 8), (1, 0.5, 6)],
)
def test_speculation_emits_accepted_drafts(drafts, acceptance, steps):
    """9 tokens: one from prefill, 8 from decode. All 3 drafts accepted: 4 a step, 2 steps. None: 8
    steps. One draft at 50 %: 1.5 a step, floor(1.5 x 6) = 9 >= 8, 6 steps."""
    engine = machine(draft_tokens=drafts, acceptance=acceptance)
    result = run(trace((0, 4, 9)), engine)
    assert result.decode_steps.steps.tolist() == [steps]
    assert result.output_tokens == 9


def test_speculation_buckets_count_tokens_where_the_cost_does():
    """Two requests with 3 drafts fill 8 tokens: no token graph of 4, so eager; in requests, 2."""
    engine = machine(draft_tokens=3, max_num_batched_tokens=64)
    requests = trace((0, 1, 3), (0, 1, 3))
    tokens = simulate(requests, engine, cost(SizeUnit.TOKENS), (1, 2, 4), prefill=PREFILL)
    assert tokens.times.sizes.tolist() == [0, 4, 8, 12, 16]
    assert tokens.eager_steps == tokens.decode_steps.total_steps == 2
    assert simulate(requests, engine, cost(), (1, 2, 4), prefill=PREFILL).eager_steps == 0


def test_prefix_hits_spare_prefill():
    """6 of 8 prompt tokens hit, of which whole blocks of 4 count: 4 are computed, 13 us. Hits never
    cover the last token: 8 of 8 count as 4 as well."""
    for hit in (6, 8):
        result = run(trace((0, 8, 1), hits=[hit]))
        assert us(result.finish_s) == [13] and result.cached_tokens == 4
        assert any("prefix cache spares 4" in note for note in result.notes)
    ignored = run(trace((0, 8, 1), hits=[6]), machine(prefix_cache=False))
    assert us(ignored.finish_s) == [21] and ignored.cached_tokens == 0


def test_closed_loop_keeps_requests_in_flight():
    """One at a time: each of three requests arrives when the last is done, whatever the trace
    says, and takes 5 + 8 = 13 us."""
    result = run(trace((500, 4, 1), (600, 4, 1), (700, 4, 1)), concurrency=1)
    assert us(result.arrival_s) == [0, 13, 26] and us(result.finish_s) == [13, 26, 39]
    lengths = Trace(np.array([4, 4]), np.array([1, 1]))
    assert us(run(lengths, concurrency=2).finish_s) == [21, 21]  # 8 tokens together


def test_idle_time_is_not_busy_time():
    """The second request comes 983 us after the first is done at 17: 1,000 - 17 idle."""
    result = run(trace((0, 6, 1), (1000, 6, 1)))
    assert us(result.idle_s) == [983] and us(result.makespan_s) == [1017]
    assert us(result.decode_s + result.mixed_s + result.idle_s) == [1017]


def test_empty_outputs_end_with_their_prefill():
    """0 output tokens: the engine computes the prompt and is done; no token is counted."""
    result = run(trace((0, 4, 0)))
    assert us(result.finish_s) == [13] and result.output_tokens == 0
    assert any("output length 0" in note for note in result.notes)


def test_progress_reaches_the_end():
    """Progress is a share of requests that ends at 1."""
    seen: list[float] = []
    run(trace((0, 6, 3), (20, 3, 1)), progress=seen.append)
    assert seen[-1] == 1.0 and seen == sorted(seen)


def test_step_times_name_their_weakest_part():
    """A fitted decode curve with an assumed prefill is assumed as a whole, and says both."""
    fitted = StepCost(
        np.array([1]), np.array([5800.0]), np.array([9.0]), np.ones(1), Origin.FITTED, "card"
    )
    times = step_times(fitted, machine(), (1, 2, 4))
    assert times.origin is Origin.ASSUMED and times.source.startswith("card; prefill assumed")
    # 5.8 ms / 305 tokens = 19.02 us a token
    assert assumed_prefill(fitted).us_per_token == pytest.approx(19.02, abs=0.01)


@pytest.mark.parametrize("mode", ["chunked", "separate"])
def test_the_series_is_bounded_and_consistent(mode):
    """At most 1,024 moments in order, within the machine's limits, whatever the length."""
    engine = Machine(20_000, max_num_seqs=32, mode=mode)
    result = simulate(example_trace(rate_rps=9.0), engine, assumed_step_cost(), (1, 2, 4, 8, 16))
    series = result.series
    assert 512 <= len(series.time_s) <= 1024 and (np.diff(series.time_s) > 0).all()
    assert series.running.max() <= 32 and series.running.min() >= 0
    assert series.kv_tokens.max() <= result.peak_kv_tokens <= 20_000
    assert series.waiting.max() > 0 and series.waiting.min() >= 0


@given(
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(1, 40), st.integers(1, 20)),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(["chunked", "separate"]),
    st.integers(1, 6),
)
def test_every_token_is_accounted_for(requests, mode, seqs):
    """Without preemption, rows decoded = output tokens - 1 a request; tokens prefilled = prompt
    tokens; the makespan is decode, prefill and idle time."""
    engine = Machine(
        10**5, block_size_tokens=4, max_num_seqs=seqs, max_num_batched_tokens=16, mode=mode
    )
    requests = sorted(requests)
    result = run(trace(*requests), engine, sizes=(1, 4))
    decoded = result.decode_steps.useful_slots + int(
        result.mixed_rows @ np.arange(len(result.mixed_rows))
    )
    assert decoded == sum(output - 1 for _, _, output in requests)
    rows_in_mixed = int(result.mixed_rows @ np.arange(len(result.mixed_rows)))
    assert result.mixed_steps.useful_slots - rows_in_mixed == sum(p for _, p, _ in requests)
    assert result.itl_counts.sum() == decoded
    total = result.decode_s + result.mixed_s + result.idle_s
    assert total == pytest.approx(result.makespan_s, abs=1e-9)
    assert (result.first_token_s >= result.arrival_s).all()
    assert (result.finish_s >= result.first_token_s).all()


def test_slots_are_requests_or_their_drafts():
    """A request with 2 drafts is a step of 3 tokens where the cost counts tokens."""
    drafts = machine(draft_tokens=2, acceptance=0.0)
    by_token = simulate(trace((0, 4, 3)), drafts, cost(SizeUnit.TOKENS), (3,), prefill=PREFILL)
    assert by_token.decode_slots.sizes.tolist() == [3]
    assert by_token.decode_slots.unit is SizeUnit.TOKENS
    by_request = run(trace((0, 4, 3)), drafts)
    assert by_request.decode_slots.sizes.tolist() == [1]
    assert by_request.decode_slots.unit is SizeUnit.REQUESTS


def test_the_share_of_the_cache_is_of_whole_blocks():
    """A cache of 66 tokens is 16 blocks of 4: 6 + 3 tokens hold 2, and 3 at most."""
    result = run(trace((0, 6, 3), (50, 6, 3)), machine(kv_tokens=66))
    assert 2 / 16 <= result.kv_share.max() <= 3 / 16
    assert (result.kv_share * 16 % 1 == 0).all()


def test_an_engines_own_rule_replaces_rounding_up():
    """Two requests would round up to 4; a rule that pads nothing runs them eager instead."""
    requests = trace((0, 2, 3), (0, 2, 3))
    rounded = run(requests, sizes=(1, 4))
    assert (rounded.padded_slots, rounded.eager_steps) == (4, 0)  # two steps of 2 in 4
    own = run(requests, sizes=(1, 4), buckets=np.array([-1, 1, -1, -1, 4]))
    assert (own.padded_slots, own.eager_steps) == (0, 2)
    assert own.makespan_s > rounded.makespan_s
    for wrong in ([-1, 1], [-1, 1, 1, 4, 4]):
        with pytest.raises(SettingError, match="engine's rule"):
            run(requests, sizes=(1, 4), buckets=np.array(wrong))
