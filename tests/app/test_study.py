"""The pages' study is the command's: same inputs, same figures to the last digit."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from app import compute, state
from app.inputs.study_choice import chosen_study
from app.study import StudyChoice, advice_for
from core.commands import advise
from core.errors import HistogramError, SettingError
from core.example.trace import example_trace
from core.readers import read
from core.records import PoolPolicy, Trace
from core.simulate import Machine, simulate
from core.step_cost import assumed_step_cost
from core.study.advice import advice_json

KV = 60_000
WORDS = ("rests_on", "settle")
"""Where an input comes from is said in the words of a page or of a command."""


def written(folder: Path, trace: Trace) -> Path:
    """The trace as the CSV that both read."""
    path = folder / "requests.csv"
    assert trace.arrival_s is not None
    columns = zip(
        *(trace.arrival_s.tolist(), trace.prompt_tokens, trace.output_tokens), strict=True
    )
    rows = [f"{at!r},{prompt},{output}" for at, prompt, output in columns]
    path.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]))
    return path


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    return written(tmp_path, example_trace(3, 60))


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """The compiled loop once, so that some thousand runs take it."""
    simulate(example_trace(0, 2), Machine(1000), assumed_step_cost(), (1,), compiled=True)


@pytest.fixture
def batches(tmp_path: Path) -> Path:
    path = tmp_path / "batches.csv"
    path.write_text("batch,count\n3,50\n9,40\n33,20\n300,10\n")
    return path


def by_page(path: Path, **values: Any) -> StudyChoice:
    """What a browser with this upload and these settings studies."""
    workload = state.Workload(path.name, "digest", read(path))
    session = state.Session(workload=workload, values={"kv_tokens": KV, **values})
    with state.as_if(session):
        return chosen_study(workload)


def by_command(path: Path, *words: str) -> dict[str, Any]:
    """What `python -m core advise` answers."""
    parser = argparse.ArgumentParser()
    advise.add_arguments(parser)
    return advise.run(parser.parse_args([str(path), "--kv-tokens", str(KV), *words]))


def figures(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key not in WORDS}


VLLM = ("--engine", "vllm", "--set", "max_num_seqs=256", "max_num_batched_tokens=8192")
SHIPPED = sorted(compute.profiles_that_ship())[0]
CASES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "as assumed": ({}, VLLM),
    "private pools": ({"policy": PoolPolicy.PRIVATE}, (*VLLM, "--pool", "private")),
    "a profile": ({"cost_name": f"Shipped: {SHIPPED}"}, (*VLLM, "--profile", SHIPPED)),
    "drafts": (
        {"draft_tokens": 2, "acceptance": 0.0},
        (*VLLM, "num_speculative_tokens=2"),
    ),
    "a full engine": (
        {"max_num_seqs": 8},
        (*VLLM[:3], "max_num_seqs=8", "max_num_batched_tokens=8192"),
    ),
    "another engine": (
        {"engine": "sglang"},
        *(("--engine", "sglang", "--set", "max_running_requests=256",
           "--max-num-batched-tokens", "8192"),),
    ),
    "a closed loop": ({"arrive": "closed", "concurrency": 24}, (*VLLM, "--concurrency", "24")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_page_and_command_agree_on_requests(requests: Path, name: str):
    """Verdict, sizes, every scenario's latencies, memory, KV tokens, start-up and text to paste."""
    values, words = CASES[name]
    page = advice_json(advice_for(by_page(requests, **values)))
    command = by_command(requests, *words)
    assert figures(page) == figures(command)
    assert len(page["scenarios"]) == 7 and page["scenarios"][0]["today"]["tpot_p50_ms"] > 0


def test_page_and_command_agree_on_a_histogram(batches: Path):
    """Sizes scaled by the load; steps of 300 are cut at max_num_seqs, 256."""
    page = advice_json(advice_for(by_page(batches)))
    assert figures(page) == figures(by_command(batches, *VLLM))
    assert [item["how"] for item in page["scenarios"]].count("sizes scaled") == 4


def test_the_memory_pages_kv_cache_is_the_one_before_graphs(requests: Path):
    """Without a typed size: today's list leaves exactly what the whole cache less its graphs is."""
    choice = by_page(requests, kv_tokens=None)
    advice = advice_for(choice)
    assert choice.before_graphs and advice.study.machine.kv_tokens == choice.machine.kv_tokens
    ground = next(item for item in advice.rests_on if item.what == "KV tokens")
    assert "before graphs" in ground.source


def test_lengths_ask_for_a_rate_or_a_concurrency(tmp_path: Path):
    """Requests without arrivals and a histogram of prompt lengths give no decode size."""
    lengths = tmp_path / "lengths.csv"
    lengths.write_text("prompt_tokens,output_tokens\n" + "100,20\n300,40\n" * 30)
    with pytest.raises(SettingError, match=r"request rate .* or a concurrency"):
        by_page(lengths)
    assert by_page(lengths, rate_rps=2.0).concurrency is None
    prompts = tmp_path / "prompts.csv"
    prompts.write_text("prompt_tokens,count\n212,5\n14050,1\n")
    with pytest.raises(HistogramError, match=r"type a request rate .* or a concurrency"):
        by_page(prompts)


def test_requests_that_never_decode_change_nothing(tmp_path: Path):
    """One output token comes out of the prompt's own step: no list gains or loses."""
    trace = tmp_path / "single.csv"
    rows = "".join(f"{i},64,1\n" for i in range(50))
    trace.write_text(f"arrival_s,prompt_tokens,output_tokens\n{rows}")
    found = advice_json(advice_for(by_page(trace)))
    assert found["verdict"] in ("keep", "drop") and found["best_gain_pct"] == 0.0
    assert all(item["worst_loss_pct"] == 0.0 for item in found["frontier"])
