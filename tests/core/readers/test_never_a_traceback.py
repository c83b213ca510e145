"""Whatever bytes come in: a Reading that adds up, or one sentence."""

from __future__ import annotations

import gzip
import json
import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.commands.import_ import summary
from core.errors import ProjectError
from core.readers import ReadOptions, read, read_or_fail, sniff
from tests.core.readers.sample import TRACES

SAMPLES = sorted(p for p in TRACES.iterdir() if p.is_file() and p.suffix not in (".md", ".py"))
SEEDS = 12
MAX_BYTES = 6000


def read_or_sentence(data: bytes, options: ReadOptions = ReadOptions()) -> None:  # noqa: B008
    """Reads; a refusal must be one line, a Reading must add up."""
    try:
        reading = read_or_fail(data, "upload", options)
    except ProjectError as error:
        assert str(error) and "\n" not in str(error)
        assert len(str(error)) < 700
        return
    assert reading.rows == reading.kept + sum(reading.dropped.values())
    assert all(0 < len(lines) <= 5 for lines in reading.dropped_examples.values())
    summary(reading)


@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    """Random bytes never give anything but a Reading or a ProjectError."""
    read_or_sentence(data)


@given(
    st.lists(
        st.lists(
            st.one_of(
                st.integers(-5, 10**19).map(str),
                st.floats(allow_nan=True).map(str),
                st.text(max_size=6),
                st.sampled_from(["", "NaN", "2023-11-16 18:15:46", '"', '"1,098"', "1e400"]),
            ),
            max_size=5,
        ),
        max_size=8,
    ),
    st.sampled_from(
        ["prompt_tokens,output_tokens,time", "length,count", "batch,count", "a,b,c", "", "#"]
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_random_tables(rows: list[list[str]], header: str, delimiter: str) -> None:
    """Tables of any cells never give anything but a Reading or a ProjectError."""
    lines = [header.replace(",", delimiter), *(delimiter.join(row) for row in rows)]
    read_or_sentence("\n".join(lines).encode("utf-8", "replace"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_cut_and_changed_samples(path) -> None:
    """Each sample, cut anywhere or with changed bytes, is read or refused in a sentence."""
    whole = path.read_bytes()
    rng = random.Random(path.name)
    for _ in range(SEEDS):
        start = rng.randrange(max(1, len(whole) - MAX_BYTES)) if rng.random() < 0.5 else 0
        data = bytearray(whole[start : start + rng.randrange(1, MAX_BYTES)])
        for _ in range(rng.choice((0, 1, 3, 20))):
            place = rng.randrange(len(data))
            action = rng.randrange(3)
            if action == 0:
                data[place] = rng.randrange(256)
            elif action == 1:
                data[place:place] = rng.choice(
                    (b'"', b"\n", b",", b"[", b"{", b"\0", b"-", b"9" * 30)
                )
            else:
                del data[place : place + rng.randrange(1, 40)]
            if not data:
                data = bytearray(b"\n")
        read_or_sentence(bytes(data))


@settings(max_examples=40)
@given(st.binary(max_size=200), st.integers(0, 60))
def test_damaged_gzip(data: bytes, cut: int) -> None:
    """A packed file cut short or damaged is a sentence."""
    packed = gzip.compress(b"prompt_tokens,output_tokens\n1,2\n" + data, mtime=0)
    read_or_sentence(packed[: len(packed) - cut] + data[:5])


def test_every_sample_has_a_named_format() -> None:
    """sniff names the format of every sample."""
    from core.readers import FORMATS

    for path in SAMPLES:
        if not path.name.startswith("expected"):
            assert sniff(path) in FORMATS


JSON_SAMPLES = [p for p in SAMPLES if ".json" in p.name and not p.name.startswith("expected")]
ODD_VALUES = [None, True, "", "x", "3", -1, 0, 1.5, 1e300, 10**30, float("nan"), [], {}, [[]],
              {"le": None}, ["a", 1], {"value": {}}]  # fmt: skip


def changed(value, rng: random.Random, rate: float):
    """A copy in which some nodes are something else, or gone."""
    if rng.random() < rate:
        return rng.choice(ODD_VALUES)
    if isinstance(value, dict):
        items = [(k, changed(v, rng, rate)) for k, v in value.items() if rng.random() > rate / 4]
        return dict(items)
    if isinstance(value, list):
        return [changed(v, rng, rate) for v in value[:40] if rng.random() > rate / 4]
    return value


@pytest.mark.parametrize("path", JSON_SAMPLES, ids=lambda p: p.name)
def test_json_with_other_types_inside(path) -> None:
    """Values of other types anywhere in a JSON sample never give a traceback."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    whole = [json.loads(line) for line in text.splitlines()] if "jsonl" in path.name else None
    document = whole if whole is not None else json.loads(text)
    rng = random.Random(path.name)
    for _ in range(SEEDS):
        rate = rng.choice((0.002, 0.02, 0.1))
        if whole is not None:
            rows = [json.dumps(changed(row, rng, rate)) for row in document[:40]]
            read_or_sentence("\n".join(rows).encode())
        else:
            read_or_sentence(json.dumps(changed(document, rng, rate)).encode())


USAGE = {"prompt_tokens": 5, "completion_tokens": 2}
SPAN = {
    "spanId": "a", "parentSpanId": "", "startTimeUnixNano": "1700000000000000000", "attributes": [
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "5"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "2"}}],
}  # fmt: skip
DOCUMENTS = {
    "guidellm": {"benchmarks": [{"args": {"strategy": {"type_": "constant"}}, "requests": {
        "completed": [{"start_time": 1.0, **USAGE, "output_tokens": 3}], "errored": [{}]}}] * 2},
    "inference-perf": [{"start_time": 1.0, "end_time": 2.0, "request": "x", "info": {
        "request_metrics": {"text": {"input_tokens": 4}},
        "response_metrics": {"output_tokens": 3}}, "error": None}] * 3,
    "genai-perf": {"experiments": [{"experiment": {"mode": "concurrency"}, "requests": [
        {"timestamp": 10**18, "response_outputs": [
            {"response": 'data: {"usage": {"prompt_tokens": 5, "completion_tokens": 2}}'}]}]}]},
    "genai-bench": {"aggregated_metrics": {"num_concurrency": 2}, "individual_request_metrics": [
        {"num_input_tokens": 3, "num_output_tokens": 2, "error_code": None}]},
    "otel": {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN, {**SPAN, "spanId": "b"}]}]}]},
    "native": {"status": "success", "data": {"resultType": "vector", "result": [
        {"metric": {"__name__": "vllm:request_prompt_tokens"}, "histogram":
         [1, {"sum": "9", "buckets": [[0, "0", "4", "3"], [0, "4", "8", "6"]]}]}]}},
    "running": {"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"__name__": "vllm:num_requests_running"}, "values": [[1, "3"], [2, "0"]]}]}},
    "litellm": [{"startTime": "2026-01-01 00:00:00", "call_type": "acompletion", "spend": 1,
                 "status": "success", "cache_hit": "False", "model_group": "g", **USAGE}] * 2,
    "trtllm": [{"iter": 1, "iterLatencyMS": 2.0, "inflightBatchingStats":
                {"numContextRequests": 0, "numGenRequests": 4},
                "kvCacheStats": {"maxNumBlocks": 9, "tokensPerBlock": 32}}] * 2,
    "workload": [{"timestamp": 1, "requests": [{"Prompt Length": 4, "Output Length": 3}]}] * 2,
    "baseten": [{"timestamp_start_unix_ms": 1, "input_tokens": 2, "output_tokens": 3}] * 2,
    "sums": {"object": "page", "data": [{"results": [
        {"input_tokens": 5, "output_tokens": 2, "num_model_requests": 3}]}]},
    "counts": {"5": 3, "7": 1},
    "pairs": [[5, 2], [6, 3]],
    "weights": [{"length": 5, "count": 2}, {"length": 6, "count": 1}],
    "columns": {"input_tokens": [5, 6], "output_tokens": [7, 8], "timestamp": [1, 2]},
    "report": {"successes": {"prompt_len": {"mean": 5.0, "p50": 4.0}}, "failures": {}},
    "usage": [{"object": "chat.completion", "created": 1, "model": "m", "usage": USAGE}] * 2,
    "batch": [{"custom_id": "a", "response": {"body": {"usage": USAGE}}, "error": None}] * 2,
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_other_documents_with_other_types_inside(name: str) -> None:
    """Hand-made documents of the remaining formats bear any change of type, and any option."""
    rng = random.Random(name)
    read_or_fail(json.dumps(DOCUMENTS[name]).encode(), "upload", ReadOptions())
    for _ in range(3 * SEEDS):
        text = json.dumps(changed(DOCUMENTS[name], rng, rng.choice((0.02, 0.1, 0.3))))
        options = ReadOptions(
            part=rng.choice((None, "all", "1", "x")),
            model=rng.choice((None, None, "m")),
            histogram_of=rng.choice((None, "output", "batch")),
            time_unit=rng.choice(("auto", "ms")),
            spread_ticks=rng.random() < 0.3,
        )
        read_or_sentence(text.encode(), options)


def test_what_no_reader_foresaw_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should a reader fail all the same, the page still gets one sentence."""

    def broken(*_: object) -> None:
        raise IndexError("secret")

    monkeypatch.setattr(sys.modules["core.readers.sniff"], "choose", broken)
    with pytest.raises(ProjectError, match="cannot be read \\(IndexError\\)") as caught:
        read(b"prompt_tokens,output_tokens\n1,2\n", name="x.csv")
    assert "secret" not in str(caught.value)
