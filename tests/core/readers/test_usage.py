"""Gateway and API logs: OpenAI, Anthropic, LiteLLM, OpenTelemetry, sums."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.readers import ReadOptions, read
from core.records import Grade


def lines(*rows: Any) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def test_cached_and_reasoning_tokens_are_inside() -> None:
    """OpenAI's details are parts of the two numbers and are not added."""
    usage = {
        "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }  # fmt: skip
    reading = read(lines({"object": "chat.completion", "created": 1, "usage": usage}))
    assert reading.trace is not None
    assert reading.trace.prompt_tokens.tolist() == [100]
    assert reading.trace.output_tokens.tolist() == [50]


def test_streams_errors_and_nulls_have_reasons() -> None:
    """Rows without usage say why: chunk, error, null."""
    good = {"object": "chat.completion", "created": 5,
            "usage": {"prompt_tokens": 1, "completion_tokens": 1}}  # fmt: skip
    reading = read(
        lines(
            good,
            {"object": "chat.completion.chunk", "created": 5, "usage": None},
            {"error": {"code": 503}, "created": 6},
            {"object": "chat.completion", "created": 7, "usage": None},
            {"object": "chat.completion", "created": 7},
        )
    )
    assert reading.kept == 1 and sorted(reading.dropped) == [
        "answer is an error, without usage",
        "answer without usage",
        "chunk of a stream without usage (only the last one has it)",
        "usage is null (a stream without include_usage)",
    ]


def test_responses_anthropic_and_batch() -> None:
    """input_tokens hold the cache at OpenAI and leave it out at Anthropic; a batch has no times."""
    responses = {"object": "response", "created_at": 1, "usage":
                 {"input_tokens": 10, "output_tokens": 2,
                  "input_tokens_details": {"cached_tokens": 8}}}  # fmt: skip
    assert read(lines(responses, responses)).facts is not None
    anthropic = {"type": "message", "usage": {
        "input_tokens": 10, "output_tokens": 2, "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 100}}  # fmt: skip
    reading = read(lines(responses, anthropic | {"created_at": 2}))
    assert reading.trace is not None and reading.trace.prompt_tokens.tolist() == [10, 115]
    batch = {"custom_id": "secret-user", "error": None, "response": {"status_code": 200, "body":
             {"created": 9, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}}}  # fmt: skip
    reading = read(lines(batch, batch))
    assert reading.grade is Grade.LENGTHS and "secret-user" not in repr(reading)


def test_usage_in_an_array_and_under_a_gateways_key() -> None:
    """An array is read like lines, and `usage` is found below `response`."""
    response = {"model": "m", "usage": {"prompt_tokens": 4, "completion_tokens": 2}}
    row = {"timestamp": "2026-01-01T00:00:01Z", "key": "sk-secret", "response": response}
    later = {**row, "timestamp": "2026-01-01T00:00:04Z"}
    reading = read(json.dumps([row, later]).encode())
    assert reading.trace is not None and reading.trace.duration_s == 3.0
    assert reading.facts["models"] == {"m": 2} and "sk-secret" not in repr(reading)


LITELLM = {
    "request_id": "r", "call_type": "acompletion", "api_key": "hash-secret", "spend": 0.1,
    "total_tokens": 7, "prompt_tokens": 5, "completion_tokens": 2,
    "startTime": "2026-01-01 00:00:05.250", "model": "m", "model_group": "g",
    "cache_hit": "False", "status": "success", "end_user": "bob",
}  # fmt: skip


def test_litellm_rules_in_json() -> None:
    """Cache hits, embeddings and failures never decode; keys and users are not kept."""
    rows = [
        LITELLM,
        {**LITELLM, "cache_hit": "True"},
        {**LITELLM, "call_type": "aembedding", "completion_tokens": 0},
        {**LITELLM, "status": "failure", "prompt_tokens": 0},
        {**LITELLM, "model_group": "h"},
    ]
    reading = read(json.dumps(rows).encode())
    assert reading.kept == 2 and reading.facts["models"] == {"g": 1, "h": 1}
    assert sorted(reading.dropped.values()) == [1, 1, 1]
    assert "hash-secret" not in repr(reading) and "bob" not in repr(reading)
    assert read(json.dumps(rows).encode(), options=ReadOptions(model="h")).kept == 1


def test_litellm_payload_with_epoch_times() -> None:
    """The logging payload has the same keys and float seconds."""
    rows = [{**LITELLM, "startTime": 1700000000.5 + i, "spend": 0} for i in range(3)]
    trace = read(lines(*rows)).trace
    assert trace is not None and trace.duration_s == 2.0


@pytest.mark.parametrize(
    ("content", "requests"),
    [
        (b"date,api_requests,prompt_tokens,completion_tokens,spend\n2026-01-01,10,500,100,1\n", 10),
        (
            json.dumps({"object": "page", "data": [{"object": "bucket", "start_time": 1,
             "end_time": 2, "results": [{"input_tokens": 500, "output_tokens": 100,
             "num_model_requests": 10}]}]}).encode(), 10,
        ),
    ],
)  # fmt: skip
def test_sums_give_a_mean_and_no_percentile(content: bytes, requests: int) -> None:
    """Usage a day is never drawn as lengths."""
    reading = read(content)
    assert reading.grade is Grade.SUMS and reading.prompt_lengths is None
    assert reading.facts["prompt_count"] == requests
    assert reading.facts["prompt_mean_tokens"] == 50 and reading.facts["output_mean_tokens"] == 10


def test_summarised_spend_logs_say_what_to_ask_for() -> None:
    """Daily spend without tokens names the right query."""
    rows = [{"startTime": "2026-01-01", "spend": 1.0, "users": {}, "models": {"m": 1.0}}]
    reading = read(json.dumps(rows).encode())
    assert any("summarize=false" in warning for warning in reading.warnings)


def span(identity: str, parent: str, start: str, keys: tuple[str, str], kind: str = "intValue"):
    attributes = [
        {"key": keys[0], "value": {kind: "100"}},
        {"key": keys[1], "value": {kind: "7"}},
        {"key": "gen_ai.prompt", "value": {"stringValue": "secret"}},
    ]
    return {"spanId": identity, "parentSpanId": parent, "startTimeUnixNano": start,
            "attributes": attributes}  # fmt: skip


def test_spans_count_once() -> None:
    """A parent repeats its child's usage; both spellings of the attributes are known."""
    new = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
    vllm = ("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens")
    spans = [
        span("a", "", "1700000000000000000", new),
        span("b", "a", "1700000000100000000", vllm),
        span("c", "", "1700000002100000000", new),
        {"spanId": "d", "startTimeUnixNano": "1", "attributes": []},
    ]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    reading = read(json.dumps(document).encode())
    assert reading.trace is not None and reading.trace.prompt_tokens.tolist() == [100, 100]
    assert reading.trace.duration_s == 2.0 and "secret" not in repr(reading)
    assert reading.dropped == {
        "span repeats the usage of its child": 1,
        "span without token usage": 1,
    }
