"""Prometheus' text, its HTTP API, Grafana's exports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import FileContentError
from core.readers import ReadOptions, read
from core.readers.common.exposition import parse_sample
from core.records import Grade, Origin
from tests.core.readers.sample import TRACES, expected

PROMPT = "vllm:request_prompt_tokens"


def counts(reading, what: str = "prompt") -> dict[Any, Any]:
    return {up_to: n for _, up_to, n in reading.facts[f"{what}_ranges"]}


def test_engines_are_added_and_the_mean_is_exact() -> None:
    """Two engines of one server add up to the 12,000 requests that were put in."""
    reading = read(TRACES / "prom_vllm_metrics.txt")
    whole = expected()["hist_prompt_length_count.csv"]
    assert reading.grade is Grade.SUMS and reading.prompt_lengths is None
    assert reading.facts["prompt_count"] == whole["requests"]
    assert reading.facts["prompt_total_tokens"] == whole["length"]["total"]
    low, high = reading.facts["prompt_quantile_ranges"]["p50"]
    assert low < whole["length"]["p50"] <= high
    assert any("above 10,000" in warning for warning in reading.warnings)


def test_real_scrape_tells_kv_blocks_and_steps() -> None:
    """A real engine's scrape: KV blocks, step tokens in its own bounds, exact means."""
    reading = read(TRACES / "vllm-0.23.prom")
    assert reading.facts["kv_blocks"] == 52548 and reading.facts["kv_tokens"] == 840768
    assert reading.facts["step_tokens_count"] == 5164
    assert reading.facts["prompt_mean_tokens"] == pytest.approx(1760974 / 3418)


SCRAPE = f"""\
# HELP {PROMPT} Number of prefill tokens
# TYPE {PROMPT} histogram
{PROMPT}_bucket{{model_name="a",le="+Inf",engine="0"}} 1e+01
{PROMPT}_bucket{{le="5e0",model_name="a",engine="0",}} 4.0 1700000000000
{PROMPT}_bucket{{le="10.0",model_name="a",engine="0"}} 9 # {{trace_id="x"}} 7 1.0
{PROMPT}_bucket{{le="+Inf",model_name="a",engine="1"}} 2
{PROMPT}_bucket{{le="5.0",model_name="a",engine="1"}} 1
{PROMPT}_bucket{{le="10.0",model_name="a",engine="1"}} NaN
{PROMPT}_bucket{{le="10.0",model_name="b {{,}} \\"x\\"",engine="0"}} 3
{PROMPT}_bucket{{le="+Inf",model_name="b {{,}} \\"x\\"",engine="0"}} 3
{PROMPT}_sum{{model_name="a",engine="0"}} 70
{PROMPT}_created{{model_name="a",engine="0"}} 1.7e9
vllm:request_params_max_tokens_bucket{{le="+Inf",model_name="a"}} 99
# EOF
{PROMPT}_bucket{{le="+Inf",model_name="a",engine="0"}} 1000
"""


def test_exposition_details() -> None:
    """Order of labels, exponents, exemplars, times, NaN, odd label values, the end mark."""
    reading = read(SCRAPE.encode())
    # engine 0: 4, 9, 10; engine 1: 1, -, 2 -> up to 5: 5, up to 10: 9 (+NaN left out), all: 12
    assert counts(reading) == {5.0: 5, 10.0: 4, None: 3}
    assert reading.facts["prompt_total_tokens"] == 70
    assert reading.facts["models"] == {"a": 12.0, 'b {,} "x"': 3.0}
    assert reading.dropped == {"series of another model": 2}
    other = read(SCRAPE.encode(), options=ReadOptions(model='b {,} "x"'))
    assert counts(other) == {10.0: 3, None: 0}
    with pytest.raises(FileContentError, match="no series of the model 'c'"):
        read(SCRAPE.encode(), options=ReadOptions(model="c"))


def test_limits_and_latencies_are_not_lengths() -> None:
    """A scrape that has only limits and latencies is said to hold no lengths."""
    names = ("vllm:request_params_max_tokens", "vllm:time_to_first_token_seconds")
    text = "".join(f'# TYPE {n} histogram\n{n}_bucket{{le="+Inf"}} 5\n' for n in names)
    with pytest.raises(FileContentError, match="without a histogram of prompt"):
        read(text.encode(), name="scrape")


def test_unit_wide_buckets_are_exact_steps() -> None:
    """TGI counts batch sizes one by one: that is a step histogram, no estimate."""
    lines = [f'tgi_batch_next_size_bucket{{le="{i}"}} {n}' for i, n in enumerate([0, 3, 3, 7], 0)]
    text = "# TYPE tgi_batch_next_size histogram\n" + "\n".join(lines)
    reading = read((text + '\ntgi_batch_next_size_bucket{le="+Inf"} 7\n').encode())
    assert reading.grade is Grade.STEPS and reading.steps is not None
    assert reading.steps.sizes.tolist() == [1, 3] and reading.steps.steps.tolist() == [3, 4]
    assert reading.steps.origin is Origin.MEASURED


