"""Graph memory by hand, against what captures took, and for lists and shapes not seen."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines.plan import GraphCount, GraphList, Mode, Plan
from core.errors import CaptureSizesError, SettingError
from core.graph_memory import (
    GraphLists,
    GraphMemoryModel,
    GraphMemoryObservation,
    fit_graph_memory,
    fit_to_own_capture,
    lists_of_plan,
    shipped_captures,
    shipped_graph_memory,
)
from core.graph_memory.pool import layer_tensor_bytes, split_attention_bytes
from core.graph_memory.shipped import full_share
from core.memory import graph_bytes
from core.records import ModelShape, Origin, PoolPolicy, SizeUnit
from tests.conftest import DATA
from tests.core.strategies import capture_sizes

GIB = 2**30
LLAMA_8B = ModelShape("8b", 32, 4096, 32, 8, 128, 14336, 128256)
LLAMA_05B = ModelShape("0.5b", 24, 896, 14, 2, 64, 4864, 151936)
TINY = ModelShape("tiny", 2, 4, 2, 1, 2, 3, 10, "float32")
MODEL = GraphMemoryModel(100.0, 2.0, 1.0, 0, Origin.FITTED, 0.1, "by hand")

DEFAULT = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))
TO_1024 = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 640, 768, 896, 1024)
SIXTEEN = (3, 6, 9, 12, 24, 33, 41, 49, 64, 75, 91, 115, 135, 152, 170, 256)
RUNS = {
    "8b-default": (LLAMA_8B, DEFAULT, 256),
    "8b-defaultb": (LLAMA_8B, DEFAULT, 256),
    "8b-default-x3": (LLAMA_8B, DEFAULT, 256),
    "8b-default-x3b": (LLAMA_8B, DEFAULT, 256),
    "8b-robust16": (LLAMA_8B, SIXTEEN, 256),
    "8b-twelve": (LLAMA_8B, (4, 8, 16, 24, 32, 40, 48, 64, 88, 120, 168, 256), 256),
    "8b-pow2": (LLAMA_8B, (1, 2, 4, 8, 16, 32, 64, 128, 256), 256),
    "8b-six": (LLAMA_8B, (8, 14, 20, 27, 37, 256), 256),
    "8b-six-x3": (LLAMA_8B, (8, 14, 20, 27, 37, 256), 256),
    "05b-default": (LLAMA_05B, DEFAULT, 1024),
    "05b-long-default": (LLAMA_05B, DEFAULT, 1024),
    "05b-upto1024": (LLAMA_05B, TO_1024, 1024),
    "05b-long-upto1024": (LLAMA_05B, TO_1024, 1024),
}
"""Log in tests/data/graph_memory: shape, capture sizes, max_num_seqs."""


def _observation(run: str) -> GraphMemoryObservation:
    """What the log of a run says; its number of graphs of each kind must be the list's."""
    shape, sizes, requests = RUNS[run]
    text = (DATA / "graph_memory" / f"{run}.log").read_text("utf-8")
    lists = GraphLists(tuple(size for size in sizes if size <= requests), sizes)
    for kind, captured in (("PIECEWISE", lists.piecewise), ("FULL", lists.full)):
        assert f"({kind}): 100%|██████████| {len(captured)}/{len(captured)} " in text
    taken = re.search(r"Graph capturing finished in \d+ secs, took ([\d.]+) GiB", text)
    assert taken
    return GraphMemoryObservation(lists, shape, float(taken[1]) * GIB, run)


OBSERVED = [_observation(run) for run in RUNS]


def _fit(observations: list[GraphMemoryObservation]) -> GraphMemoryModel:
    return fit_graph_memory(observations, full_share=full_share(), splits=32)


def _missed(model: GraphMemoryModel, seen: GraphMemoryObservation) -> float:
    return model.predict(seen.lists, seen.shape).total_bytes / seen.taken_bytes - 1


