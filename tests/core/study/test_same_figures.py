"""`tune` and `advise` give the same figures, to the digit, for the same traffic and prices."""

from __future__ import annotations

import json

import pytest

from core.__main__ import main
from tests.core.study.helpers import poisson


@pytest.fixture
def ask(capsys):
    def answer(*argv: str):
        assert main([*argv, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return answer


@pytest.fixture
def trace_file(tmp_path):
    trace = poisson(150, 25.0, seed=3)
    rows = zip(trace.arrival_s, trace.prompt_tokens, trace.output_tokens, strict=True)
    file = tmp_path / "trace.csv"
    lines = [f"{arrival:.6f},{prompt},{output}" for arrival, prompt, output in rows]
    file.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *lines]))
    return str(file)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_tune_and_advise_agree(ask, trace_file, engine):
    """The study that `tune` shows is the answer of `advise --judge` with the list it chose."""
    limits = ("--kv-tokens", "300000", "--max-num-seqs", "64", "--max-num-batched-tokens", "4096")
    profile = ("--profile", "h200-llama-8b")
    tuned = ask("tune", trace_file, "--engine", engine, "--max-graphs", "6", *limits, *profile)
    sizes = ",".join(map(str, tuned["sizes"]))
    advised = ask("advise", trace_file, "--engine", engine, *limits, *profile, "--judge", sizes)
    told = {"rests_on"}  # `advise` says where traffic and limits come from, too
    for key in advised.keys() - told:
        assert tuned["study"][key] == advised[key], key
    assert tuned["study"]["rests_on"] == advised["rests_on"][2:]
    assert tuned["advice"][-1] == advised["sentence"]


def test_simulate_gives_the_studys_figures(ask, trace_file):
    """With a list that vLLM replays in full `simulate` has the TPOT that the study has."""
    sizes = [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64]
    argv = (trace_file, "--kv-tokens", "300000", "--max-num-seqs", "64")
    argv = (*argv, "--max-num-batched-tokens", "4096", "--profile", "h200-llama-8b")
    listed = ",".join(map(str, sizes))
    run = ask("simulate", *argv, "--sizes", listed)
    advised = ask("advise", *argv, "--engine", "vllm", "--version", "0.23.0", "--judge", listed)
    mine = next(item for item in advised["scenarios"] if item["name"] == "x1")["list"]
    assert mine["tpot_p50_ms"] == run["tpot_ms"]["p50"]
    assert mine["ttft_p50_ms"] == run["ttft_ms"]["p50"]
    assert mine["makespan_s"] == run["makespan_s"]


def test_lengths_get_a_rate_or_a_refusal(ask, tmp_path, capsys):
    """Lengths alone are refused with the way out; with --rate the arrivals are called assumed."""
    file = tmp_path / "lengths.csv"
    file.write_text("prompt_tokens,output_tokens\n" + "100,20\n" * 60)
    assert main(["advise", str(file), "--engine", "trtllm"]) == 2
    assert "--rate" in capsys.readouterr().err
    found = ask("advise", str(file), "--engine", "trtllm", "--rate", "5")
    arrivals = next(item for item in found["rests_on"] if item["what"] == "arrivals")
    assert arrivals["origin"] == "assumed"
    assert max(found["sizes"]) <= 2048


def test_prompt_lengths_are_refused_as_decode_sizes(tmp_path, capsys):
    """A histogram of prompt lengths names no decode size, whatever the engine."""
    file = tmp_path / "prompts.csv"
    file.write_text("length,count\n212,5\n14050,1\n")
    assert main(["advise", str(file), "--engine", "trtllm"]) == 2
    said = capsys.readouterr().err
    assert "no decode size follows" in said and "--concurrency" in said
