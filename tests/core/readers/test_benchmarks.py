"""Outputs of benchmark tools: runs are chosen, closed loops named, failures counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import FileContentError, SettingError
from core.readers import ReadOptions, read
from core.records import Grade
from tests.core.readers.sample import TRACES


def run_of(rate: Any = 8.0, limit: Any = None, **more: Any) -> dict[str, Any]:
    """A vLLM result of three requests, the second failed."""
    return {
        "date": "20261130-042441", "model_id": "m", "tokenizer_id": "t", "num_prompts": 3,
        "backend": "openai", "endpoint_type": "openai", "request_rate": rate,
        "max_concurrency": limit, "completed": 2, "total_input_tokens": 30,
        "total_output_tokens": 7, "input_lens": [10, 15, 20], "output_lens": [3, 0, 4],
        "errors": ["", "503", ""], "start_times": [100.0, 100.5, 102.0],
        "generated_texts": ["secret one", "", "secret two"], **more,
    }  # fmt: skip


def test_vllm_failed_requests_are_left_out() -> None:
    """Prompts of failed requests are in input_lens and must not count; texts are not kept."""
    reading = read(json.dumps(run_of()).encode())
    assert reading.trace is not None and reading.trace.prompt_tokens.tolist() == [10, 20]
    assert reading.dropped == {"request failed (the benchmark noted an error)": 1}
    assert reading.trace.duration_s == 2.0 and "secret" not in repr(reading)


@pytest.mark.parametrize(("rate", "limit"), [("inf", None), (float("inf"), None), (8.0, 16)])
def test_closed_loops_are_named(rate: Any, limit: Any) -> None:
    """Arrivals made by the client are said not to be demand."""
    text = json.dumps(run_of(rate, limit))
    warnings = " ".join(read(text.encode()).warnings)
    assert "demand" in warnings
    assert "demand" not in " ".join(read(json.dumps(run_of()).encode()).warnings)


def test_vllm_appended_results() -> None:
    """Several results back to back: the same settings are pooled, others must be chosen."""
    same = json.dumps(run_of(), indent=1) + json.dumps(run_of(), indent=1)
    pooled = read(same.encode())
    assert pooled.kept == 4 and any("pooled" in warning for warning in pooled.warnings)
    assert pooled.trace is not None and pooled.trace.duration_s == 4.0  # one run after the other
    differ = json.dumps(run_of()) + "\n" + json.dumps(run_of(rate=2.0))
    first = read(differ.encode())
    assert first.kept == 2 and first.dropped["another run of the file"] == 3
    assert len(first.facts["parts"]) == 2
    both = read(differ.encode(), options=ReadOptions(part="all"))
    second = read(differ.encode(), options=ReadOptions(part="2"))
    assert both.kept == 4 and second.kept == 2
    with pytest.raises(SettingError, match="no part '3'"):
        read(differ.encode(), options=ReadOptions(part="3"))


def test_older_layout_without_start_times_and_summary() -> None:
    """No start_times: lengths alone. No arrays: sums, and how to run again."""
    old = run_of()
    del old["start_times"]
    assert read(json.dumps(old).encode()).grade is Grade.LENGTHS
    summary = read(TRACES / "vllm_bench_summary.json")
    assert summary.facts["prompt_mean_tokens"] == pytest.approx(7310 / 37)
    assert any("--save-detailed" in warning for warning in summary.warnings)


def test_uneven_arrays_are_counted() -> None:
    """A request without a partner in the other array is named, not guessed."""
    reading = read(json.dumps(run_of(output_lens=[3, 0])).encode())
    assert reading.dropped["arrays of the run differ in length: the request has no partner"] == 1


def test_sglang_runs_and_rates() -> None:
    """A line is a run; its rate is an assumption; runs of other shapes are not pooled unasked."""
    reading = read(TRACES / "sglang_bench.jsonl")
    assert reading.facts["request_rate_rps"] == 8.0
    assert any("Poisson" in warning for warning in reading.warnings)
    runs = [json.loads(line) for line in (TRACES / "sglang_bench.jsonl").read_text().splitlines()]
    runs[1]["random_output_len"] = 999
    text = "\n".join(json.dumps(run) for run in runs)
    assert read(text.encode()).dropped["another run of the file"] == 25
    for run in runs:
        for key in ("input_lens", "output_lens"):
            del run[key]
    summary = read("\n".join(json.dumps(run) for run in runs).encode())
    assert summary.grade is Grade.SUMS
    assert any("--output-details" in warning for warning in summary.warnings)


def test_aiperf_phases_and_cancelled_requests() -> None:
    """Warm-up, failed and cancelled rows are left out, each with its reason."""
    rows = [json.loads(line) for line in (TRACES / "aiperf.jsonl").read_text().splitlines()]
    rows = [row for row in rows if not row.get("error")][:3]
    rows[0]["metadata"]["benchmark_phase"] = "warmup"
    rows[1]["metadata"]["was_cancelled"] = True
    reading = read("\n".join(json.dumps(row) for row in rows).encode())
    assert reading.kept == 1
    assert sorted(reading.dropped) == [
        "request was cancelled", "warm-up, not the measured phase"
    ]  # fmt: skip


def test_aiperf_summary_in_json_and_csv() -> None:
    """Percentiles and means are facts, not lengths."""
    facts = read(TRACES / "aiperf_summary.json").facts
    assert facts["prompt_percentiles"]["p50"] == 888.0 and facts["output_total_tokens"] == 12047
    text = (
        "Metric,avg,min,max,p99,p90,p50\n"
        "Input Sequence Length (tokens),908.02,2,4107,4089.86,1350.2,888\n"
        "Output Sequence Length (tokens),70.86,8,388,278.34,153,58\n\n"
        "Metric,Value\nRequest Throughput (requests/sec),2.96\nRequest Count,170\n"
    )
    reading = read(text.encode())
    assert reading.format == "aiperf-summary"
    assert reading.facts["prompt_percentiles"] == {"p99": 4089.86, "p90": 1350.2, "p50": 888.0}
    assert reading.facts["completed"] == 170


def guidellm(kind: str, **layout: Any) -> dict[str, Any]:
    row = {"prompt_tokens": 10, "output_tokens": 4, "output": "secret", **layout}
    return {
        "config": {"strategy": {"type_": kind, "rate": 5.0}},
        "requests": {"successful": [row, row], "errored": [{**row, "output_tokens": None}],
                     "incomplete": [row], "total": None},
    }  # fmt: skip


@pytest.mark.parametrize("key", ["request_start_time", "start_time"])
def test_guidellm_layouts(key: str) -> None:
    """Both layouts are read; errored and incomplete requests are counted apart."""
    report = {"benchmarks": [guidellm("constant", **{key: 1796013684.9})]}
    reading = read(json.dumps(report).encode())
    assert reading.kept == 2
    assert reading.dropped == {
        "request failed (the benchmark noted an error)": 1,
        "request had not ended when the benchmark did": 1,
    }
    assert "secret" not in repr(reading)


def test_guidellm_rates_are_not_pooled() -> None:
    """Several benchmarks: the first is read unless the user asks for others."""
    report = {
        "benchmarks": [
            guidellm("concurrent", start_time=1.0), guidellm("poisson", start_time=2.0)
        ]
    }  # fmt: skip
    reading = read(json.dumps(report).encode())
    assert reading.dropped["another run of the file"] == 4
    assert any("Closed loop (strategy concurrent)" in warning for warning in reading.warnings)
    assert read(json.dumps(report).encode(), options=ReadOptions(part="all")).kept == 4


def test_guidellm_csv_percentiles() -> None:
    """The list in a cell has no median; it stands in a column of its own."""
    facts = read(TRACES / "guidellm.csv").facts
    assert facts["prompt_median_tokens"] == 231 and facts["prompt_percentiles"]["p90"] == 421
    assert facts["output_percentiles"]["max"] == 238 and facts["completed"] == 79


def test_inference_perf() -> None:
    """Text and image tokens are one prompt; bodies are not kept."""
    row = {
        "start_time": 5.0, "end_time": 6.0, "request": '{"prompt": "secret"}', "response": "secret",
        "info": {"request_metrics": {"text": {"input_tokens": 10}, "image": {"input_tokens": 5}},
                 "response_metrics": {"output_tokens": 3}}, "error": None,
    }  # fmt: skip
    old = {**row, "start_time": 7.5, "info": {"input_tokens": 8, "output_tokens": 2}}
    reading = read(json.dumps([row, old, {**row, "error": {"error_type": "x"}}]).encode())
    assert reading.format == "inference-perf" and reading.trace is not None
    assert reading.trace.prompt_tokens.tolist() == [15, 8]
    assert reading.trace.duration_s == 2.5 and "secret" not in repr(reading)


def test_genai_bench() -> None:
    """Lengths without arrivals; rows with an error code are left out."""
    rows = [{"num_input_tokens": 5, "num_output_tokens": 2, "error_code": code} for code in
            (None, 429)]  # fmt: skip
    document = {
        "aggregated_metrics": {"num_concurrency": 4},
        "individual_request_metrics": rows,
    }
    reading = read(json.dumps(document).encode())
    assert reading.kept == 1 and reading.grade is Grade.LENGTHS
    assert any("at most 4 requests at once" in warning for warning in reading.warnings)


def test_genai_perf_needs_usage() -> None:
    """Token counts come from `usage` alone; without it the row is counted as unknown."""
    answer = 'data: {"choices": [{"text": "secret"}], "usage": {"prompt_tokens": 9, '
    answer += '"completion_tokens": 2}}'
    requests = [
        {"timestamp": 10**18, "response_outputs": [{"response": answer}]},
        {"timestamp": 10**18 + 5 * 10**9, "response_outputs": [{"response": "secret"}]},
    ]
    document = {
        "experiments": [
            {"experiment": {"mode": "concurrency", "value": 3}, "requests": requests}
        ]
    }  # fmt: skip
    reading = read(json.dumps(document).encode())
    assert reading.kept == 1 and "secret" not in repr(reading)
    assert reading.dropped == {"the server sent no usage: token counts are unknown": 1}
    document["experiments"][0]["requests"] = requests[1:]
    with pytest.raises(FileContentError, match="sent no usage"):
        read(json.dumps(document).encode())


def test_llmperf_codes() -> None:
    """429s are left out; "too few tokens" rows were really generated."""
    rows = [{"number_input_tokens": 550, "number_output_tokens": n, "error_code": code}
            for n, code in ((150, None), (1, 429), (20, -100))]  # fmt: skip
    reading = read(json.dumps(rows).encode())
    assert reading.trace is not None and reading.trace.output_tokens.tolist() == [150, 20]


def test_aibrix_workload() -> None:
    """Several requests a line share its instant; prompts are not kept."""
    lines = [
        {"timestamp": 0, "requests": [
            {"Prompt Length": 5, "Output Length": 2, "prompt": "secret"},
            {"Prompt Length": 6, "Output Length": 0}]},
        {"timestamp": 1500, "requests": [{"Prompt Length": 7, "Output Length": 3}]},
        {"timestamp": 1500, "requests": None},
    ]  # fmt: skip
    reading = read("\n".join(json.dumps(line) for line in lines).encode())
    assert reading.format == "aibrix-workload" and reading.trace is not None
    assert reading.trace.prompt_tokens.tolist() == [5, 7] and reading.trace.duration_s == 1.5
    assert reading.rows == 4 and "secret" not in repr(reading)


def test_baseten_and_sglang_request_files() -> None:
    """Milliseconds since 1970 in one, seconds in the other; aborted requests left out."""
    row = {"timestamp_start_unix_ms": 1700000000000, "input_tokens": 5, "output_tokens": 2,
           "total_hashes": 1, "prompt": "secret"}  # fmt: skip
    late = {**row, "timestamp_start_unix_ms": 1700000000500}
    reading = read("\n".join(json.dumps(r) for r in (row, late)).encode())
    assert reading.format == "baseten" and reading.trace is not None
    assert reading.trace.duration_s == 0.5 and "secret" not in repr(reading)
    row = {"request_received_ts": 1700000000.5, "prompt_tokens": 5, "completion_tokens": 2,
           "cached_tokens": 3, "finish_reason": {"type": "stop"},
           "request_parameters": '{"text": "secret"}'}  # fmt: skip
    gone = {**row, "finish_reason": {"type": "abort"}}
    reading = read("\n".join(json.dumps(r) for r in (row, gone)).encode())
    assert reading.format == "sglang-requests" and reading.kept == 1
    assert reading.dropped == {"request was aborted": 1} and "secret" not in repr(reading)


def test_reports_of_statistics() -> None:
    """inference-perf's and llm-d's summaries give means and percentiles, and say what to give."""
    llmd = {"version": "0.1", "metrics": {"requests": {
        "input_length": {"units": "count", "mean": 100.5, "p50": 90, "max": 300},
        "output_length": {"mean": 20.0}}}}  # fmt: skip
    perf = {"successes": {"count": 5, "prompt_len": {"mean": 7.0, "p99.9": 9.0}}, "failures": {}}
    reading = read(json.dumps(llmd).encode())
    assert reading.grade is Grade.SUMS and reading.facts["prompt_mean_tokens"] == 100.5
    assert reading.facts["prompt_percentiles"] == {"p50": 90.0}
    assert reading.facts["output_mean_tokens"] == 20.0
    assert read(json.dumps(perf).encode()).facts["prompt_percentiles"] == {"p99.9": 9.0}
