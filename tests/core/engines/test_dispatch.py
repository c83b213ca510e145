"""What a step does: full, piecewise or eager, padded to what, by each engine's own rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.data_parallel import RankRule
from core.engines import ENGINES
from core.engines.dispatch import (
    dispatch,
    dispatch_ranks,
    in_plan_unit,
    spelled_runs,
    uncovered,
)
from core.engines.plan import GraphList, Mode, Plan, StepKind
from core.errors import CostUnitError, HistogramError, SettingError
from core.records import SizeUnit, StepHistogram

VLLM = ENGINES["vllm"]


def rows(answer) -> list[tuple[int, str]]:
    return list(zip(answer.padded.tolist(), answer.modes.tolist(), strict=True))


def test_vllm_decode_and_mixed() -> None:
    """Decode steps take full graphs, mixed steps piecewise ones, larger ones run eager."""
    settings = {"max_num_seqs": 16}
    sizes = [1, 2, 4, 8, 16, 32]
    decode = VLLM.dispatch_sizes([3, 16, 17, 33], sizes, "0.33.0", settings)
    assert rows(decode) == [(4, "full"), (16, "full"), (32, "piecewise"), (-1, "eager")]
    mixed = VLLM.dispatch_sizes([3, 17, 33], sizes, "0.33.0", settings, StepKind.PREFILL)
    assert rows(mixed) == [(4, "piecewise"), (32, "piecewise"), (-1, "eager")]


def test_second_runner_prefers_the_full_graph() -> None:
    """q = 3: 12 tokens find full 12, though piecewise 12 is absent; 15 go to full 18, not to the
    smaller piecewise 16."""
    settings = {"max_num_seqs": 8, "num_speculative_tokens": 2}
    sizes = [4, 8, 16, 24]  # full: 6, 9, 18, 24
    step = VLLM.dispatch_sizes([3, 9, 12, 15, 24], sizes, "0.33.0", settings)
    assert rows(step) == [(6, "full"), (9, "full"), (18, "full"), (18, "full"), (24, "full")]
    mixed = VLLM.dispatch_sizes([15], sizes, "0.33.0", settings, StepKind.PREFILL)
    assert rows(mixed) == [(16, "piecewise")]


def test_first_runner_has_one_rounded_list() -> None:
    """q = 3 on the first runner: mixed steps pad to the rounded sizes too."""
    settings = {"max_num_seqs": 8, "num_speculative_tokens": 2, "runner": "v1"}
    sizes = [4, 8, 16, 24]
    mixed = VLLM.dispatch_sizes([15, 20], sizes, "0.33.0", settings, StepKind.PREFILL)
    assert rows(mixed) == [(18, "piecewise"), (24, "piecewise")]


def test_full_decode_only_leaves_mixed_steps_eager() -> None:
    """FULL_DECODE_ONLY captures nothing for mixed steps."""
    settings = {"cudagraph_mode": "FULL_DECODE_ONLY"}
    mixed = VLLM.dispatch_sizes([1, 100], [128], None, settings, StepKind.PREFILL)
    assert rows(mixed) == [(-1, "eager"), (-1, "eager")]


def test_trtllm_without_padding_replays_exact_sizes_only() -> None:
    """Padding off: 3 of 1, 2, 4 runs eager; on: it pads to 4."""
    trtllm = ENGINES["trtllm"]
    assert rows(trtllm.dispatch_sizes([2, 3], [1, 2, 4])) == [(2, "full"), (-1, "eager")]
    padded = trtllm.dispatch_sizes([2, 3], [1, 2, 4], None, {"enable_padding": True})
    assert rows(padded) == [(2, "full"), (4, "full")]


def test_sglang_prefill_never_more_than_doubles() -> None:
    """Prefill of 100 tokens does not pad to 256; 128 does."""
    sglang = ENGINES["sglang"]
    settings = {"cuda_graph_bs_prefill": [256]}
    step = sglang.dispatch_sizes([100, 127, 128, 257], None, None, settings, StepKind.PREFILL)
    assert rows(step) == [
        *((-1, "eager"), (-1, "eager")),
        *((256, "piecewise"), (-1, "eager")),
    ]


def test_sglang_decode_without_padding() -> None:
    """--disable-cuda-graph-padding replays exact sizes only."""
    settings = {"disable_cuda_graph_padding": True}
    step = ENGINES["sglang"].dispatch_sizes([2, 3], [2, 4], None, settings)
    assert rows(step) == [(2, "full"), (-1, "eager")]


def test_nano_vllm_fails_in_its_gap() -> None:
    """50 requests: sizes end at 48, so 49 and 50 find no graph and stop; above 512 is eager."""
    step = ENGINES["nano-vllm"].dispatch_sizes([48, 49, 50, 513], None, None, {"max_num_seqs": 50})
    assert rows(step) == [(48, "full"), (-1, "error"), (-1, "error"), (-1, "eager")]


def test_gaudi_compiles_while_serving() -> None:
    """A batch above the largest bucket gets a bucket of its own, compiled at that moment."""
    step = ENGINES["gaudi"].dispatch_sizes([31, 33], None, None, {"max_num_seqs": 32})
    # cube root of 33 -> 4, 4 x 2 = 8 -> 40
    assert rows(step) == [(32, "full"), (40, "recompile")]


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@settings(max_examples=30)
@given(data=st.data())
def test_padding_is_the_next_size_or_none(engine, data) -> None:
    """A replayed step pads to a captured size that holds it; an eager one is not padded."""
    plan = engine.plan()
    steps = data.draw(st.lists(st.integers(1, 3000), max_size=20))
    for kind in StepKind:
        answer = engine.dispatch_sizes(steps, kind=kind)
        captured = {n for graphs in plan.lists(kind) for n in graphs.sizes}
        for size, (padded, mode) in zip(steps, rows(answer), strict=True):
            if mode in ("full", "piecewise"):
                assert padded >= size and padded in captured
            elif mode != "recompile":
                assert padded == -1


def test_sizes_below_one_are_refused() -> None:
    """A step of 0 is no step."""
    with pytest.raises(HistogramError, match="0"):
        VLLM.dispatch_sizes([0, 1])
    assert len(VLLM.dispatch_sizes([]).padded) == 0


def plan_of(*sizes: int, width: int = 1) -> Plan:
    graphs = (GraphList(Mode.FULL, sizes),)
    return Plan(sizes, SizeUnit.TOKENS, graphs, tokens_per_request=width)


def test_ranks_by_each_rule() -> None:
    """Ranks 3, 9, 1, 5: the largest runs 16 on each of 4; the sum of 18 runs 24 on each."""
    plan = plan_of(1, 2, 4, 8, 16, 24, 32)
    most = dispatch_ranks(plan, [3, 9, 1, 5])
    assert (most.bucket, most.processed, most.useful) == (16, 64, 18)
    total = dispatch_ranks(plan, [3, 9, 1, 5], RankRule.SUM)
    assert (total.bucket, total.processed) == (24, 96)
    exact = Plan((4, 8), SizeUnit.REQUESTS, (GraphList(Mode.FULL, (4, 8), exact=True),))
    unequal = dispatch_ranks(exact, [4, 8])
    assert (unequal.bucket, unequal.mode, unequal.processed) == (None, Mode.EAGER, 12)
    assert dispatch_ranks(exact, [4, 4]).processed == 8


def test_one_eager_rank_makes_all_eager() -> None:
    """A rank above the largest graph runs eager, so all do, each with its own size."""
    step = dispatch_ranks(plan_of(1, 8), [2, 9])
    assert (step.bucket, step.processed, step.waste) == (None, 11, 0.0)
    assert dispatch_ranks(plan_of(1, 8), [0, 0]).waste == 0.0
    with pytest.raises(SettingError):
        dispatch_ranks(plan_of(1), [])


def test_engine_chooses_the_rank_rule() -> None:
    """TensorRT-LLM without padding needs equal ranks; with padding the largest decides."""
    trtllm = ENGINES["trtllm"]
    assert trtllm.dispatch_ranks([2, 4], [2, 4]).mode is Mode.EAGER
    padded = trtllm.dispatch_ranks([2, 4], [2, 4], None, {"enable_padding": True})
    assert (padded.bucket, padded.processed) == (4, 8)


def test_histogram_in_the_engines_unit() -> None:
    """Requests become tokens with speculation; tokens find prefill graphs where decode counts
    requests, or are refused where there are none."""
    requests = StepHistogram.from_mapping({2: 5, 3: 1})
    tokens = StepHistogram.from_mapping({100: 5}, unit=SizeUnit.TOKENS)
    plan = VLLM.plan(None, {"num_speculative_tokens": 2})
    converted, kind = in_plan_unit(plan, requests)
    assert converted.sizes.tolist() == [6, 9]
    assert (converted.unit, kind) == (SizeUnit.TOKENS, StepKind.DECODE)
    assert in_plan_unit(plan, tokens) == (tokens, StepKind.DECODE)
    assert in_plan_unit(ENGINES["sglang"].plan(), tokens)[1] is StepKind.PREFILL
    with pytest.raises(CostUnitError, match="requests"):
        in_plan_unit(ENGINES["lmdeploy"].plan(), tokens)


def test_uncovered_runs() -> None:
    """Sizes without a graph, as runs; with q = 2 only even sizes count."""
    assert uncovered(plan_of(1, 8), 12) == ((9, 12),)
    assert uncovered(plan_of(8), 8) == ()
    exact = Plan((1, 2, 5), SizeUnit.REQUESTS, (GraphList(Mode.FULL, (1, 2, 5), exact=True),))
    assert uncovered(exact, 7) == ((3, 4), (6, 7))
    assert uncovered(plan_of(4, width=2), 10) == ((6, 10),)
    assert spelled_runs(((3, 4), (6, 6))) == "3 to 4, 6"
    assert spelled_runs([(n, n) for n in range(1, 12, 2)]) == "1, 3, 5, ... 11 (6 sizes)"


@given(st.sets(st.integers(1, 200), min_size=1), st.integers(1, 300))
def test_dispatch_by_brute_force(captured: set[int], largest: int) -> None:
    """Each size pads to the smallest captured size that holds it."""
    answer = dispatch(plan_of(*sorted(captured)), np.arange(1, largest + 1))
    for size, padded in zip(range(1, largest + 1), answer.padded.tolist(), strict=True):
        assert padded == min((n for n in captured if n >= size), default=-1)
