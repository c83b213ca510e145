"""Every sample of a tool, a gateway, an engine or an array agrees with what was computed apart."""

from __future__ import annotations

import pytest

from core.readers import read
from core.records import Grade
from tests.core.readers.sample import TRACES, check_lengths, expected_tools

FORMAT_OF = {
    "burstgpt.csv": ("burstgpt-csv", Grade.REQUESTS),
    "litellm.csv": ("litellm", Grade.REQUESTS),
    "bailian.jsonl": ("bailian-jsonl", Grade.REQUESTS),
    "openai_usage.jsonl": ("openai-usage", Grade.REQUESTS),
    "prompt_lengths.json": ("json-lengths", Grade.LENGTHS),
    "lengths.npy": ("numpy", Grade.LENGTHS),
    "pairs.npy": ("numpy", Grade.LENGTHS),
    "azure_code.parquet": ("parquet", Grade.REQUESTS),
    "vllm_bench_detailed.json": ("vllm-bench", Grade.REQUESTS),
    "sglang_bench.jsonl": ("sglang-bench", Grade.LENGTHS),
    "aiperf.jsonl": ("aiperf-jsonl", Grade.REQUESTS),
    "guidellm.json.gz": ("guidellm", Grade.REQUESTS),
    "llmperf.json": ("llmperf", Grade.LENGTHS),
    "engine_run.json": ("engine-run", Grade.STEPS),
}


@pytest.mark.parametrize("name", FORMAT_OF)
def test_sample(name: str) -> None:
    """Format, grade, rows, percentiles, totals and duration are right."""
    reading = read(TRACES / name)
    form, grade = FORMAT_OF[name]
    assert (reading.format, reading.grade) == (form, grade)
    check_lengths(reading, expected_tools()[name])
    if name.startswith("engine_run"):
        assert reading.steps is not None
        pairs = zip(reading.steps.sizes.tolist(), reading.steps.steps.tolist(), strict=True)
        assert {str(a): b for a, b in pairs} == expected_tools()[name]["steps"]


@pytest.mark.parametrize(
    ("name", "form", "grade"),
    [
        ("hist_ranges.csv", "ranges", Grade.SUMS),
        ("prom_vllm_metrics.txt", "prometheus-text", Grade.SUMS),
        ("prom_sglang_metrics.txt", "prometheus-text", Grade.SUMS),
        ("vllm-0.23.prom", "prometheus-text", Grade.SUMS),
        ("prom_instant_vector.json", "prometheus-api", Grade.SUMS),
        ("prom_range_matrix_cumulative.json", "prometheus-api", Grade.SUMS),
        ("vllm_bench_summary.json", "vllm-bench", Grade.SUMS),
        ("aiperf_summary.json", "aiperf-summary", Grade.SUMS),
        ("guidellm.csv", "guidellm-csv", Grade.SUMS),
        ("servegen-trace.csv", "servegen-trace", Grade.SUMS),
        ("servegen-dataset.json", "servegen", Grade.LENGTHS),
        ("sglang_decode.log", "sglang-log", Grade.STEPS),
        ("vllm-0.23-default.log", "vllm-log", Grade.STEPS),
        ("vllm-0.23-pow2.log", "vllm-log", Grade.STEPS),
        ("vllm-0.23-eager.log", "vllm-log", Grade.STEPS),
        ("vidur_splitwise_conv.csv", "vidur-csv", Grade.REQUESTS),
        ("vidur_arxiv.csv", "etalon-csv", Grade.LENGTHS),
        ("aibrix.csv", "aibrix-csv", Grade.REQUESTS),
        ("splitwise_sim.csv", "splitwise-sim-csv", Grade.REQUESTS),
    ],
)
def test_named_format_and_grade(name: str, form: str, grade: Grade) -> None:
    """Each sample is recognised by its own reader, whatever its name, with the right grade."""
    reading = read((TRACES / name).read_bytes(), name="anything")
    assert (reading.format, reading.grade) == (form, grade)


def test_all_samples_are_checked_somewhere() -> None:
    """No sample lies in the folder without a right value."""
    from tests.core.readers.sample import expected

    known = {*expected(), *expected_tools(), *FORMAT_OF}
    others = {
        "hist_ranges.csv", "vllm-0.23.prom", "vllm_bench_summary.json", "aiperf_summary.json",
        "guidellm.csv", "servegen-trace.csv", "servegen-dataset.json",
    }  # fmt: skip
    for path in TRACES.iterdir():
        if path.suffix in (".md", ".py") or path.name.startswith(("expected", "__")):
            continue
        assert path.name in known | others or path.name.startswith(("prom_", "vllm-0.23-")), path