def test_tensors_by_hand() -> None:
    """8B, 512 tokens: 3 x 4096 + (32 + 16) x 128 + 3 x 14336 = 61,440 elements of 2 bytes."""
    assert layer_tensor_bytes(LLAMA_8B, 512) == 61_440 * 2 * 512
    # Two cards: 12,288 + (16 + 8) x 128 + 3 x 7168 = 36,864 elements.
    assert layer_tensor_bytes(replace(LLAMA_8B, tensor_parallel=2), 1) == 36_864 * 2
    # Eight experts of which a token takes two: 12,288 + 6,144 + 2 x 3 x 14336.
    experts = replace(LLAMA_8B, num_experts=8, experts_per_token=2)
    assert layer_tensor_bytes(experts, 1) == 104_448 * 2


def test_split_attention_by_hand() -> None:
    """32 splits x 32 heads x 256 tokens x (128 + 1) x 4 bytes; nothing without a full graph."""
    assert split_attention_bytes(LLAMA_8B, 256, 32) == 32 * 32 * 256 * 129 * 4
    assert split_attention_bytes(LLAMA_8B, 0, 32) == 0
    # 16 cards, 8 KV heads: two query heads a card, one KV head a card.
    many = replace(LLAMA_8B, tensor_parallel=16)
    assert split_attention_bytes(many, 1, 1) == 2 * 129 * 4


def test_model_by_hand() -> None:
    """Base 100; tensors 4 x (12 + 8 + 9) x 4 = 464; 3 sizes x 3 pieces x 2; 2 sizes x 2 layers."""
    parts = MODEL.predict(GraphLists((1, 2), (1, 2, 4)), TINY)
    assert (parts.base_bytes, parts.tensor_bytes) == (100, 464)
    assert (parts.piecewise_bytes, parts.full_bytes) == (18, 4)
    assert parts.total_bytes == 586
    assert parts.band_bytes == pytest.approx((527.4, 644.6))
    known = replace(
        MODEL,
        left_out_residual=0.2,
        seen=((GraphLists((1, 2), (1, 2, 4)), replace(TINY, name="")),),
    )
    assert known.predict(GraphLists((1, 2), (1, 2, 4)), TINY).residual == 0.1
    assert known.predict(GraphLists((1, 2), (1, 2)), TINY).residual == 0.2
    assert MODEL.graph_bytes((1, 2), (1, 2, 4), TINY) == 586
    # Adapters: every size is captured twice, the pool stays.
    assert MODEL.graph_bytes((1, 2), (1, 2, 4), TINY, variants=2) == 586 + 22


def test_policies_by_hand() -> None:
    """Rows of 116 bytes and splits of 2 x 2 heads x 3 x 4 = 48 a row of a full graph.

    Largest first holds 4 rows and 2 of splits. Smallest first: 1, 2, 4 of the piecewise graphs
    (the full ones fit into them) and 1, 2 of splits. Private: 1, 2, 4, 1, 2 and 1, 2 of splits.
    """
    split = replace(MODEL, splits=2)
    lists = GraphLists((1, 2), (1, 2, 4))
    tensors = {policy: split.predict(lists, TINY, policy).tensor_bytes for policy in PoolPolicy}
    assert tensors == {
        PoolPolicy.SHARED_LARGEST_FIRST: 4 * 116 + 2 * 48,
        PoolPolicy.SHARED_SMALLEST_FIRST: 7 * 116 + 3 * 48,
        PoolPolicy.PRIVATE: 10 * 116 + 3 * 48,
    }
    assert split.predict(lists, TINY, PoolPolicy.PRIVATE).origin is Origin.ESTIMATED
    assumed = replace(split, origin=Origin.ASSUMED)
    assert assumed.predict(lists, TINY, PoolPolicy.PRIVATE).origin is Origin.ASSUMED
    assert assumed.predict(lists, TINY).band_bytes is None


def test_no_graph_takes_nothing() -> None:
    """Without any graph there is no base either."""
    assert MODEL.graph_bytes((), (), TINY) == 0


def test_costs_by_hand() -> None:
    """Piecewise: first 100 + 464 + 6, another 6, all 582. Full: first 100 + 232 + 2, another 2."""
    costs = MODEL.costs(GraphLists((1, 2), (1, 2, 4)), TINY)
    piecewise, full = costs["piecewise"], costs["full"]
    assert (piecewise.first_bytes, piecewise.second_bytes, piecewise.all_bytes) == (570, 6, 582)
    assert (full.first_bytes, full.second_bytes, full.all_bytes) == (334, 2, 336)
    assert "full" not in MODEL.costs(GraphLists((), (1,)), TINY)