def test_sample_lines() -> None:
    """Lines that are no samples are told from those that are."""
    assert parse_sample("# TYPE x counter") is None
    assert parse_sample("a{b=}") is None
    assert parse_sample("hello world and more") is None
    sample = parse_sample('up{a="\\\\\\n"} 1')
    assert sample is not None and sample.labels == {"a": "\\\n"}


def matrix(series: dict[str, list[str]], name: str = f"{PROMPT}_bucket") -> bytes:
    result = [
        {"metric": {"__name__": name, "le": le}, "values": [[60 * i, v] for i, v in enumerate(vs)]}
        for le, vs in series.items()
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return json.dumps(answer).encode()


def test_range_of_counters_with_a_reset() -> None:
    """Last minus first, with what stood before a restart added back."""
    reading = read(matrix({"10": ["100", "104", "1", "3"], "+Inf": ["200", "210", "2", "6"]}))
    # up to 10: +4, restart at 1, +2 = 7; all: +10, restart at 2, +4 = 16
    assert counts(reading) == {10.0: 7, None: 9}
    assert reading.facts["resets"] == 2 and reading.facts["window_s"] == 180


def test_range_of_increases_is_added() -> None:
    """increase() is differenced already: its values are summed, fractions kept."""
    reading = read(matrix({"10": ["1.5", "9", "8.5"], "+Inf": ["2.5", "12", "11"]}))
    assert counts(reading) == {10.0: 19.0, None: 6.5}
    assert any("differences already" in warning for warning in reading.warnings)


def test_range_from_the_servers_start() -> None:
    """A range that begins at the start keeps its first values."""
    reading = read(TRACES / "prom_range_matrix_cumulative.json")
    assert reading.facts["prompt_count"] == 12000
    assert any("dropped the metric's name" in warning for warning in reading.warnings)


def test_instant_query_adds_instances() -> None:
    """Two instances of a vector add up, in any order."""
    assert read(TRACES / "prom_instant_vector.json").facts["prompt_count"] == 12000


def test_error_answer_and_empty_answer() -> None:
    """An error of the API, and an answer without lengths, are one sentence each."""
    bad = {"status": "error", "errorType": "bad_data", "error": "parse error"}
    with pytest.raises(FileContentError, match="answered with an error \\(bad_data\\)"):
        read(json.dumps(bad).encode())
    with pytest.raises(FileContentError, match="no series of prompt"):
        read(b'{"status": "success", "data": {"resultType": "vector", "result": []}}')


def test_running_requests_over_time_are_samples() -> None:
    """A gauge of running requests gives coarse step sizes; idle samples are left out."""
    result = [
        {"metric": {"__name__": "vllm:num_requests_running", "engine": str(e)},
         "values": [[0, "3"], [15, "0"], [30, "4"]]} for e in (0, 1)
    ]  # fmt: skip
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    reading = read(json.dumps(answer).encode())
    assert reading.steps is not None and reading.steps.sizes.tolist() == [3, 4]
    assert reading.steps.steps.tolist() == [2, 2]
    assert reading.steps.origin is Origin.ESTIMATED and reading.kept == 4 and reading.rows == 6


def test_native_histogram() -> None:
    """Native buckets are counts a bucket, not cumulative."""
    value = {"count": "9", "sum": "50", "buckets": [[0, "0", "4", "3"], [0, "4", "8", "6"]]}
    result = [{"metric": {"__name__": PROMPT}, "histogram": [0, value]}]
    answer = {"status": "success", "data": {"resultType": "vector", "result": result}}
    reading = read(json.dumps(answer).encode())
    assert counts(reading) == {4.0: 3, 8.0: 6}
    assert reading.facts["prompt_total_tokens"] == 50


@pytest.mark.parametrize("header", ['"Time","le=10","le=20","le=+Inf"', '"Time","10","20","+Inf"'])
def test_grafana_panels(header: str) -> None:
    """Cumulative counters and differenced heat maps are told apart."""
    counters = f"{header}\n1700000000000,100,200,300\n1700000060000,101,204,305\n"
    # rises: 1, 4, 5 cumulative -> 1, 3, 1
    assert counts(read(counters.encode())) == {10.0: 1, 20.0: 3, None: 1}
    heat = f"{header}\n1700000000000,5,2,1\n1700000060000,4,3,0\n"
    assert counts(read(heat.encode())) == {10.0: 9, 20.0: 5, None: 1}
