"""KV tokens beside graphs, engine by engine: by hand, against logs, and what must always hold."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines.graphs_take import GraphsTake
from core.errors import SettingError
from core.graph_memory import KvBudget, budget_of_plan, graphs_effect, kv_tokens
from core.memory_plan import MemoryPlan
from core.records import Origin
from tests.conftest import DATA

GIB = 2**30
BYTES_8B = 2 * 32 * 8 * 128 * 2
BYTES_05B = 2 * 24 * 2 * 64 * 2
HUNDRED = KvBudget(100 * GIB, 20 * GIB, BYTES_8B)
"""100 GiB hold 51,200 blocks of 16 tokens of 128 KiB."""
V2 = {"runner": "v2"}


def _printed(run: str) -> tuple[float, int]:
    """The KV cache's GiB and tokens in a log."""
    text = (DATA / "graph_memory" / f"{run}.log").read_text("utf-8")
    gib = re.search(r"Available KV cache memory: ([\d.]+) GiB", text)
    tokens = re.search(r"GPU KV cache size: ([\d,]+) tokens", text)
    assert gib and tokens
    return float(gib[1]), int(tokens[1].replace(",", ""))


@pytest.mark.parametrize("log", sorted(path.stem for path in (DATA / "graph_memory").glob("*.log")))
def test_tokens_are_the_logs(log: str) -> None:
    """vLLM 0.23 takes the whole printed memory, whatever the graphs: within its rounding."""
    gib, tokens = _printed(log)
    per_token = BYTES_8B if log.startswith("8b") else BYTES_05B
    budget = KvBudget(gib * GIB, None, per_token)
    found = kv_tokens("vllm", "0.23.0", budget, 0.59 * GIB, settings=V2)
    assert abs(found.tokens - tokens) <= 0.005 * GIB / per_token + 16
    assert found.lost_tokens == 0
    assert found.origin is Origin.MEASURED
    assert found.fits is None


def test_every_8b_run_has_the_same_tokens() -> None:
    """840,000 with 51, 12, 9 and 6 sizes; 841,872 with 51 and with 16 where kernels were cached."""
    runs = {path.stem: _printed(path.stem)[1] for path in (DATA / "graph_memory").glob("8b-*.log")}
    cached = {"8b-defaultb", "8b-robust16"}
    assert {runs[run] for run in cached} == {841_872}
    assert {tokens for run, tokens in runs.items() if run not in cached} == {840_000}


def test_slack_by_hand() -> None:
    """Nothing is lost; 20 GiB of slack less half a GiB of graphs."""
    found = kv_tokens("vllm", "0.23.0", HUNDRED, 0.5 * GIB, settings=V2)
    assert (found.blocks, found.tokens, found.lost_tokens) == (51_200, 819_200, 0)
    assert found.take is GraphsTake.SLACK
    assert found.slack_left_bytes == 19.5 * GIB
    assert found.fits


def test_start_up_where_the_slack_is_too_small() -> None:
    """0.25 GiB of slack, 0.5 of graphs: the KV cache is as large, and the capture fails."""
    tight = replace(HUNDRED, slack_bytes=0.25 * GIB)
    found = kv_tokens("vllm", "0.23.0", tight, 0.5 * GIB, settings=V2)
    assert found.take is GraphsTake.START_UP
    assert found.tokens == 819_200
    assert not found.fits
    assert "512 MiB, 256 more than are left" in found.sentence


def test_estimate_by_hand() -> None:
    """0.75 GiB booked, 0.5 taken: (100 - 0.75) x 512 blocks; the slack is not touched."""
    found = kv_tokens("vllm", "0.33.0", HUNDRED, 0.5 * GIB, booked_bytes=0.75 * GIB)
    assert (found.blocks, found.lost_tokens) == (50_816, 384 * 16)
    assert found.take is GraphsTake.KV_TOKENS
    assert found.slack_left_bytes == 20 * GIB
    assert "not known here" not in found.sentence
    # Without the engine's estimate, the graphs are taken to be estimated right.
    guessed = kv_tokens("vllm", "0.33.0", HUNDRED, 0.5 * GIB)
    assert guessed.blocks == 50_944
    assert "not known here" in guessed.sentence


def test_an_estimate_too_small_takes_slack() -> None:
    """0.25 GiB booked, 0.5 taken: a quarter comes out of 0.125 GiB of slack: too little."""
    tight = replace(HUNDRED, slack_bytes=0.125 * GIB)
    found = kv_tokens("vllm", "0.33.0", tight, 0.5 * GIB, booked_bytes=0.25 * GIB)
    assert found.slack_left_bytes == -0.125 * GIB
    assert found.take is GraphsTake.START_UP


def test_trtllm_loses_nine_tenths() -> None:
    """0.9 of 1 GiB: 460.8 blocks, so 51,200 - 460.8 = 50,739 whole blocks are left."""
    found = kv_tokens("trtllm", "1.2.1", HUNDRED, 1.0 * GIB)
    assert (found.blocks, found.tokens) == (50_739, 811_824)
    assert found.lost_tokens == 819_200 - 811_824


