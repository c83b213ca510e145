"""An engine measured in a process of its own: with a stand-in whose steps take known times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ship_profile import main as ship
from core.errors import JobError
from core.records import MeasureRow, Profile, profile_from_json, to_json_dict
from gpu_worker.driven.measuring import engine_specs, measure_engine
from gpu_worker.driven.process import EngineProcess
from gpu_worker.driven.session import EngineSession
from gpu_worker.measure import main, measure_all
from gpu_worker.session import SessionEndedError, SessionStoppedError, never
from gpu_worker.targets.vllm.model_folder import SETTING
from tests.conftest import ROOT
from tests.gpu_worker.conftest import alive
from tests.gpu_worker.driven_engine import MODEL, STAND_IN, engine_spec, environment

pytestmark = pytest.mark.slow  # each starts processes of its own

# The stand-in's steps [us]: with a graph, without one in an eager engine, without one in an engine
# that has graphs; and each token more.
GRAPH, EAGER, BEYOND, TOKEN = 1000.0, 3000.0, 4000.0, 2.0


def measured(specs: list, **behaviour: Any) -> list[Profile]:
    return measure_engine(specs, env=environment(**behaviour))


def near(got: float | None, want: float) -> bool:
    return got is not None and got == pytest.approx(want)


def test_rows_of_a_decode_step() -> None:
    """Eager times from a start without graphs, the others from one with its list; a step that the
    largest graph does not hold is no replay, and what padded it is told."""
    (profile,) = measured([engine_spec(1, 3, 16)])
    one, three, sixteen = profile.rows
    assert near(one.eager_us, EAGER + TOKEN) and near(one.replay_us, GRAPH + TOKEN)
    # 3 requests run in the graph of 4: 1000 + 4 * 2.
    assert near(three.replay_us, GRAPH + 4 * TOKEN) and (three.mode, three.padded) == ("FULL", 4)
    assert sixteen.replay_us is None and near(sixteen.beyond_us, BEYOND + 16 * TOKEN)
    assert near(sixteen.eager_us, EAGER + 16 * TOKEN) and sixteen.mode == "NONE"
    assert [row.samples for row in profile.rows] == [6, 6, 6]


def test_what_the_start_told() -> None:
    """Release, list, KV cache, phases in seconds and what was printed; the caption names it."""
    (profile,) = measured([engine_spec(2)])
    engine = profile.engine
    assert engine is not None and engine.title == "vLLM 0.23.0"
    assert engine.capture_sizes == (1, 2, 4, 8)
    assert (engine.kv_tokens, engine.block_size_tokens) == (400 * 16, 16)
    assert (engine.capture_s, engine.graph_gib) == (3.0, 0.59)
    phases = {phase.name: phase.seconds for phase in engine.startup}
    assert (phases["load weights"], phases["compile"]) == (0.25, 2.5)
    assert "compile" not in {phase.name for phase in engine.eager_startup}
    assert "Model loading took 1.50 GiB" in engine.printed
    assert "measured on vLLM 0.23.0" in profile.source
    assert profile_from_json(json.loads(json.dumps(to_json_dict(profile)))) == profile


def test_prompts_and_mixed_steps_by_tokens() -> None:
    """Sizes are tokens of one step; one that the budget does not hold is a row that says so."""
    specs = [
        one for one, _ in engine_specs(engine_spec(2, engine={"mixed_decoding": 4}), [], [20, 100])
    ]
    decode, prefill, mixed = measured(specs)
    assert [p.spec.target for p in (decode, prefill, mixed)] == [
        "vllm",
        "vllm-prefill",
        "vllm-mixed",
    ]
    for profile in (prefill, mixed):
        twenty, hundred = profile.rows
        assert near(twenty.beyond_us, BEYOND + 20 * TOKEN)
        assert hundred.error is not None and "max_num_batched_tokens 64" in hundred.error


def test_a_list_of_ones_own_and_none() -> None:
    """The list is the engine's; enforce_eager starts once and has no replays."""
    (own,) = measured([engine_spec(3, engine={"capture_sizes": [3, 16]})])
    assert own.engine is not None and own.engine.capture_sizes == (3, 16)
    assert (own.rows[0].mode, own.rows[0].padded) == ("FULL", 3)
    (eager,) = measured([engine_spec(3, engine={"enforce_eager": True})])
    assert near(eager.rows[0].eager_us, EAGER + 3 * TOKEN) and eager.rows[0].replay_us is None
    assert eager.engine is not None and eager.engine.eager_startup == ()


