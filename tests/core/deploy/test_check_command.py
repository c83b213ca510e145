"""`check --config FILE` with deployment files: one answer an engine, in text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.__main__ import main
from core.deploy.answers import Asked, answers
from core.deploy.kinds import KINDS
from core.engines import ENGINES
from core.engines.check import check
from tests.conftest import ROOT

COMPOSE = """
services:
  a:
    image: vllm/vllm-openai:v0.19.1
    command: --max-num-seqs ${SEQS} --enforce-eager
  b:
    image: lmsysorg/sglang:v0.5.8-cu128
    command: python3 -m sglang.launch_server --cuda-graph-max-bs 4
  c: {image: redis}
"""


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main(["check", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def compose(tmp_path: Path) -> str:
    path = tmp_path / "compose.yaml"
    path.write_text(COMPOSE)
    return str(path)


def test_several_engines_give_several_answers(capsys, compose: str) -> None:
    """Each with its own sizes; what is no engine is named."""
    found = run(capsys, "--config", compose)
    first, second = found["answers"]
    assert (first["engine"], first["sizes"], first["deployment"]["unset"]) == ("vllm", [], ["SEQS"])
    assert (second["engine"], second["version"], second["sizes"]) == ("sglang", "0.5.8", [1, 2, 4])
    assert second["deployment"]["release"] == "0.5.8"
    assert "redis" in found["passed_over"][0]
    assert main(["check", "--config", compose]) == 0
    out = capsys.readouterr().out
    assert "Compose, a" in out and "Compose, b" in out and "redis" in out and "SEQS=.." in out


def test_engine_and_release_of_the_user_stand_above(capsys, compose: str) -> None:
    """--engine leaves the others out, --version overrides the tag, --var sets what is open."""
    words = ("--config", compose, "--engine", "vllm", "--version", "0.33.0", "--var", "SEQS=4")
    found = run(capsys, *words, "--set", "enforce_eager=false")
    assert (found["version"], found["sizes"]) == ("0.33.0", [1, 2, 4, 8])
    assert found["deployment"]["unset"] == []
    assert any("SGLang" in left for left in found["passed_over"])


def test_one_faulty_engine_leaves_the_other_its_answer(capsys, tmp_path: Path) -> None:
    """A value that cannot be is that engine's own problem."""
    path = tmp_path / "c.yaml"
    path.write_text(COMPOSE.replace("${SEQS}", "many"))
    first, second = run(capsys, "--config", str(path))["answers"]
    assert "'many'" in first["problem"] and "sizes" not in first
    assert second["sizes"] == [1, 2, 4]
    assert main(["check", "--config", str(path)]) == 0
    assert "Compose, a: " in capsys.readouterr().out


def test_a_plain_command_names_its_engine(capsys) -> None:
    """--flags without --engine; without any sign of an engine it is asked for."""
    found = run(capsys, "--flags", "trtllm-serve m --max_batch_size 4")
    assert found["engine"] == "trtllm"
    assert any("names the release" in f["text"] for f in found["findings"])
    for words in (("--flags=--max-num-seqs 8",), ()):
        assert main(["check", *words]) == 2
        assert "engine" in capsys.readouterr().err


def test_bad_var_and_bad_file_are_one_sentence(capsys, tmp_path: Path) -> None:
    """Exit 2 and one line."""
    path = tmp_path / "c.yaml"
    path.write_text("services: {a: {image: redis}}")
    for words in (("--config", str(path)), ("--config", str(path), "--var", "X")):
        assert main(["check", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("text", ["--max-num-seqs 8", "max-num-seqs: 8", '{"max_num_seqs": 8}'])
def test_plain_settings_are_answered_as_before(text: str) -> None:
    """With the engine named, the report is that of `core.engines.check`."""
    (one,) = answers(text, Asked("vllm", "0.33.0")).answers
    assert one.report == check(ENGINES["vllm"], "0.33.0", {}, text)


def test_every_kind_is_documented() -> None:
    """docs/deployments.md has a row for each kind."""
    document = (ROOT / "docs" / "deployments.md").read_text("utf-8")
    assert len(KINDS) == 10
    assert [kind.label for kind in KINDS if f"| {kind.label} |" not in document] == []
