"""Prefixes: none of the known kinds, alone or together, changes what a line states."""

from __future__ import annotations

import json
import time
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.engines import ENGINES
from core.logs.prefix import peel, strip_ansi
from core.logs.record import EngineLog
from core.readers import read
from tests.conftest import DATA
from tests.core.logs.texts import EVERY, PREFIXES, prefixed

TRACES = DATA / "traces"


def stated(name: str, text: str) -> EngineLog:
    form = ENGINES[name.split()[0]].log_form
    assert form is not None
    return form.read(text)


def values(log: EngineLog) -> dict[str, object]:
    """Everything stated, without the evidence."""
    return {"sizes": log.sizes, "graphs": log.plain_graphs, **log.flat()}


@cache
def plain_values(name: str) -> dict[str, object]:
    return values(stated(name, EVERY[name]))


BY_HAND = [
    ("svc-1  | [2026-05-28 22:54:01 TP0] Decode batch. #x", "Decode batch. #x", {"TP": 0}),
    ("[pod/x/y] [22:54:01 DP1 TP2] Decode batch.", "Decode batch.", {"DP": 1, "TP": 2}),
    ("ns pod container INFO 11-30 04:31:14 [core.py:9] Graph", "Graph", {}),
    ("May  8 02:54:01 host svc[123]: Graph", "Graph", {}),
    ("> | 1 | 2 |", "| 1 | 2 |", {}),
    ("(EngineCore_DP0 pid=5) (Worker_TP0 pid=7) INFO 04:31:14 [a/b.py:9] Graph", "Graph", {}),
    ("2026-05-28T22:54:01.1Z stdout F svc | > Graph", "Graph", {}),
    ("12:INFO 11-30 04:31:14 [core.py:9] Graph", "Graph", {}),
]


@pytest.mark.parametrize(("line", "message", "ranks"), BY_HAND)
def test_prefixes_by_hand(line: str, message: str, ranks: dict[str, int]) -> None:
    """What is left, and the ranks that the prefix names."""
    found = peel(line)
    assert (found.message, dict(found.ranks)) == (message, ranks)


@pytest.mark.parametrize(
    "text",
    [
        "FULL | 3 |",
        "| 1 | 2 | 1 | FULL | 3 |",
        "8, 16, 24]",
        "- Mode: FULL",
        "Captured (8, 2, 9.0)",
    ],
)
def test_what_is_no_prefix(text: str) -> None:
    """The rest of a wrapped row, a list and a sentence stay whole."""
    assert peel(text).message == text


def test_colours_also_where_the_sign_is_text() -> None:
    """Escape signs as bytes, and as collectors write them."""
    assert strip_ansi("\x1b[1;36ma\x1b[0m #033[32mb ^[[0mc") == "a b c"


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=30, deadline=None)
@given(kinds=st.lists(st.sampled_from(sorted(PREFIXES)), min_size=1, max_size=3))
def test_any_prefix_changes_nothing(name: str, kinds: list[str]) -> None:
    """Up to three prefixes before every line of every log: the same facts, lists and order."""
    prefix = "".join(PREFIXES[kind] for kind in kinds)
    assert values(stated(name, prefixed(EVERY[name], prefix))) == plain_values(name)


@pytest.mark.parametrize("name", ["sglang_decode.log", "vllm_cudagraph_stats.log"])
@pytest.mark.parametrize("kind", PREFIXES)
def test_steps_are_counted_behind_any_prefix(name: str, kind: str) -> None:
    """The same step sizes, times and left-out lines, whatever stands before each line."""
    plain = (TRACES / name).read_text()
    plain = plain if plain.endswith("\n") else f"{plain}\n"
    before = read(plain.encode(), name="engine.log")
    after = read(prefixed(plain, PREFIXES[kind]).encode(), name="engine.log")
    assert before.steps is not None and after.steps is not None
    assert after.steps.sizes.tolist() == before.steps.sizes.tolist()
    assert after.steps.steps.tolist() == before.steps.steps.tolist()
    assert after.steps.duration_s == before.steps.duration_s
    assert after.dropped == before.dropped


@pytest.mark.parametrize("kind", PREFIXES)
def test_a_collectors_object_behind_a_prefix(kind: str) -> None:
    """JSON lines of a container driver, shown by another tool: the same step sizes."""
    plain = (TRACES / "sglang_decode.log").read_text()
    lines = [json.dumps({"log": f"{line}\n", "stream": "stdout"}) for line in plain.splitlines()]
    wrapped = prefixed("\n".join(lines) + "\n", PREFIXES[kind])
    before, after = read(plain.encode(), name="x.log"), read(wrapped.encode(), name="x.log")
    assert before.steps is not None and after.steps is not None
    assert after.steps.steps.tolist() == before.steps.steps.tolist()


ENDLESS = [
    *("a", "a ", "> ", "1", "(a ", "[a/b", "- Mode: ", "svc | ", "with config", "CUDAGraph "),
    *("Capture target decode CUDA graph begin.", "decode buckets [", "CUDA graphs with sizes: ["),
    *("CUDAGraph is not supported", "non-default args: {", "Capturing CUDA graphs (FULL): 100%|"),
    *("server_args=", "Capturing", "'cudagraph_capture_sizes': [1,", "Capture cuda graph begin."),
    *("CUDA graph is not supported ", "CUDA graph warmup", "Namespace(", "2026-05-28 22:54:01 | "),
]


@pytest.mark.parametrize("part", ENDLESS)
def test_a_line_without_end_is_read_in_time(part: str) -> None:
    """Two hundred thousand characters of one beginning after the other: no pattern is square."""
    text = (part * (200_000 // len(part)))[:199_000] + "\n"
    for engine in ENGINES.values():
        if engine.log_form is not None:
            begin = time.process_time()
            engine.log_form.read(text)
            assert time.process_time() - begin < 3.0