ALONE = {"enforce_eager": True}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (engine_spec(17, engine=ALONE), "max_num_seqs is 16"),
        (engine_spec(2, context_tokens=600, engine=ALONE), "max_model_len is 512"),
        (
            engine_spec(16, context_tokens=450, engine={**ALONE, "max_model_len": 4096}),
            "do not fit the KV cache of 6,400 tokens",
        ),
        (engine_spec(16, target="vllm-mixed", engine=ALONE), "has no room for"),
    ],
)
def test_a_size_that_cannot_run_is_a_row(spec: Any, words: str) -> None:
    """With the engine's own limit in the sentence; the engine lives on."""
    (profile,) = measured([spec])
    assert profile.rows[0].error is not None and words in profile.rows[0].error


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ({"fail": "oom"}, "20.00 GiB more were asked for; 1.25 GiB are free"),
        ({"fail": "elsewhere"}, "ValueError: No available memory for the cache blocks."),
        ({"version": "0.10.2"}, "vLLM 0.10.2 is installed; releases from 0.11 on"),
        ({"version": "mine"}, "release 'mine' cannot be told"),
    ],
)
def test_a_failed_start_is_one_sentence_and_leaves_no_process(
    behaviour: dict[str, str], words: str, tmp_path: Path
) -> None:
    """The first cause, and the engine's own processes end with it."""
    pid_file = tmp_path / "pid"
    with pytest.raises(JobError) as caught:
        measured([engine_spec(1)], child_pid_file=str(pid_file), **behaviour)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    if pid_file.exists():  # a release is refused before the engine starts anything
        assert not alive(int(pid_file.read_text()))