@pytest.mark.parametrize(("name", "value"), [("base_bytes", -1.0), ("piece_bytes", float("nan"))])
def test_parts_below_zero_are_refused(name: str, value: float) -> None:
    with pytest.raises(SettingError, match=name):
        replace(MODEL, **{name: value})


def test_a_fit_finds_what_made_the_figures() -> None:
    """Totals from base 1000 and 7 a piece (2 a layer of a full graph) give these back."""
    truth = GraphMemoryModel(1000.0, 7.0, 2.0, 4, Origin.FITTED, 0.0, "")
    lists = [GraphLists((1, 2), (1, 2, 4)), GraphLists((1,), (1,)), GraphLists((), (8, 16))]
    seen = [
        GraphMemoryObservation(each, TINY, truth.predict(each, TINY).total_bytes, f"run {n}")
        for n, each in enumerate(lists)
    ]
    fitted = fit_graph_memory(seen, full_share=2 / 7, splits=4)
    assert fitted.base_bytes == pytest.approx(1000)
    assert fitted.piece_bytes == pytest.approx(7)
    assert fitted.layer_bytes == pytest.approx(2)
    assert fitted.residual == pytest.approx(0, abs=1e-9)
    assert "run 0; run 1; run 2" in fitted.source


def test_one_list_needs_a_share_to_hold() -> None:
    """586 bytes of a list with 18 and 4 bytes of graphs at the held share: the base is 100."""
    seen = GraphMemoryObservation(GraphLists((1, 2), (1, 2, 4)), TINY, 586.0, "one run")
    with pytest.raises(SettingError, match="another list"):
        fit_graph_memory([seen], full_share=0.5, splits=0)
    fitted = fit_graph_memory([seen], full_share=0.5, splits=0, held=MODEL)
    assert (fitted.base_bytes, fitted.piece_bytes) == pytest.approx((100, 2))
    assert "by hand" in fitted.source
    # A single capture cannot be left out, so the held model's figure stands.
    wide = replace(MODEL, left_out_residual=0.3)
    own = fit_graph_memory([seen], full_share=0.5, splits=0, held=wide)
    assert (own.residual, own.left_out_residual) == (pytest.approx(0, abs=1e-12), 0.3)
    # 475 bytes leave 11 for graphs of 11 units: nothing is left for a base, a piece takes 1.
    less = fit_graph_memory(
        [replace(seen, taken_bytes=475.0)], full_share=0.5, splits=0, held=MODEL
    )
    assert (less.base_bytes, less.piece_bytes) == pytest.approx((0, 1))


def test_a_share_below_zero_is_zero() -> None:
    """A longer list that took less: the share is 0, the base lies between, the residual tells."""
    few, more = GraphLists((), (1,)), GraphLists((), (1, 2, 4))
    seen = [
        GraphMemoryObservation(few, TINY, 1000.0 + layer_tensor_bytes(TINY, 1), "few"),
        GraphMemoryObservation(more, TINY, 500.0 + layer_tensor_bytes(TINY, 4), "more"),
    ]
    fitted = fit_graph_memory(seen, full_share=0.5, splits=0)
    assert fitted.piece_bytes == 0
    assert 500 < fitted.base_bytes < 1000
    assert fitted.residual > 0.2


def test_what_no_graph_can_take_is_refused() -> None:
    """A negative difference of free memory, and a run without graphs."""
    with pytest.raises(SettingError, match="-190 MiB"):
        GraphMemoryObservation(GraphLists((1,)), TINY, -190 * 2**20, "a log")
    with pytest.raises(SettingError, match="no graph"):
        GraphMemoryObservation(GraphLists(), TINY, 1.0, "a log")
    with pytest.raises(SettingError, match="at least one"):
        fit_graph_memory([], full_share=0.5, splits=0)


def test_shipped_captures_are_the_logs() -> None:
    """Every distinct capture in the logs is in the file, with its lists, shape and figure."""
    shipped = {
        (each.shape.num_layers, each.lists, each.taken_bytes)
        for each in shipped_captures().observations
    }
    assert {(e.shape.num_layers, e.lists, e.taken_bytes) for e in OBSERVED} == shipped
    for each in shipped_captures().observations:
        own = LLAMA_8B if each.shape.num_layers == 32 else LLAMA_05B
        assert replace(each.shape, name="") == replace(own, name="")


