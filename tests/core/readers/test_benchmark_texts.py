"""Texts where a benchmark's result has numbers: nothing of them is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from core.errors import ProjectError
from core.readers import ReadOptions, read
from core.readers.options import ALL_PARTS
from core.store.workload_account import account_of
from tests.core.readers.sample import TRACES
from tests.core.readers.test_benchmarks import run_of

SECRET = "acme_secret prompt text"


def vllm() -> dict[str, Any]:
    return run_of(limit=16)


def sglang() -> dict[str, Any]:
    first = (TRACES / "sglang_bench.jsonl").read_text().splitlines()[0]
    return json.loads(first) | {"max_concurrency": 16}


def genai_bench() -> dict[str, Any]:
    row = {"num_input_tokens": 10, "num_output_tokens": 4, "error_code": None}
    return {
        "individual_request_metrics": [row, {**row, "num_input_tokens": 20}],
        "aggregated_metrics": {"num_concurrency": 16, "run_duration": 3.0},
    }


def genai_perf() -> dict[str, Any]:
    usage = 'data: {"usage": {"prompt_tokens": 10, "completion_tokens": 4}}'
    requests = [
        {"timestamp": 10**18 + n * 10**9, "response_outputs": [{"response": usage}]}
        for n in range(2)
    ]
    return {"experiments": [{"experiment": {"mode": "concurrency", "value": 16},
                             "requests": requests}]}  # fmt: skip


MAKERS = {"vllm-bench": vllm, "sglang-bench": sglang, "genai-bench": genai_bench,
          "genai-perf": genai_perf}  # fmt: skip
LIMITS = {"vllm-bench": ("max_concurrency",), "sglang-bench": ("max_concurrency",),
          "genai-bench": ("aggregated_metrics", "num_concurrency"),
          "genai-perf": ("experiments", 0, "experiment", "value")}  # fmt: skip


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The same document with one entry changed."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the document holds a number or nothing; of a list the first three."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:3]):
            yield from places(item, (*path, index))
    elif value is None or isinstance(value, (int, float)):
        yield path


def stored(document: Any) -> str:
    """What a database would keep of the upload; nothing where it is refused."""
    try:
        reading = read(json.dumps(document).encode(), options=ReadOptions(part=ALL_PARTS))
    except ProjectError:
        return ""
    return json.dumps(account_of(reading))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("text", [SECRET, {SECRET: SECRET}, [SECRET]], ids=["text", "map", "list"])
def test_a_text_in_place_of_a_number_is_not_kept(name: str, text: Any) -> None:
    """Wherever the result holds a number, a text in its place is not in what is stored."""
    document = MAKERS[name]()
    assert read(json.dumps(document).encode()).format == name
    for path in places(document):
        assert "acme" not in stored(replaced(document, path, text)), path


@pytest.mark.parametrize("name", MAKERS)
def test_only_a_number_says_how_many_requests_ran_at_once(name: str) -> None:
    """16 is repeated; a text, a list, a truth value and an absurd number are not, and that the
    loop is of unknown size, or unknown, is said in words of our own."""
    document, path = MAKERS[name](), LIMITS[name]
    assert "at most 16 requests at once" in stored(document)
    assert "at most 2.5 requests" in stored(replaced(document, path, 2.5))
    for wrong in (SECRET, "16", [16], True, -3, 10**400):
        kept = stored(replaced(document, path, wrong))
        assert "at most" not in kept
        assert ("is no number" in kept) != ("a fixed number of requests at once" in kept), wrong
