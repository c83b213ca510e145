"""vLLM's rules against what the engine's own code answered, and what must hold beyond it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines._vllm_releases import EVIDENCE, VERSIONS, Evidence
from core.engines.dispatch import dispatch
from core.engines.plan import Mode, Plan, StepKind
from core.errors import SettingError
from tests.core.engines.vllm_exceptions import reason
from tests.core.engines.vllm_oracle import Row, differences, releases, rows

VLLM = ENGINES["vllm"]
SAMPLE = 20


def unexplained(release: str, sample: list[Row]) -> list[str]:
    """Rows that differ without a reason, as text to read in a failure."""
    found = []
    for row in sample:
        parts = differences(release, row)
        if parts and not reason(release, row):
            found.append(f"{row['settings']}: {parts}")
    return found


@pytest.mark.parametrize("release", releases())
def test_a_sample_of_the_answers(release: str) -> None:
    """Rows spread over the file agree in every part, or stand in the list of exceptions."""
    all_rows = rows(release)
    assert unexplained(release, all_rows[:: len(all_rows) // SAMPLE]) == []


@pytest.mark.slow
@pytest.mark.parametrize("release", releases())
def test_every_answer(release: str) -> None:
    """All rows agree, or stand in the list of exceptions."""
    assert unexplained(release, rows(release)) == []


def test_exceptions_are_used() -> None:
    """Each kind of exception still differs somewhere, and none is newer than 0.20."""
    for release in ("0.8.5", "0.19.1"):
        excepted = [row for row in rows(release) if reason(release, row)]
        assert any(differences(release, row) for row in excepted)
    newer = [name for name in VERSIONS if tuple(map(int, name.split("."))) >= (0, 20)]
    settings = {"model_kind": "pooling", "mamba_cache_blocks": 4}
    assert not any(reason(name, {"settings": settings}) for name in newer)


def test_a_wrong_answer_is_found() -> None:
    """The comparison sees one size too many, another slot, another mode and a refusal."""
    row = next(row for row in rows("0.33.0") if not row["answer"].get("refuses"))
    answer = row["answer"]
    assert differences("0.33.0", row) == ()
    changed = [
        ("sizes", {"sizes2": [*answer["sizes2"], 4096]}),
        ("decode", {"decode": [[1, "full", 4096]]}),
        ("mode", {"mode": "NONE"}),
        ("counts", {"count": {"full": 1}}),
        ("limits", {"seqs": answer["seqs"] + 1}),
    ]
    for part, other in changed:
        found = differences("0.33.0", {**row, "answer": {**answer, **other}})
        assert part in {difference.part for difference in found}
    assert differences("0.33.0", {**row, "answer": {"refuses": True}})[0].part == "refusal"


def test_every_release_has_evidence() -> None:
    """Each known release says where it was read, and has answers; a bare version is refused."""
    assert [row.release for row in EVIDENCE] == list(VERSIONS)
    assert set(releases()) == set(VERSIONS)
    with pytest.raises(ValueError, match="without where its rule was read"):
        Evidence("9.9.9")
    with pytest.raises(ValueError, match="9.9.9"):
        Evidence("9.9.9", read=" ")


SETTINGS = st.fixed_dictionaries(
    {
        "max_num_seqs": st.integers(1, 700),
        "max_num_batched_tokens": st.integers(700, 9000),
        "num_speculative_tokens": st.integers(0, 9),
    },
    optional={
        "cudagraph_mode": st.sampled_from(["PIECEWISE", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"]),
        "max_cudagraph_capture_size": st.integers(1, 1500),
        "gpt_oss": st.booleans(),
        "compute_capability": st.sampled_from([8.0, 9.0, 10.0]),
    },
)
RELEASES = st.sampled_from(VERSIONS)


def planned(release: str, settings: dict[str, Any]) -> Plan | None:
    """The plan, None where the release refuses the settings."""
    try:
        return VLLM.plan(release, settings)
    except SettingError:
        return None


@given(RELEASES, SETTINGS)
def test_limits_are_respected(release: str, settings: dict[str, Any]) -> None:
    """No size is above max_num_batched_tokens, nor above a maximum that was given (4 at least up
    to 0.11.0), no full decode graph of its own above the widest decode step."""
    plan = planned(release, settings)
    if plan is None or not plan.sizes or plan.full_load is None:
        return
    assert plan.sizes[-1] <= settings["max_num_batched_tokens"]
    limit = settings.get("max_cudagraph_capture_size")
    if limit is not None and not settings.get("gpt_oss") and release != "0.8.5":
        assert plan.sizes[-1] <= max(limit, 4)
    for graphs in plan.decode:
        if graphs.mode is Mode.FULL:
            assert graphs.sizes == () or graphs.sizes[-1] <= plan.full_load


@given(RELEASES, SETTINGS)
def test_full_decode_graphs_hold_whole_requests(release: str, settings: dict[str, Any]) -> None:
    """From 0.11.1 on full decode graphs are multiples of 1 + drafts (0.11.1 and 0.11.2 keep the
    list where no multiple fits)."""
    plan = planned(release, settings)
    if plan is None or release in ("0.8.5", "0.9.2", "0.10.0", "0.10.2", "0.11.0"):
        return
    for graphs in plan.decode:
        if graphs.mode is Mode.FULL and plan.sizes[0] >= plan.tokens_per_request:
            assert all(n % plan.tokens_per_request == 0 for n in graphs.sizes)


@given(RELEASES, SETTINGS)
def test_a_graph_holds_its_step(release: str, settings: dict[str, Any]) -> None:
    """A step replays a captured size that is not smaller, and a larger step never a smaller one of
    the same mode."""
    plan = planned(release, settings)
    if plan is None or plan.full_load is None:
        return
    width = plan.tokens_per_request
    for kind, step in ((StepKind.DECODE, width), (StepKind.PREFILL, 1)):
        sizes = np.arange(step, plan.full_load + 1, step)
        found = dispatch(plan, sizes, kind)
        assert np.all(found.padded[found.on_graph] >= sizes[found.on_graph])
        captured = {n for graphs in plan.lists(kind) for n in graphs.sizes}
        assert set(found.padded[found.on_graph].tolist()) <= captured
        for mode in (Mode.FULL, Mode.PIECEWISE):
            assert np.all(np.diff(found.padded[found.modes == mode.value]) >= 0)


@given(RELEASES, st.integers(1, 600), st.integers(1, 99))
def test_more_requests_never_lower_the_largest_size(release: str, seqs: int, more: int) -> None:
    """Without a list the largest size grows with max_num_seqs."""
    fewer = VLLM.plan(release, {"max_num_seqs": seqs, "max_num_batched_tokens": 8192})
    larger = VLLM.plan(release, {"max_num_seqs": seqs + more, "max_num_batched_tokens": 8192})
    assert fewer.sizes[-1] <= larger.sizes[-1]


@given(st.sampled_from(["0.25.1", "0.26.0", "0.27.1", "0.28.0"]), st.integers(1, 99))
def test_only_the_next_size_is_tried(release: str, requests: int) -> None:
    """0.25 to 0.28, second runner: the next of all captured sizes decides, whatever its mode."""
    settings = {"max_num_seqs": 128, "num_speculative_tokens": 4, "runner": "v2"}
    plan = VLLM.plan(release, settings)
    every = sorted({n for graphs in plan.decode for n in graphs.sizes})
    expected = next((n for n in every if n >= 5 * requests), -1)
    assert dispatch(plan, [5 * requests]).padded[0] == expected


def test_three_requests_of_five_tokens() -> None:
    """15 tokens: 16 piecewise to 0.28, where 16 is the next size; 20 full from 0.29 on."""
    settings = {"max_num_seqs": 24, "num_speculative_tokens": 4, "runner": "v2"}
    old = dispatch(VLLM.plan("0.28.0", settings), [15])
    assert (old.modes[0], old.padded[0]) == ("piecewise", 16)
    sizes = [1, 2, 4, 8, 16, 24]
    new = dispatch(VLLM.plan("0.29.0", settings, sizes), [15])
    assert (new.modes[0], new.padded[0]) == ("full", 20)


@pytest.mark.parametrize(
    ("release", "settings", "words"),
    [
        ("0.33.0", {"max_num_seqs": 1024, "max_num_batched_tokens": 512}, "below max_num_seqs"),
        (
            "0.33.0",
            {
                "max_num_seqs": 257,
                "max_num_batched_tokens": 2048,
                "num_speculative_tokens": 7,
                "enable_lora": True,
            },
            "--max-num-batched-tokens 2056",
        ),
        ("0.33.0", {"cudagraph_mode": "FULL", "attention_support": "never"}, "captures nothing"),
        (
            "0.12.0",
            {"max_num_seqs": 4, "num_speculative_tokens": 8},
            "multiples of 9 tokens and the largest is 8",
        ),
        (
            "0.31.0",
            {"enable_sp": True, "tensor_parallel_size": 2, "runner": "v2"},
            "leave out enable_sp",
        ),
        (
            "0.13.0",
            {"cudagraph_mode": "FULL", "num_speculative_tokens": 2, "max_num_seqs": 8},
            "no multiple of 3",
        ),
    ],
)
def test_refusals(release: str, settings: dict[str, object], words: str) -> None:
    """What keeps the engine from starting, with the way out."""
    with pytest.raises(SettingError, match=words):
        VLLM.plan(release, settings)


def test_sequence_parallelism_by_card_and_model() -> None:
    """0.31 on a 9.0 card: one full graph for all steps, multiples of the cards; off for narrow
    models and other cards; without effect from 0.32 on."""
    settings = {"enable_sp": True, "tensor_parallel_size": 4, "max_num_seqs": 8}
    plan = VLLM.plan("0.31.0", settings)
    assert plan.sizes == (4, 8, 16)
    assert [graphs.mode for graphs in plan.prefill] == [Mode.FULL]
    for other in ({"hidden_size": 4096}, {"gpt_oss": True}, {"compute_capability": 8.9}):
        assert VLLM.plan("0.31.0", {**settings, **other}).sizes[0] == 1
    assert VLLM.plan("0.32.0", settings).sizes == (1, 2, 4, 8, 16)