@pytest.mark.parametrize("seen", OBSERVED, ids=list(RUNS))
def test_within_ten_percent_of_the_runs(seen: GraphMemoryObservation) -> None:
    """Graph memory of the runs, with the shipped model; its residual is no less."""
    model = shipped_graph_memory("vllm", "0.23.0")
    assert abs(_missed(model, seen)) <= model.residual + 1e-9
    assert model.residual < 0.05
    assert model.origin is Origin.FITTED


@pytest.mark.parametrize("seen", shipped_captures().observations, ids=lambda seen: seen.source)
def test_within_ten_percent_of_a_list_not_seen(seen: GraphMemoryObservation) -> None:
    """Fitted to all other lists of both shapes."""
    rest = [each for each in shipped_captures().observations if each is not seen]
    assert abs(_missed(_fit(rest), seen)) < 0.1


@pytest.mark.parametrize("seen", shipped_captures().observations, ids=lambda seen: seen.source)
def test_within_ten_percent_of_a_shape_not_seen(seen: GraphMemoryObservation) -> None:
    """Fitted to the 8B runs for 0.5B, and to the two 0.5B lists for 8B."""
    other = [each for each in shipped_captures().observations if each.shape != seen.shape]
    assert abs(_missed(_fit(other), seen)) < 0.1


def test_the_band_of_what_was_not_seen() -> None:
    """The largest miss of each list left out and of each shape left out, as fitted one by one."""
    seen = list(shipped_captures().observations)
    model = shipped_graph_memory("vllm", "0.23.0")
    lists = [_missed(_fit([o for o in seen if o is not each]), each) for each in seen]
    shapes = [_missed(_fit([o for o in seen if o.shape != each.shape]), each) for each in seen]
    worst = max(abs(missed) for missed in (*lists, *shapes))
    assert model.left_out_residual == pytest.approx(worst)
    new = model.predict(GraphLists((1,), (1,)), LLAMA_8B)
    assert new.residual == model.left_out_residual


def test_one_own_capture_tells_other_lists() -> None:
    """A base from one run of a shape and the shipped share: other lists of it within 10 %."""
    for seen in OBSERVED:
        model = fit_to_own_capture((seen,))
        for other in OBSERVED:
            if other.shape == seen.shape:
                assert abs(_missed(model, other)) < 0.1


def test_share_is_what_the_card_showed_graph_by_graph() -> None:
    """A piecewise graph took 42 MiB / (10 x 33) in the shipped profile: the fit agrees to 5 %."""
    model = shipped_graph_memory("vllm", "0.23.0")
    assert model.piece_bytes == pytest.approx(42 * 2**20 / (10 * 33), rel=0.05)


def test_other_releases_and_engines_are_assumed() -> None:
    """The figures stay, and the source names whose they are."""
    own = shipped_graph_memory("vllm", "0.23.1")
    assert own.origin is Origin.FITTED
    for engine, release in (("vllm", "0.29.0"), ("SGLang", None), ("trtllm", "main")):
        other = shipped_graph_memory(engine, release)
        assert other.origin is Origin.ASSUMED
        assert "vLLM 0.23.0 on NVIDIA H200" in other.source
        assert other.piece_bytes == own.piece_bytes
    with pytest.raises(SettingError, match="No engine"):
        shipped_graph_memory("another")


def test_lists_of_a_plan() -> None:
    """vLLM 0.23, 256 requests: 51 piecewise and 35 full, as its log shows; adapters double them."""
    settings = {"max_num_seqs": 256, "max_num_batched_tokens": 8192, "runner": "v2"}
    lists = lists_of_plan(ENGINES["vllm"].plan("0.23.0", settings))
    assert lists == GraphLists(DEFAULT[:35], DEFAULT)
    assert lists_of_plan(ENGINES["vllm"].plan("0.23.0", {"enforce_eager": True})) == GraphLists()
    both = (GraphList(Mode.FULL, (1, 2)),)
    counts = (GraphCount("full", 2, 2),)
    plan = Plan((1, 2), SizeUnit.TOKENS, both, both, counts=counts)
    assert lists_of_plan(plan) == GraphLists((1, 2), (), 2)


