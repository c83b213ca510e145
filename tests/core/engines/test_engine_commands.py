"""rules, check and export on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from core.__main__ import main
from tests.conftest import DATA


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_rules(capsys) -> None:
    """sizes, unit and notes, for a release and settings."""
    answer = run(
        capsys, "rules", "--engine", "vllm", "--version", "0.33.0", "--set", "max_num_seqs=16"
    )
    assert answer["sizes"] == [1, 2, 4, 8, 16, 24, 32]
    assert answer["unit"] == "tokens"
    assert isinstance(answer["notes"], list)
    assert answer["graphs"] == 7 + 5


def test_rules_for_people_and_lists_of_settings(capsys) -> None:
    """Without --json a text; --list names releases and settings."""
    assert main(["rules", "--engine", "sglang"]) == 0
    assert "36 sizes in requests" in capsys.readouterr().out
    assert main(["rules", "--engine", "trtllm", "--list"]) == 0
    out = capsys.readouterr().out
    assert "enable_padding" in out and "1.2.1" in out


def test_check_with_steps(capsys, tmp_path: Path) -> None:
    """Findings with severity, text, fix and the share of the user's steps."""
    steps = tmp_path / "steps.json"
    steps.write_text('{"8": 3, "40": 1}')
    answer = run(
        capsys,
        *("check", "--engine", "vllm", "--version", "0.33.0", "--histogram", str(steps)),
        *("--flags", "--max-num-seqs 40 --cudagraph-capture-sizes 8 16"),
    )
    assert answer["sizes"] == answer["effective_sizes"] == [8, 16]
    cliff = next(f for f in answer["findings"] if f["id"] == "above-largest")
    assert cliff["severity"] == "warning"
    assert cliff["share_pct"] == 25.0
    assert cliff["text"] and cliff["fix"].startswith("--compilation-config")


def test_check_of_a_log_and_of_standard_input(capsys, monkeypatch) -> None:
    """A start-up log from a file; flags from standard input."""
    log = str(DATA / "engine_logs" / "vllm-0.23-h200-default.log")
    answer = run(capsys, "check", "--engine", "vllm", "--config", log)
    assert len(answer["sizes"]) == 51
    assert answer["log"]["graphs"] == {"piecewise": 51, "full": 35}
    assert main(["check", "--engine", "vllm", "--config", log]) == 0
    assert "captures 51 sizes" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("--cuda-graphs 1,2 --port 80"))
    assert main(["check", "--engine", "tgi", "--config", "-"]) == 0
    out = capsys.readouterr().out
    assert "captures 2 sizes" in out and "--port" in out


def test_export(capsys) -> None:
    """text and warnings; --form chooses another text."""
    words = ("export", "--engine", "vllm", "--sizes", "1,2,4", "--set", "max_num_seqs=4")
    answer = run(capsys, *words)
    assert answer["text"] == "--compilation-config '{\"cudagraph_capture_sizes\":[1,2,4]}'"
    assert answer["warnings"] == []
    assert run(capsys, *words, "--form", "flag")["text"] == "--cudagraph-capture-sizes 1 2 4"
    assert main(["export", "--engine", "vllm", "--sizes", "1", "--set", "max_num_seqs=4"]) == 0
    assert "# Decode steps of 2 to 4" in capsys.readouterr().out
    answer = run(capsys, "export", "--engine", "sglang", "--sizes", "256", "--prefill")
    assert answer["text"] == "--cuda-graph-bs-prefill 256"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rules", "--engine", "nope"), "known are vllm"),
        (("rules", "--engine", "vllm", "--set", "max_num_seqs"), "NAME=VALUE"),
        (("rules", "--engine", "vllm", "--set", "nope=1"), "no setting 'nope'"),
        (("rules", "--engine", "vllm", "--set", "max_num_seqs=0"), "1 or more"),
        (("rules", "--engine", "tgi", "--set", "speculate=1", "speculate=2"), "twice"),
        (("check", "--engine", "vllm", "--config", "a", "--flags", "b"), "not both"),
        (("check", "--engine", "vllm", "--config", "/no/such/file"), "/no/such/file"),
        (("export", "--engine", "nano-vllm", "--sizes", "1"), "no setting"),
        (("export", "--engine", "vllm", "--sizes", "0"), "1 or more"),
    ],
)
def test_bad_input_is_one_sentence(capsys, words: tuple[str, ...], says: str) -> None:
    """Exit 2, nothing on standard output, the reason on standard error."""
    error = refused(capsys, *words)
    assert says in error
    assert error.count("\n") == 1
