"""Start-up logs: three of a real engine agree with the rules; other engines' lines are read."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.check import check
from core.logs.record import EngineLog
from tests.conftest import DATA

LOGS = DATA / "engine_logs"
VLLM = ENGINES["vllm"]
POW2 = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def log(name: str) -> str:
    with (LOGS / f"vllm-0.23-h200-{name}.log").open(encoding="utf-8", newline="") as file:
        return file.read()


def stated(engine: str, text: str) -> EngineLog:
    form = ENGINES[engine].log_form
    assert form is not None
    return form.read(text)


def test_default_log_agrees_with_the_rule() -> None:
    """0.23.0 with 256 requests captures the 51 sizes of the rule, 51 piecewise and 35 full."""
    report = check(VLLM, text=log("default"))
    assert report.version == "0.23.0"
    rule = VLLM.default_sizes("0.23.0", {"max_num_seqs": 256, "max_num_batched_tokens": 2048})
    assert report.sizes == rule.sizes
    assert len(rule.sizes) == 51
    assert report.log is not None and report.plan is not None
    assert report.log.plain_graphs == {"piecewise": 51, "full": 35}
    assert {c.what: c.graphs for c in report.plan.counts} == report.log.plain_graphs
    assert report.log.capture_s == 4
    assert report.log.graph_gib == 0.59
    assert report.log.kv_tokens == 840_768
    ids = [finding.id for finding in report.findings]
    assert "log-differs" not in ids
    text = next(f.text for f in report.findings if f.id == "log-list")
    assert "by default" in text
    assert any("256 or more and below 272" in note for note in report.notes)


def test_set_list_in_the_log() -> None:
    """A list of 9 that was set: 9 and 9 graphs, and it is not the default."""
    report = check(VLLM, text=log("pow2"))
    assert report.sizes == POW2
    assert report.log is not None and report.plan is not None
    assert report.log.plain_graphs == {"piecewise": 9, "full": 9}
    assert {c.what: c.graphs for c in report.plan.counts} == report.log.plain_graphs
    assert "not this release's default of 51" in next(
        f.text for f in report.findings if f.id == "log-list"
    )


def test_eager_log_captures_nothing() -> None:
    """enforce_eager: an empty list, no graphs, and a warning."""
    report = check(VLLM, text=log("eager"))
    assert report.sizes == ()
    assert report.plan is not None and report.plan.graphs == 0
    assert report.log is not None and report.log.sizes == ()
    assert [f.id for f in report.findings][:1] == ["graphs-off"]


def test_count_that_differs_is_reported() -> None:
    """A log with 30 full graphs where its own max_num_seqs gives 35 is not explained away."""
    text = log("default").replace("| 35/35", "| 30/30")
    text += "\nINFO non-default args: {'model': 'x', 'max_num_seqs': 256}\n"
    report = check(VLLM, text=text)
    assert "30 full graphs, the rule says 35" in next(
        f.text for f in report.findings if f.id == "log-differs"
    )


OTHERS = [
    (
        "sglang",
        "[2026-11-30 12:00:00 TP0] Capture target decode CUDA graph end. bs=[1, 2, 4, 8, 12, 16, "
        "24, 32], elapsed=12.34 s, mem usage=0.83 GB, avail mem=10.81 GB.",
        (1, 2, 4, 8, 12, 16, 24, 32),
        {"capture_s": 12.34, "graph_gib": 0.83},
    ),
    (
        "sglang",
        "[2026-11-30 12:00:00] Capture cuda graph bs [1, 2, 4]\n"
        "Capture cuda graph end. Time elapsed: 5.00 s. mem usage=0.40 GB. avail mem=10.00 GB.\n"
        "max_total_num_tokens=1000, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=64, context_len=4096, available_gpu_mem=3.00 GB",
        (1, 2, 4),
        {"capture_s": 5.0, "graph_gib": 0.4, "kv_tokens": 1000},
    ),
    (
        "trtllm",
        "[11/30/2026-12:00:00] [TRT-LLM] [I] Creating CUDA graph instances for 2 batch sizes.\n"
        "[TRT-LLM] [I] Run generation only CUDA graph warmup for batch size=8, draft_len=0\n"
        "[TRT-LLM] [I] Run generation-only CUDA graph warmup (x) for batch size=4, draft_len=0\n",
        (4, 8),
        {"graphs": 2},
    ),
    (
        "tgi",
        "INFO Cuda Graphs are enabled for sizes [32, 16, 8, 4, 2, 1]",
        (1, 2, 4, 8, 16, 32),
        {},
    ),
    (
        "fastdeploy",
        "[CUDA GRAPH][ID:1] CUDAGraph capture list [8, 4, 2, 1], Created all real shape entry.",
        (1, 2, 4, 8),
        {},
    ),
    ("mini-sglang", "Start capturing CUDA graphs with sizes: [1, 2, 4]", (1, 2, 4), {}),
    (
        "gaudi",
        "Generated 3 decode buckets [bs, query, num_blocks]: [(1, 1, 128), (4, 1, 128), "
        "(4, 1, 256)]\nWarmup finished in 61 secs, allocated 1.20 GiB of device memory",
        (1, 4),
        {"capture_s": 61},
    ),
    (
        "ascend",
        "Initializing a V1 LLM engine (v0.25.1) with config: enforce_eager=False, "
        "compilation_config={'cudagraph_capture_sizes': [8, 4, 2, 1]}",
        (1, 2, 4, 8),
        {},
    ),
]


@pytest.mark.parametrize(("engine", "text", "sizes", "facts"), OTHERS)
def test_lines_of_other_engines(
    engine: str, text: str, sizes: tuple[int, ...], facts: dict[str, object]
) -> None:
    """The captured list and the figures beside it, ascending whatever order was printed."""
    found = stated(engine, text)
    assert found.sizes == sizes
    assert facts.items() <= found.plain_facts.items()
    report = check(ENGINES[engine], text=text)
    assert report.source == "start-up log"
    assert set(report.sizes) >= set(sizes) or report.plan is None


def test_tgi_says_that_graphs_are_off() -> None:
    """`Cuda Graphs are disabled` means an empty list."""
    report = check(ENGINES["tgi"], text="INFO Cuda Graphs are disabled (CUDA_GRAPHS=0)")
    assert report.sizes == ()
    assert report.findings[0].id == "graphs-off"


def test_older_progress_bar_and_worker_prefix() -> None:
    """0.9 prints one bar of shapes; a worker's prefix is no obstacle."""
    text = (
        "(VllmWorker rank=0 pid=401) INFO 05-01 12:00:00 [core.py:1] Initializing a V1 LLM engine "
        "(v0.9.2) with config: tensor_parallel_size=2, speculative_config=SpeculativeConfig("
        "num_spec_tokens=3), 'cudagraph_capture_sizes': [16, 8, 4, 2, 1]\n"
        "Capturing CUDA graph shapes: 100%|##########| 5/5 [00:02<00:00, 3.29it/s]\n"
        "(VllmWorker rank=0 pid=401) INFO Graph capturing finished in 2 secs, took 0.05 GiB\n"
    )
    found = stated("vllm", text)
    assert found.release is not None
    assert (found.release.value, found.sizes) == ("0.9.2", (1, 2, 4, 8, 16))
    assert found.plain_settings["tensor_parallel_size"] == 2
    assert found.plain_settings["num_speculative_tokens"] == 3
    assert found.plain_graphs == {"piecewise": 5}
