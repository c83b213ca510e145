"""`python -m core import`."""

from __future__ import annotations

import json

import pytest

from core.__main__ import main
from tests.core.readers.sample import TRACES, expected

KEYS = {
    "format", "grade", "rows", "kept", "dropped", "prompt", "output", "duration_s", "rate_rps",
    "steps", "warnings",
}  # fmt: skip


def test_json_keys_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON answer has the documented keys and the right numbers."""
    assert main(["import", str(TRACES / "azure_conv.csv"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    facts = expected()["azure_conv.csv"]
    assert set(result) >= KEYS
    assert result["format"] == "azure-csv" and result["grade"] == "B"
    assert result["prompt"] == pytest.approx(facts["prompt"])
    assert result["rate_rps"] == pytest.approx(400 / facts["duration_s"], rel=1e-6)
    assert result["steps"] is None


def test_steps_of_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    """A grade A file gives its step histogram."""
    assert main(["import", str(TRACES / "vllm_cudagraph_stats.log"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["steps"] == expected()["vllm_cudagraph_stats.log"]["steps"]


def test_mapping_from_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: pytest.TempPathFactory
) -> None:
    """--map takes a column of any name, and the answer in words names it."""
    path = tmp_path / "odd.csv"  # type: ignore[operator]
    path.write_text("a,b\n5,6\n7,8\n")
    assert main(["import", str(path), "--map", "prompt_tokens=a", "--map", "output_tokens=b"]) == 0
    out = capsys.readouterr().out
    assert "2 of 2 rows used" in out and "prompt_tokens = a" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no/such/file.csv"], "No such file"),
        (["{odd}"], "choose them among 'a', 'b'"),
        (["{odd}", "--map", "x"], "must be ROLE=COLUMN"),
        (["{odd}", "--map", "speed=a"], "cannot be mapped to 'speed'"),
        (["{folder}"], "folder"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path
) -> None:
    """Exit 2 and one line on stderr, never a traceback."""
    odd = tmp_path / "odd.csv"
    odd.write_text("a,b\n5,6\n")
    filled = [a.format(odd=odd, folder=tmp_path) for a in arguments]
    assert main(["import", *filled]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1