def test_by_hand_the_list_changes_nothing() -> None:
    """KV bytes set by the user: graphs fit or it does not start, even where it estimates."""
    budget = replace(HUNDRED, by_hand=True)
    found = kv_tokens("vllm", "0.33.0", budget, 0.5 * GIB)
    assert (found.lost_tokens, found.take) == (0, GraphsTake.START_UP)
    assert found.slack_left_bytes == 19.5 * GIB
    assert found.fits


@pytest.mark.parametrize(
    ("engine", "release", "settings", "take", "origin"),
    [
        ("vllm", "0.17.1", {}, GraphsTake.SLACK, Origin.ESTIMATED),
        ("vllm", "0.19.1", {}, GraphsTake.SLACK, Origin.ESTIMATED),
        ("vllm", "0.20.2", {}, GraphsTake.SLACK, Origin.ASSUMED),
        ("vllm", "0.21.0", {}, GraphsTake.KV_TOKENS, Origin.ASSUMED),
        ("vllm", "0.22.1", {}, GraphsTake.KV_TOKENS, Origin.ASSUMED),
        ("vllm", "0.23.0", V2, GraphsTake.SLACK, Origin.MEASURED),
        ("vllm", "0.23.0", {"runner": "v1"}, GraphsTake.KV_TOKENS, Origin.ESTIMATED),
        ("vllm", "0.23.0", {}, GraphsTake.SLACK, Origin.ASSUMED),
        ("vllm", "0.26.0", V2, GraphsTake.SLACK, Origin.ESTIMATED),
        ("vllm", "0.28.0", V2, GraphsTake.SLACK, Origin.ASSUMED),
        ("vllm", "0.29.0", {}, GraphsTake.KV_TOKENS, Origin.ESTIMATED),
        ("sglang", "0.5.23", {}, GraphsTake.KV_TOKENS, Origin.ESTIMATED),
        ("sglang", "0.5.23", {"mla": True}, GraphsTake.RESERVE, Origin.ESTIMATED),
        ("sglang", "0.5.8", {}, GraphsTake.RESERVE, Origin.ASSUMED),
        ("trtllm", "main", {}, GraphsTake.KV_TOKENS, Origin.ESTIMATED),
        ("tgi", None, {}, GraphsTake.SLACK, Origin.ESTIMATED),
        ("gaudi", None, {}, GraphsTake.RESERVE, Origin.ESTIMATED),
        ("lmdeploy", None, {}, GraphsTake.SLACK, Origin.ESTIMATED),
        ("mini-sglang", None, {}, GraphsTake.SLACK, Origin.ESTIMATED),
        ("nano-vllm", None, {}, GraphsTake.SLACK, Origin.ESTIMATED),
        ("ascend", None, {}, GraphsTake.SLACK, Origin.ASSUMED),
        ("fastdeploy", None, {}, GraphsTake.SLACK, Origin.ASSUMED),
    ],
)
def test_what_graphs_take(
    engine: str,
    release: str | None,
    settings: dict[str, object],
    take: GraphsTake,
    origin: Origin,
) -> None:
    """vLLM: no estimate to 0.20; the first runner's from 0.21, the second's from 0.29."""
    effect = graphs_effect(engine, release, settings)
    assert (effect.take, effect.origin) == (take, origin)
    assert effect.sentence.endswith(".")
    assert (effect.kv_per_graph_byte > 0) == (take is GraphsTake.KV_TOKENS)


def test_a_borrowed_rule_says_so() -> None:
    """A release between two that were read."""
    assert "0.28.0 was not read" in graphs_effect("vllm", "0.28.0", V2).sentence


def test_budget_of_a_share() -> None:
    """Card 140, share 0.85: 119 - 15 - 1.5 for the KV cache, 21 GiB of slack."""
    plan = MemoryPlan(140 * GIB, 0.85, 15 * GIB, 1 * GIB, 0.5 * GIB, 3 * GIB)
    budget = budget_of_plan(plan, BYTES_8B)
    assert budget.kv_bytes == pytest.approx(102.5 * GIB)
    assert budget.slack_bytes == pytest.approx(21 * GIB)


@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_bytes_below_zero_are_refused(value: float) -> None:
    with pytest.raises(SettingError, match="0 or more"):
        kv_tokens("vllm", None, HUNDRED, value)
    with pytest.raises(SettingError, match="0 or more"):
        KvBudget(value, None, BYTES_8B)


@given(
    st.sampled_from(sorted(ENGINES)),
    st.floats(0, 200 * GIB),
    st.floats(0, 20 * GIB),
    st.floats(0, 20 * GIB),
    st.booleans(),
)
def test_capacity_never_grows_with_graphs(
    engine: str, kv_bytes: float, fewer: float, further: float, by_hand: bool
) -> None:
    """More graph memory: no more tokens, no more slack, and where it fitted not before, not now."""
    budget = KvBudget(kv_bytes, 10 * GIB, BYTES_8B, by_hand=by_hand)
    small = kv_tokens(engine, None, budget, fewer)
    large = kv_tokens(engine, None, budget, fewer + further)
    assert large.tokens <= small.tokens
    assert small.slack_left_bytes is not None and large.slack_left_bytes is not None
    assert large.slack_left_bytes <= small.slack_left_bytes + 1e-3
    assert small.fits or not large.fits
    assert small.tokens == small.blocks * 16
    assert small.lost_tokens >= 0
