"""Older spellings, misplaced keys and variables in a configuration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines.check import CheckReport, check
from core.text.variables import quoted_variables, variables_in

VLLM, SGLANG, TRTLLM, ASCEND = (ENGINES[name] for name in ("vllm", "sglang", "trtllm", "ascend"))


def ids(report: CheckReport) -> set[str]:
    return {finding.id for finding in report.findings}


@pytest.mark.parametrize(
    "text",
    [
        "--compilation-config 3",
        "-O 3",
        "-O3",
        "-O=3",
        "-O '{\"level\": 3}'",
        "--compilation-config '{\"mode\": 3}'",
        "compilation-config: 3",
        "compilation_config:\n  level: 3",
        "--compilation-config \"{'level': 3}\"",
        "{'compilation_config': {'level': 3}}",
    ],
)
@pytest.mark.parametrize("version", ["0.10.2", "0.33.0"])
def test_level_three_is_the_default(text: str, version: str) -> None:
    """However level 3 is written, what the release captures by default stands."""
    report = check(VLLM, version, {"max_num_seqs": 8}, text)
    assert report.sizes == check(VLLM, version, {"max_num_seqs": 8}).sizes != ()
    assert not ids(report) & {"unknown-graph-option", "start-refused", "misspelt-option"}


@pytest.mark.parametrize("text", ["--compilation-config 0", "-O 0", "-O0", "-O '{\"mode\": 0}'"])
def test_level_zero_captures_nothing(text: str) -> None:
    """No compilation and no mode: no graphs."""
    assert check(VLLM, "0.33.0", None, text).sizes == ()


def test_a_mode_beside_a_level_decides() -> None:
    """Full decode graphs need no piecewise compilation."""
    text = '--compilation-config \'{"level": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}\''
    report = check(VLLM, "0.33.0", {"max_num_seqs": 8}, text)
    assert report.plan is not None
    assert [count.what for count in report.plan.counts] == ["full"]


def test_full_cuda_graph() -> None:
    """The switch of older releases is cudagraph_mode FULL, and is announced as going."""
    text = "--compilation-config '{\"full_cuda_graph\": true}' --max-num-seqs 8"
    report = check(VLLM, "0.10.2", None, text)
    assert report.settings["cudagraph_mode"] == "FULL"
    assert "flag-deprecated" in ids(report)
    off = text.replace("true", "false")
    assert "cudagraph_mode" not in check(VLLM, "0.10.2", None, off).settings
    none = "--compilation-config '{\"use_cudagraph\": false}'"
    assert check(VLLM, "0.10.2", None, none).sizes == ()


def test_ascend_modes() -> None:
    """FULL_DECODE_ONLY leaves the decode graphs alone: 1, 2, 4, 8 for 8 requests."""
    text = 'vllm serve m --max-num-seqs 8 --compilation-config \'{"cudagraph_mode": "%s"}\''
    report = check(ASCEND, None, None, text % "FULL_DECODE_ONLY")
    assert report.sizes == (1, 2, 4, 8)
    assert report.plan is not None
    assert [(c.what, c.graphs) for c in report.plan.counts] == [("full", 4)]
    assert report.plan.prefill == ()
    piecewise = check(ASCEND, None, None, text % "PIECEWISE").plan
    assert piecewise is not None
    assert [(c.what, c.graphs) for c in piecewise.counts] == [("piecewise", 4)]
    assert check(ASCEND, None, None, text % "NONE").sizes == ()


def test_a_key_that_stands_alone_is_read_where_it_belongs() -> None:
    """cudagraph_mode is a key of compilation_config; the finding says so."""
    report = check(VLLM, "0.33.0", None, "cudagraph_mode: FULL_DECODE_ONLY\nmax-num-seqs: 8\n")
    assert report.settings["cudagraph_mode"] == "FULL_DECODE_ONLY"
    moved = next(f for f in report.findings if f.id == "key-misplaced")
    assert "compilation_config" in moved.text and "unknown-graph-option" not in ids(report)


def test_a_variable_is_asked_for_by_name_and_the_rest_is_read() -> None:
    """Whole values, parts of a JSON and words that may hold flags."""
    text = (
        "vllm serve $MODEL --max-num-seqs $SEQS --port $PORT --max-num-batched-tokens 64 "
        '--compilation-config \'{"cudagraph_mode": "FULL", "cudagraph_capture_sizes": $SIZES}\' '
        "$EXTRA"
    )
    report = check(VLLM, "0.33.0", None, text)
    asked = [f for f in report.findings if f.id == "variable-unset"]
    assert sorted(name for f in asked for name in ("SEQS", "SIZES", "EXTRA") if name in f.fix) == [
        *("EXTRA", "SEQS", "SIZES")
    ]
    assert len(asked) == 3
    assert report.settings == {"max_num_batched_tokens": "64", "cudagraph_mode": "FULL"}


@pytest.mark.parametrize("engine", [VLLM, SGLANG, TRTLLM], ids=["vllm", "sglang", "trtllm"])
def test_a_variable_for_a_whole_object(engine) -> None:
    """--compilation-config $CC is no broken JSON."""
    option = next(o for o in engine.options if o.form.value == "json")
    report = check(engine, None, None, f"--{option.path} $CC")
    asked = next(f for f in report.findings if f.id == "variable-unset")
    assert asked.fix == "Give the value of CC."


def test_names_in_a_text() -> None:
    """Each kind of reference; commands and templates as they stand."""
    text = "$A ${B} ${C:-$D} $((E * 2)) $(nproc) {{ .Values.x }} $@ 5"
    assert variables_in(text) == ("A", "B", "C", "E", "$(nproc)", "{{ .Values.x }}", "@")
    assert variables_in(["1", "$A"]) == ("A",)
    assert variables_in(5) == variables_in("a b") == ()


@given(st.text(alphabet='"$A{}:,[]1\\ ', max_size=30))
def test_quoting_changes_nothing_without_a_variable(text: str) -> None:
    if not variables_in(text):
        assert quoted_variables(text) == text