def test_lists_are_sizes() -> None:
    """Sorted, each once; 0 is no size."""
    assert GraphLists((4, 1, 4)).full == (1, 4)
    with pytest.raises(CaptureSizesError):
        GraphLists((0, 4))


@given(capture_sizes(600), capture_sizes(600), st.integers(1, 600), st.booleans())
def test_one_more_graph_never_takes_less(
    full: tuple[int, ...], piecewise: tuple[int, ...], size: int, to_full: bool
) -> None:
    """In either kind, for either shape."""
    model = shipped_graph_memory("vllm", "0.23.0")
    more = ((*full, size), piecewise) if to_full else (full, (*piecewise, size))
    for shape in (LLAMA_8B, LLAMA_05B):
        assert model.graph_bytes(*more, shape) >= model.graph_bytes(full, piecewise, shape)


@given(capture_sizes(600), st.integers(1, 8))
def test_more_cards_never_take_more_on_one(sizes: tuple[int, ...], tp: int) -> None:
    """Heads and FFN are shared out; the graphs themselves are as many on every card."""
    model = shipped_graph_memory("vllm", "0.23.0")
    one, shard = LLAMA_8B, replace(LLAMA_8B, tensor_parallel=tp)
    whole, part = (model.predict(GraphLists(sizes, sizes), s) for s in (one, shard))
    assert part.tensor_bytes <= whole.tensor_bytes
    assert part.piecewise_bytes == whole.piecewise_bytes


@given(capture_sizes(600), capture_sizes(600))
def test_policies_keep_their_order(full: tuple[int, ...], piecewise: tuple[int, ...]) -> None:
    """Sharing takes no more than not sharing, and the order no less than the best one."""
    model, lists = shipped_graph_memory("vllm", "0.23.0"), GraphLists(full, piecewise)
    best, smallest, private = (
        model.predict(lists, LLAMA_8B, policy).total_bytes
        for policy in (
            PoolPolicy.SHARED_LARGEST_FIRST,
            PoolPolicy.SHARED_SMALLEST_FIRST,
            PoolPolicy.PRIVATE,
        )
    )
    assert best <= smallest <= private


@given(capture_sizes(600), st.integers(0, 600), st.booleans())
def test_points_add_up_to_the_prediction(
    sizes: tuple[int, ...], largest_full: int, with_piecewise: bool
) -> None:
    """By size, as existing functions add up: the total where the widest full graph is captured."""
    if not with_piecewise:
        sizes = tuple(size for size in sizes if size <= largest_full) or (1,)
        largest_full = max(largest_full, 1)
    model = shipped_graph_memory("vllm", "0.23.0")
    points = model.points(LLAMA_8B, 600, largest_full=largest_full, piecewise=with_piecewise)
    total = graph_bytes(sizes, points, PoolPolicy.SHARED_LARGEST_FIRST)
    full = tuple(size for size in sizes if size <= largest_full)
    expected = model.graph_bytes(full, sizes if with_piecewise else (), LLAMA_8B)
    if largest_full in (0, *full) or sizes[-1] < largest_full:
        assert total == pytest.approx(expected)
    else:
        assert total >= expected * (1 - 1e-12)


@given(capture_sizes(600), st.integers(1, 600), st.booleans())
def test_points_of_private_pools_add_up_to_the_prediction(
    sizes: tuple[int, ...], largest_full: int, with_piecewise: bool
) -> None:
    """No tensor is shared, so that any list adds up exactly, both kinds of a size counted."""
    if not with_piecewise:
        sizes = tuple(size for size in sizes if size <= largest_full) or (1,)
    model, policy = shipped_graph_memory("vllm", "0.23.0"), PoolPolicy.PRIVATE
    points = model.points(
        LLAMA_8B, 600, largest_full=largest_full, piecewise=with_piecewise, policy=policy
    )
    full = tuple(size for size in sizes if size <= largest_full)
    pieces = sizes if with_piecewise else ()
    expected = model.graph_bytes(full, pieces, LLAMA_8B, policy=policy)
    assert graph_bytes(sizes, points, policy) == pytest.approx(expected)
    assert points.origin is not Origin.MEASURED


def test_points_refuse_no_size() -> None:
    with pytest.raises(SettingError, match="largest size is 0"):
        MODEL.points(TINY, 0, largest_full=0)