def test_without_the_package_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, one sentence, nothing written."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    spec, out = tmp_path / "spec.json", tmp_path / "profile.json"
    spec.write_text(json.dumps(to_json_dict(engine_spec(1))))
    assert main(["--spec", str(spec), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "vLLM is not installed beside the worker" in said and said.count("\n") == 1
    assert not out.exists()


def test_kill_9_in_the_middle_costs_time_alone(tmp_path: Path) -> None:
    """The engine's process is killed in a step; it is started again and every row is there."""
    marker = tmp_path / "died"
    (profile,) = measured([engine_spec(1, 2)], die_at_step=9, marker=str(marker))
    assert marker.exists()
    assert [row.error for row in profile.rows] == [None, None]
    assert all(row.eager_us and row.replay_us for row in profile.rows)


def test_an_engine_that_always_dies_is_a_sentence() -> None:
    """Three tries, then how it ended."""
    rows: list[MeasureRow] = []
    spec = engine_spec(1, engine={"enforce_eager": True})
    measure_engine(
        [spec],
        lambda _, row: rows.append(row),
        env=environment(dies_always_at=2),
    )
    assert rows[0].error is not None and "tried 3 times" in rows[0].error


def test_a_session_can_be_stopped_and_ends_what_it_started(tmp_path: Path) -> None:
    """Cancel kills the engine and its own processes within moments."""
    pid_file = tmp_path / "pid"
    begin = time.monotonic()
    session = EngineSession(
        [engine_spec(1)],
        lambda: pid_file.exists() and time.monotonic() - begin > 1.5,
        environment(child_pid_file=str(pid_file), hangs_at=3),
    )
    with pytest.raises(SessionStoppedError):
        session.open()
    assert not alive(int(pid_file.read_text()))


def test_the_engine_ends_with_its_parent(tmp_path: Path) -> None:
    """kill -9 of the measuring command leaves neither the engine nor what it started."""
    pid_file, spec = tmp_path / "pid", tmp_path / "spec.json"
    spec.write_text(json.dumps(to_json_dict(engine_spec(1))))
    command = [sys.executable, "-m", "gpu_worker.measure", "--spec", str(spec)]
    parent = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out.json")],
        cwd=ROOT,
        env=environment(child_pid_file=str(pid_file), hangs_at=3),
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 90
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    pid, deadline = int(pid_file.read_text()), time.monotonic() + 20
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)


def test_what_is_whole_is_kept_where_a_later_part_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Profiles are told one by one, in their order."""
    specs = [one for one, _ in engine_specs(engine_spec(2, engine=ALONE), [40, 80], [])]
    kept: list[int] = []

    def keep(number: int, profile: Profile) -> None:
        kept.append(profile.spec.context_tokens)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_engine(specs, on_profile=keep, env=environment())
    assert kept == [40]


def test_several_ranks_end_in_good_order(tmp_path: Path) -> None:
    """What ranks share on the host outlives a kill, so they may end by themselves; one rank is
    killed at once."""
    for ranks in (1, 2):
        file = tmp_path / f"ended-{ranks}"
        engine = {**ALONE, "tensor_parallel_size": ranks}
        (profile,) = measured([engine_spec(1, engine=engine)], shutdown_file=str(file))
        assert profile.spec.model.tensor_parallel == ranks and file.exists() == (ranks > 1)


def test_a_process_that_failed_answers_no_more() -> None:
    """After a failed start the process has ended by itself."""
    process = EngineProcess("vllm", environment(fail="oom"))
    spec = engine_spec(1)
    assert spec.engine is not None
    with pytest.raises(RuntimeError, match="Memory ran out for the engine's start"):
        process.start(spec.engine, spec.model, 0, never)
    with pytest.raises(SessionEndedError):
        process.times({"kind": "prefill", "size": 1, "samples": 1}, never)
    process.close()


def test_models_only_where_the_worker_was_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --models, outside of it, and without a config.json: refused with the way out; inside
    of it the model's own shape is measured."""
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    monkeypatch.delenv(SETTING, raising=False)
    models = tmp_path / "models"
    good, link = models / "good", models / "link"
    good.mkdir(parents=True)
    (models / "empty").mkdir()
    (tmp_path / "outside").mkdir()
    link.symlink_to(tmp_path / "outside")
    shape = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    (good / "config.json").write_text(
        json.dumps(shape | {"intermediate_size": 128, "vocab_size": 96, "architectures": ["L"]})
    )
    out = tmp_path / "out.json"

    def run(folder: Path, *options: str) -> tuple[int, str]:
        spec = tmp_path / "spec.json"
        asked = engine_spec(1, engine={"model_dir": str(folder)})
        spec.write_text(json.dumps(to_json_dict(asked)))
        code = main(["--spec", str(spec), "--out", str(out), *options])
        return code, capsys.readouterr().err

    code, said = run(good)
    assert code == 2 and "started without --models" in said
    for folder, words in (
        (tmp_path / "outside", "does not lie below"),
        (link, "does not lie below"),
        (models / "empty", "holds no config.json"),
    ):
        monkeypatch.delenv(SETTING, raising=False)
        code, said = run(folder, "--models", str(models))
        assert code == 2 and words in said
    monkeypatch.delenv(SETTING, raising=False)
    code, said = run(good, "--models", str(models))
    assert (code, said) == (0, "")
    profile = profile_from_json(json.loads(out.read_text()))
    assert (profile.spec.model.name, profile.spec.model.hidden_size) == ("good", 64)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "llama", "options": ["--tokens", "8"]}, "--tokens and --models go with target"),
        ({"target": "vllm-mixed", "options": ["--tokens", "8"]}, "go with target"),
        ({"target": "vllm-prefill", "options": []}, "measured from a prompt's beginning"),
    ],
)
def test_options_that_do_not_fit(
    options: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence before anything is started."""
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"sizes": [8], "target": options["target"], "model": MODEL}))
    out = ["--out", str(tmp_path / "out.json")]
    assert main(["--spec", str(spec), *options["options"], *out]) == 2
    assert words in capsys.readouterr().err


def test_several_contexts_and_tokens_are_a_file_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From one pair of starts; rows are printed as they come."""
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    spec, out = tmp_path / "spec.json", tmp_path / "p.json"
    asked = engine_spec(2, engine={"mixed_decoding": 2})
    spec.write_text(json.dumps(to_json_dict(asked)))
    options = ["--context", "80,40", "--tokens", "30", "--out", str(out)]
    assert main(["--spec", str(spec), *options]) == 0
    found = {
        p.name: profile_from_json(json.loads(p.read_text())) for p in tmp_path.glob("p-*.json")
    }
    assert set(found) == {f"p-{n}.json" for n in ("context-40", "context-80", "prefill", "mixed")}
    assert found["p-context-80.json"].spec.context_tokens == 80
    assert found["p-prefill.json"].spec.context_tokens == 0
    assert found["p-mixed.json"].spec.context_tokens == 40
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in printed[:4]] == ["eager"] * 4
    rows = [line for line in printed[4:] if "->" not in line]
    assert [line.split()[:3] for line in rows] == [
        ["vllm", "40", "2"], ["vllm", "80", "2"], ["vllm-prefill", "0", "30"],
        ["vllm-mixed", "40", "30"],
    ]  # fmt: skip


def test_a_shipped_profile_keeps_facts_and_no_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What an engine printed names hosts and folders; it does not go into the repository."""
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    profile = measure_all(engine_spec(2, engine=ALONE))
    source, target = tmp_path / "profile.json", tmp_path / "shipped.json"
    source.write_text(json.dumps(to_json_dict(profile)))
    ship(source, target)
    shipped = profile_from_json(json.loads(target.read_text()))
    assert shipped.engine is not None and shipped.engine.release == "0.23.0"
    assert profile.engine is not None and profile.engine.printed and not shipped.engine.printed
    assert shipped.device.host is None
