"""`python -m core not-faster`: its JSON keys, its text, and one sentence on bad input."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.__main__ import main
from core.profiles import shipped_profiles
from core.records import to_json_dict
from tests.conftest import DATA

LOGS, RUNS, TRACES = (DATA / name for name in ("engine_logs", "engine_runs", "traces"))


def answer(capsys, *args: object) -> dict:
    assert main(["not-faster", *map(str, args), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_keys(capsys):
    """The overall sentence, four groups, and where the time goes, whose parts add up."""
    found = answer(capsys, "--batches", "1,1,2,5", "--sizes", "1,2,4", "--profile", "h200-llama-8b")
    assert set(found) == {"sentence", "helps", "groups", "split", "notes"}
    assert found["helps"] is True and len(found["groups"]) == 4
    keys = {"group", "verdict", "lost_us", "evidence", "todo", "missing"}
    assert all(set(group) == keys for group in found["groups"])
    split = found["split"]
    parts = ("kernels", "padding", "pieces", "copy", "outside", "fallback")
    assert sum(split[f"{name}_us"] for name in parts) == pytest.approx(split["taken_us"])
    assert split["gain_us"] == pytest.approx(split["eager_us"] - split["taken_us"])
    assert split["fallback_us"] > 1_000  # one step in four, of 5, is above the largest graph


def test_a_log_a_run_and_a_profile(capsys):
    """Files of three kinds are told apart by content; a profile's context can be chosen."""
    files = (LOGS / "vllm-0.23-h200-pow2.log", RUNS / "vllm-0.23-h200-pow2.json.gz")
    profile = "h200-llama-8b"
    short = answer(capsys, *files, "--profile", profile)
    assert short["split"]["outside_us"] > 0 and short["helps"]
    long = answer(capsys, *files, "--profile", profile, "--context-tokens", "1500")
    assert long["split"]["kernels_us"] > short["split"]["kernels_us"]


def test_counted_steps_win_over_sampled_ones(capsys):
    """The run counts 3,054 steps; the log beside it only samples some every ten seconds."""
    files = (LOGS / "vllm-0.23-h200-pow2.log", RUNS / "vllm-0.23-h200-pow2.json.gz")
    for order in (files, files[::-1]):
        assert "ll of the 3,054 steps" in json.dumps(answer(capsys, *order))


def test_a_profile_as_a_file(capsys, tmp_path):
    """A profile needs no name; its relatives among the shipped ones come along."""
    profile = shipped_profiles()["h200-llama-8b-piecewise"]
    path = tmp_path / "own.json"
    path.write_text(json.dumps(to_json_dict(replace(profile, measured_at="2026-12-01T00:00:00Z"))))
    found = answer(capsys, path)
    assert found["split"]["pieces_us"] > 100 and "counts once" in found["notes"][0]


def test_a_trace_is_simulated(capsys):
    """Requests become steps in a simulated engine of the given limits."""
    found = answer(
        capsys, TRACES / "azure_conv.csv", "--sizes", "1,2", "--profile", "assumed",
        "--max-num-seqs", "16",
    )  # fmt: skip
    assert found["split"]["origin"] == "assumed" and found["split"]["fallback_us"] > 0
    assert any("estimated" in note for note in found["notes"])


def test_a_fitted_model(capsys, tmp_path):
    """A model fitted to two runs prices the steps; one that saw graphs alone cannot tell."""
    run, eager = (RUNS / f"vllm-0.23-h200-{name}.json.gz" for name in ("default", "eager"))
    both, alone = tmp_path / "both.json", tmp_path / "alone.json"
    assert main(["calibrate", str(run), "--eager", str(eager), "--out", str(both)]) == 0
    assert main(["calibrate", str(run), "--out", str(alone)]) == 0
    capsys.readouterr()
    assert answer(capsys, run, "--profile", both)["helps"] is True
    assert answer(capsys, run, "--profile", alone)["helps"] is None


def test_words_for_people(capsys):
    """The sentence first, then the groups with evidence and what to do."""
    assert main(["not-faster", str(LOGS / "vllm-0.23-h200-eager.log")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "No step replays a graph (enforce_eager=True), so nothing could get faster."
    )
    assert lines[1] == "1. did the graphs replay: this is it"
    assert any(line.startswith("   to do: Leave out --enforce-eager") for line in lines)
    assert any(line.startswith("   to tell more, give step times") for line in lines)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nonesuch.log"], "No such file"),
        ([str(DATA / "traces" / "README.md")], "text of no kind we read"),
        (["--context-tokens", "9"], "needs step times that were measured"),
        (["--batches", "1", "--sizes", "0"], "Capture size 0"),
        (["--profile", "nonesuch"], "no known profile"),
    ],
)
def test_bad_input_is_one_sentence(capsys, args, says):
    """Exit 2, one line, no traceback."""
    assert main(["not-faster", *args]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


def test_a_damaged_profile_is_named(capsys, tmp_path):
    """JSON that looks like a profile and is none."""
    path = tmp_path / "bad.json"
    path.write_text('{"spec": {}, "rows": [')
    assert main(["not-faster", str(path)]) == 2
    assert "bad.json is no JSON" in capsys.readouterr().err
    path.write_text('{"format": 99, "spec": {}, "rows": []}')
    assert main(["not-faster", str(path)]) == 2
    assert "format is 99" in capsys.readouterr().err
