"""Requests replayed on an engine in a process of its own, and the file that comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.calibration.recording import load_engine_run, load_engine_runs
from core.errors import JobError, ProjectError
from core.readers import read
from core.readers.options import ReadOptions
from gpu_worker.driven.replay_spec import ReplaySpec, replay_spec
from gpu_worker.driven.replays import replay_list
from gpu_worker.replay import main, replay_all
from tests.gpu_worker.conftest import alive
from tests.gpu_worker.driven_engine import ENGINE, MODEL, STAND_IN, environment

pytestmark = pytest.mark.slow  # each starts processes of its own

REQUESTS = [[0, 30, 10], [0.01, 20, 20], [0.02, 40, 5], [0.05, 10, 30], [0.06, 10, 1]]
BASE: dict[str, Any] = {
    "requests": REQUESTS,
    "decode_sizes": [2, 32],
    "decode_context": 40,
    "samples": 6,
    "repeats": 1,
    "model": MODEL,
    "engine": ENGINE,
}


def spec_of(**changes: Any) -> ReplaySpec:
    return replay_spec({**BASE, **changes}, Path("."))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is the engine beside the worker."""
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    monkeypatch.delenv("STAND_IN_VLLM", raising=False)


def test_runs_of_two_lists_and_loads(
    installed: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One start a list; every request of every load is served to its last token, arrivals are
    divided by the load, and readers take the file."""
    (tmp_path / "requests.csv").write_text(
        "arrival_s,prompt_tokens,output_tokens\n"
        + "\n".join(",".join(map(str, row)) for row in REQUESTS)
    )
    changes = {"lists": {"today": "default", "none": "eager"}, "loads": [1, 2], "repeats": 2}
    spec, out = tmp_path / "spec.json", tmp_path / "run.json.gz"
    spec.write_text(json.dumps({**BASE, **changes, "requests": "requests.csv"}))
    assert main(["--spec", str(spec), "--out", str(out)]) == 0

    runs = load_engine_runs(out)
    names = [f"{n}, load {x}, run {r}" for n in ("today", "none") for r in (1, 2) for x in (1, 2)]
    assert [run.name for run in runs] == names
    for run, load in zip(runs, [1, 2] * 4, strict=True):
        assert run.trace.arrival_s is not None
        want = [row[0] / load for row in REQUESTS]
        assert run.trace.arrival_s.tolist() == pytest.approx(want)
        assert run.trace.output_tokens.tolist() == [row[2] for row in REQUESTS]
        assert (run.first_token_s > run.trace.arrival_s).all()
        assert run.kv_tokens == 6400
    assert runs[0].capture_sizes == (1, 2, 4, 8) and runs[-1].capture_sizes == ()
    # 1000 us + 2 tokens * 2 us with a graph, 3000 us without; 32 never run together.
    assert runs[0].decode_step_us == {2: pytest.approx(1004)}
    assert runs[-1].decode_step_us == {2: pytest.approx(3004)}

    said = capsys.readouterr().out
    assert "load 1: repeats differ by" in said and "none beside today" in said
    reading = read(out)
    assert reading.format == "engine-run" and reading.kept == 5
    assert any("Of 8 recorded runs the first is read" in text for text in reading.warnings)
    part = read(out, options=ReadOptions(part="none, load 2, run 1"))
    assert part.facts["mode"] == "eager" and part.captured is None


def test_steps_say_what_they_held(installed: None, tmp_path: Path) -> None:
    """Tokens of all steps are the prompts and all outputs but the first of each; a mode and the
    tokens after padding stand beside them."""
    document = replay_all(spec_of(), tmp_path / "run.json", lambda text: None)
    (run,) = document["runs"]
    column = {name: i for i, name in enumerate(run["step_columns"])}
    total = sum(row[column["tokens"]] for row in run["steps"])
    assert total == sum(p + o - 1 for _, p, o in REQUESTS)
    for row in run["steps"]:
        assert row[column["padded"]] >= row[column["tokens"]] >= row[column["rows"]] >= 1
        if row[column["mode"]] == "NONE":
            assert row[column["padded"]] == row[column["tokens"]]
    assert run["itl_s"]["count"] == sum(output - 1 for _, _, output in REQUESTS)
    facts = document["lists"]["default"]
    assert facts["release"] == "0.23.0" and "Model loading took" in facts["printed"]
    assert document["spec"]["engine"]["max_num_seqs"] == 16


def test_kill_9_in_the_middle_repeats_that_run_alone(tmp_path: Path) -> None:
    """The list's engine dies in a replay: it is started again, the run is whole, those before it
    are kept."""
    marker, kept = tmp_path / "died", []
    spec = spec_of(decode_sizes=[1], repeats=2)
    # The table takes 12 steps or so, a replay about 60: the second run is in flight.
    env = environment(die_at_step=100, marker=str(marker))
    replay_list(spec, spec.lists[0], kept.append, env)
    assert marker.exists()
    assert [run["repeat"] for run in kept] == [1, 2]
    assert all(len(run["requests"]) == 5 for run in kept)


def test_an_engine_that_always_dies_is_one_sentence(tmp_path: Path) -> None:
    """Three starts, then how it ended; none of its processes is left."""
    pid_file = tmp_path / "pid"
    spec = spec_of()
    env = environment(dies_always_at=3, child_pid_file=str(pid_file))
    with pytest.raises(JobError, match="default: .*signal 9.*tried 3 times"):
        replay_list(spec, spec.lists[0], lambda run: None, env)
    assert not alive(int(pid_file.read_text()))


def test_what_is_done_is_kept_where_a_later_list_fails(
    installed: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """The file holds the runs of the lists before it."""
    out = tmp_path / "run.json.gz"
    spec = spec_of(lists=["default", "eager"])
    done: list[str] = []

    def say(text: str) -> None:
        done.append(text)
        monkeypatch.setenv("STAND_IN_VLLM", json.dumps({"fail": "oom"}))

    with pytest.raises(JobError, match="eager: vllm did not start: Memory ran out"):
        replay_all(spec, out, say)
    assert len(done) == 1 and load_engine_run(out).name == "default, load 1"
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": "rm"}, "unknown field 'command'; known are"),
        ({"requests": []}, r"requests is '\[\]'; a file, or rows"),
        ({"requests": [[0, 1]]}, r"requests\[0\] must be"),
        ({"requests": [[-1, 1, 1]]}, "holds -1; a number of 0 or more"),
        ({"lists": ["fast"]}, 'is \'fast\'; use "default", "eager" or sizes'),
        ({"lists": {"a": []}}, 'use "default"'),
        ({"lists": ["eager", "eager"]}, "each under its own name"),
        ({"lists": []}, "each under its own name"),
        ({"loads": [0]}, "holds 0.0; numbers above 0"),
        ({"repeats": 0}, "repeats is 0"),
        ({"repeats": 2000}, "asks for 2,000 runs"),
        ({"target": "llama"}, "target 'llama' is no engine"),
        ({"target": "vllm-mixed"}, "an engine such as"),
        (
            {"engine": {"max_model_len": 39}},
            "5 requests take more than max_model_len 39|4 requests",
        ),
        ({"engine": {**ENGINE, "model": "x"}}, "unknown field 'model'"),
        ({"until_s": 0.0}, "numbers above 0"),
    ],
)
def test_a_bad_spec_is_one_sentence(changes: dict[str, Any], words: str) -> None:
    """Field, value and the way out, before anything is started."""
    with pytest.raises(ProjectError, match=words) as caught:
        spec_of(**changes)
    assert "\n" not in str(caught.value)


def test_lengths_are_cut_only_as_asked_and_counted() -> None:
    """Cut prompts and outputs and filled empty ones are told; what is over the limit otherwise is
    an error."""
    rows = [[0, 500, 3], [1, 0, 9], [2, 4, 4]]
    spec = spec_of(requests=rows, max_prompt_tokens=100, max_output_tokens=5)
    assert [one[1:] for one in spec.requests] == [(100, 3), (1, 5), (4, 4)]
    assert spec.notes == (
        "1 prompts were cut to 100 tokens.",
        "1 empty prompts were given one token.",
        "1 outputs were cut to 5 tokens.",
    )
    with pytest.raises(ProjectError, match="1 requests take more than max_model_len 512"):
        spec_of(requests=[[0, 510, 3], [0, 509, 3]])


def test_a_load_and_an_end() -> None:
    """Arrivals are divided by the load; those from until_s on are left out."""
    spec = spec_of(requests=[[0, 1, 1], [3, 1, 1], [5, 1, 1]], loads=[1, 2], until_s=2.5)
    assert [one[0] for one in spec.at(1)] == [0] and [one[0] for one in spec.at(2)] == [0, 1.5]


def test_a_failed_start_ends_with_2(
    installed: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One sentence on stderr, and no file."""
    monkeypatch.setenv("STAND_IN_VLLM", json.dumps({"fail": "elsewhere"}))
    spec, out = tmp_path / "spec.json", tmp_path / "run.json"
    spec.write_text(json.dumps(BASE))
    assert main(["--spec", str(spec), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "No available memory for the cache blocks" in said and said.count("\n") == 1
    assert not out.exists()
