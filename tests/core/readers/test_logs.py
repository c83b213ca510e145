"""Engine logs: the LOG cases, every source of step sizes, captures of every shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.readers import Reading, read
from core.records import Grade, Origin, SizeUnit
from tests.core.readers.sample import TRACES, expected_tools

CASES = Path(__file__).resolve().parents[2] / "data" / "cases" / "cases.json"


def case(identity: str) -> dict[str, Any]:
    return next(c for c in json.loads(CASES.read_text()) if c["id"] == identity)


def of_case(identity: str, before: str = "") -> tuple[Reading, dict[str, Any]]:
    found = case(identity)
    return read((before + found["input"]["log"]).encode(), name="engine.log"), found["expect"]


def steps_of(reading: Reading) -> dict[int, int]:
    assert reading.steps is not None
    return dict(zip(reading.steps.sizes.tolist(), reading.steps.steps.tolist(), strict=True))


def test_case_d_log_01_vllm_capture_summary() -> None:
    """D-LOG-01: estimated and real graph memory, KV tokens, capture seconds."""
    reading, expect = of_case("D-LOG-01")
    names = {
        "estimated_GiB": "estimated_graph_gib", "kv_GiB": "kv_gib", "kv_tokens": "kv_tokens",
        "max_len": "max_model_len", "concurrency_x": "max_concurrency", "capture_s": "capture_s",
        "capture_GiB": "graph_gib", "under_estimate_GiB": "graph_under_estimate_gib",
    }  # fmt: skip
    assert {key: reading.facts[ours] for key, ours in names.items()} == expect
    assert reading.grade is Grade.SUMS and reading.steps is None
    assert any("--cudagraph-metrics" in warning for warning in reading.warnings)


def test_case_d_log_02_sglang_captures() -> None:
    """D-LOG-02: sizes, seconds and memory of the oldest form, and whether they add up."""
    reading, expect = of_case("D-LOG-02")
    (capture,) = reading.facts["captures"]
    assert capture == {
        "rank": expect["rank"], "kind": "decode", "sizes": expect["sizes"],
        "avail_before_gib": expect["avail_before_GB"], "elapsed_s": expect["elapsed_s"],
        "mem_gib": expect["mem_GB"], "avail_after_gib": expect["avail_after_GB"],
        "consistent": expect["consistent"],
    }  # fmt: skip
    assert reading.captured is not None and list(reading.captured.sizes) == expect["sizes"]


def test_case_d_log_03_sglang_decode_lines() -> None:
    """D-LOG-03: running requests and graph or not; lines are a sample of steps."""
    reading, expect = of_case("D-LOG-03")
    assert steps_of(reading) == {row["running"]: 40 for row in expect["rows"]}
    assert reading.facts["graph_share_pct"] == expect["graph_share_pct"]
    assert reading.facts["max_gen_tokens_per_s"] == max(r["tok_s"] for r in expect["rows"])
    assert reading.steps is not None and reading.steps.origin is Origin.ESTIMATED
    assert any("sample, one step in 40" in warning for warning in reading.warnings)


def test_case_d_log_04_tgi_memory() -> None:
    """D-LOG-04: sizes ascending, and free minus used equals what is available."""
    reading, expect = of_case("D-LOG-04")
    assert reading.captured is not None and list(reading.captured.sizes) == expect["sizes"]
    assert reading.facts["graph_mb"] == expect["used_MB"]
    assert reading.facts["available_mb"] == expect["available_MB"]
    assert reading.facts["free_minus_graphs_mb"] == expect["check_MB"]
    assert reading.facts["consistent"] is expect["consistent"]


def test_case_d_log_05_truncation() -> None:
    """D-LOG-05: with the server's arguments in the log, the batch that runs eager is named."""
    config = case("D-LOG-05")["input"]["config"]
    arguments = (
        f"INFO 11-30 04:31:14 [utils.py:1] non-default args: {{'max_num_seqs': "
        f"{config['max_num_seqs']}, 'speculative_config': {{'num_speculative_tokens': "
        f"{config['num_spec_tokens']}}}}}\n"
    )
    reading, expect = of_case("D-LOG-05", arguments)
    assert reading.facts["effective_max"] == expect["effective_max"]
    assert reading.facts["needed_max"] == expect["needed"]
    assert any("full verification batch of 42 tokens runs eager" in w for w in reading.warnings)
    alone, _ = of_case("D-LOG-05")
    assert alone.facts["effective_max"] == 40 and "needed_max" not in alone.facts


def test_case_d_log_06_capture_cut_by_memory() -> None:
    """D-LOG-06: how far the capture came, at which size it failed, what the first ones took."""
    reading, expect = of_case("D-LOG-06")
    facts = reading.facts
    assert facts["capture_done"] == expect["done"] and facts["capture_total"] == expect["total"]
    assert facts["capture_stopped_at"] == expect["failing_bs"]
    assert facts["capture_taken_gib"] == pytest.approx(expect["taken_GB"], abs=0.01)
    assert facts["out_of_memory"] is True
    assert any("left too little for graphs" in warning for warning in reading.warnings)


@pytest.mark.parametrize(
    ("name", "graph_gib", "capture_s", "sizes"),
    [("default", 0.59, 4, 51), ("pow2", 0.34, 1, 9), ("eager", None, None, 0)],
)
def test_real_vllm_logs(
    name: str, graph_gib: float | None, capture_s: int | None, sizes: int
) -> None:
    """Three runs of a real engine: version, capture list, seconds, graph and KV memory."""
    reading = read(TRACES / f"vllm-0.23-{name}.log")
    assert reading.facts["engine_version"] == "0.23.0"
    assert reading.facts.get("graph_gib") == graph_gib
    assert reading.facts.get("capture_s") == capture_s
    assert (len(reading.captured.sizes) if reading.captured else 0) == sizes
    assert reading.facts["kv_tokens"] == (847056 if name == "eager" else 840768)
    assert reading.steps is not None and reading.steps.origin is Origin.ESTIMATED
    if name == "default":
        bars = reading.facts["capture_progress"]
        assert bars["Capturing CUDA graphs (PIECEWISE)"]["done"] == 51
        assert bars["Capturing CUDA graphs (FULL)"]["total"] == 35
        # nine lines of statistics, Running: 79 147 14 111 122 124 211 252 31
        assert reading.rows == 9 and reading.steps.useful_slots == 1091
    if name == "eager":
        assert any("ran eager" in warning for warning in reading.warnings)


ITERATIONS = """\
(EngineCore pid=1) INFO 11-30 12:00:00 [core.py:9] Iteration(1): 1 context requests, 512 context \
tokens, 30 generation requests, 30 generation tokens, iteration elapsed time: 14.20 ms
Engine 000: Iteration(2): 0 context requests, 0 context tokens, 30 generation requests, \
30 generation tokens, iteration elapsed time: 6.00 ms, GPU KV cache usage: 1.0%
Engine 000: Iteration(3): 0 context requests, 0 context tokens, 30 generation requests, \
30 generation tokens, iteration elapsed time: 7.00 ms (dummy)
Engine 000: Iteration(4): 0 context requests, 0 context tok
"""


def test_vllm_iterations() -> None:
    """Every step counts its scheduled tokens; idle dummy steps and cut lines are left out."""
    reading = read(ITERATIONS.encode())
    assert steps_of(reading) == {542: 1, 30: 1}
    assert reading.steps is not None and reading.steps.unit is SizeUnit.TOKENS
    assert reading.steps.duration_s == pytest.approx(0.0202)
    assert reading.dropped == {
        "idle step of a data-parallel rank (dummy)": 1,
        "line is cut or damaged": 1,
    }
    assert reading.facts["decode_steps"] == 1 and reading.facts["mixed_steps"] == 1
    assert not reading.steps.decode_only


def test_vllm_iterations_without_a_prompt_only_decode() -> None:
    """A log that names no context request in any step is known to hold decode steps alone."""
    steps = read(ITERATIONS.partition("\n")[2].encode()).steps
    assert steps is not None and steps.decode_only and steps.total_steps == 1


def test_vllm_forward_times_take_the_last_line() -> None:
    """Counts since the start are not added; sizes are said to be padded; times are kept."""
    line = "Batchsize forward time stats (batchsize, count, median_time(ms)): "
    reading = read(f"{line}[(8, 100, 5.00)]\n{line}[(8, 120, 5.31), (16, 40, 6.02)]\n".encode())
    assert steps_of(reading) == {8: 120, 16: 40}
    assert reading.facts["median_step_ms"] == {"8": 5.31, "16": 6.02}
    assert any("after padding" in warning for warning in reading.warnings)


def test_vllm_running_lines_of_both_ages() -> None:
    """V0 and V1 lines are samples; zeros and sums over engines are left out."""
    lines = [
        "INFO 05-01 12:00:00 [metrics.py:486] Avg prompt throughput: 0.0 tokens/s, Avg generation "
        "throughput: 18.1 tokens/s, Running: 4 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV "
        "cache usage: 1.0%, CPU KV cache usage: 0.0%.",
        "Engine 001: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, "
        "Running: 0 reqs, Waiting: 0 reqs",
        "2 Engines Aggregated: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: "
        "2.0 tokens/s, Running: 9 reqs, Waiting: 0 reqs",
    ]
    reading = read("\n".join(lines).encode())
    assert steps_of(reading) == {4: 1}
    assert sorted(reading.dropped) == [
        "running requests of several engines together", "sample without a running request",
    ]  # fmt: skip


def test_tables_are_preferred_to_samples() -> None:
    """Where a log has tables and running lines, the tables are the histogram."""
    reading = read(TRACES / "vllm_cudagraph_stats.log")
    assert reading.facts["sources"].keys() == {"tables", "running"}
    assert reading.steps is not None and reading.steps.source == "vLLM CUDAGraph Stats"


def test_log_inside_a_collectors_json() -> None:
    """Lines that a container driver or a collector wrapped in JSON are unwrapped."""
    plain = (TRACES / "vllm_cudagraph_stats.log").read_text()
    for key in ("log", "message", "msg"):
        wrapped = "\n".join(json.dumps({key: f"{x}\n", "t": 1}) for x in plain.splitlines())
        assert steps_of(read(wrapped.encode())) == steps_of(read(plain.encode()))


def test_messages_after_pages_of_others() -> None:
    """An engine's messages are found behind half a megabyte of other ones."""
    other = "some other service wrote this line, and it is of no use here\n" * 9000
    log = other + (TRACES / "vllm_cudagraph_stats.log").read_text()
    assert read(log.encode()).format == "vllm-log"


def test_sglang_sample_by_hand() -> None:
    """Sizes and eager lines are those that a plain search finds, forty steps each."""
    facts = expected_tools()["sglang_decode.log"]
    reading = read(TRACES / "sglang_decode.log")
    assert {str(size): n // 40 for size, n in steps_of(reading).items()} == facts["steps"]
    assert reading.facts["lines_eager"] == facts["eager"]
    assert reading.facts["prefill_steps"]


def test_sglang_keeps_one_tensor_rank_and_the_said_interval() -> None:
    """Each step is counted once however many ranks print it; data-parallel ranks differ."""
    decode = "Decode batch, #running-req: {}, #token: 1, token usage: 0.0, cuda graph: True, x"
    lines = [
        "[2026-04-05 20:02:50] server_args=ServerArgs(model='m', decode_log_interval=1, tp_size=2)",
        "[2026-04-05 20:02:51 DP0 TP0] " + decode.format(32),
        "[2026-04-05 20:02:51 DP0 TP1] " + decode.format(32),
        "(SGLangEngine pid=7) [2026-04-05 20:02:51 DP1 TP0] " + decode.format(8),
        "[2026-04-05 20:02:55.250 DP0 TP0] " + decode.format(0),
        "[2026-04-05 20:02:56 DP0 TP0] Decode batch, #running-r",
        "[2026-04-05 20:02:57 DP0 TP0] Prefill batch, #new-seq: 2, #new-token: 640, "
        "#cached-token: 1, token usage: 0.1, #running-req: 99, #queue-req: 0",
    ]
    reading = read("\n".join(lines).encode())
    assert steps_of(reading) == {32: 1, 8: 1}
    assert reading.dropped == {
        "the same step on another tensor- or pipeline-parallel rank": 1,
        "sample without a running request": 1,
        "line is cut or damaged": 1,
    }
    assert reading.steps is not None and reading.steps.origin is Origin.MEASURED
    assert reading.facts["prefill_steps"] == {"640": 1}


@pytest.mark.parametrize(
    "lines",
    [
        [
            "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, "
            "bs=[1, 2, 4], avail mem=11.64 GB",
            "Capture target decode CUDA graph end. elapsed=12.34 s, mem usage=0.83 GB, "
            "avail mem=10.81 GB.",
        ],
        [
            "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, "
            "avail mem=11.64 GB",
            "Capture target decode CUDA graph end. bs=[1, 2, 4], elapsed=12.34 s, "
            "mem usage=0.83 GB, avail mem=10.81 GB.",
        ],
    ],
)
def test_sglang_newer_captures(lines: list[str]) -> None:
    """The list stands in the begin line or in the end line, by release."""
    more = [
        "Capture target prefill CUDA graph begin. backend=breakable, num_tokens=[4, 8], "
        "avail mem=10.81 GB",
        "Capture target prefill CUDA graph end. elapsed=1.00 s, mem usage=0.10 GB, "
        "avail mem=10.71 GB.",
    ]
    text = "\n".join(f"[2026-11-30 12:00:00 TP0] {line}" for line in lines + more)
    reading = read(text.encode())
    assert reading.captured is not None and reading.captured.sizes == (1, 2, 4)
    assert reading.facts["capture_s"] == pytest.approx(13.34)
    assert reading.facts["graph_gib"] == pytest.approx(0.93)
    assert all(item["consistent"] for item in reading.facts["captures"])


def test_sglang_finished_requests_are_a_trace() -> None:
    """Request logs in a Python repr are matched field by field, and no text is kept."""
    line = (
        "[2026-04-05 20:02:5{}] Finish: obj=GenerateReqInput(text='secret words'), "
        "out={{'text': 'more secret', 'meta_info': {{'id': 'x', 'prompt_tokens': {}, "
        "'completion_tokens': {}}}}}"
    )
    reading = read("\n".join([line.format(1, 10, 5), line.format(3, 20, 6)]).encode())
    assert reading.trace is not None and reading.trace.prompt_tokens.tolist() == [10, 20]
    assert reading.trace.duration_s == 2.0
    assert "secret" not in repr(reading)


TRT = "[11/30/2026-12:00:00] [TRT-LLM] [I] iter = {}, global_rank = {}, rank = 0, "


@pytest.mark.parametrize(
    "form",
    [
        "currank_total_requests = 0/1, elapsed_time = 0.01s, timestamp = 2026-11-30 12:00:00, "
        "num_scheduled_requests: {n}, states = {{'num_ctx_requests': {c}, 'num_ctx_tokens': 0, "
        "'num_generation_tokens': {n}}}",
        "currank_total_requests = 0/1, host_step_time = 7.4ms, prev_device_step_time = N/A, "
        "timestamp = x, num_scheduled_requests: {n}, states = {{'num_ctx_requests': {c}}}",
        "num_scheduled_requests = {n}, kv_cache_util = 0.100, currank_total_requests = 0/1, "
        "host_step_time = 7.4ms, prev_device_step_time = 7.1ms, timestamp = x, states = "
        "{{'num_ctx_requests': {c}, 'cached_kv_tokens': 96}}",
    ],
)
def test_tensorrt_iterations(form: str) -> None:
    """Three ages of the line: decode steps of one rank, prefill steps apart."""
    rows = [(1, 0, 3, 1), (2, 0, 3, 0), (2, 1, 3, 0), (3, 0, 4, 0), (4, 0, 0, 0)]
    lines = [TRT.format(i, rank) + form.format(n=n, c=c) for i, rank, n, c in rows]
    reading = read("\n".join(lines).encode())
    assert steps_of(reading) == {3: 1, 4: 1}
    assert reading.dropped == {
        "step that also held prefill": 1,
        "the same step on another rank": 1,
        "step without requests": 1,
    }
    if "prev_device_step_time = 7.1ms" in form:
        # the device time in a line is of the step before it: sizes 3 (of iteration 2) and 4
        assert reading.facts["mean_step_ms"] == {"3": 7.1, "4": 7.1}


def test_tensorrt_statistics() -> None:
    """Iteration statistics as JSON: steps without context requests."""
    rows = [
        {"iter": i, "iterLatencyMS": 10, "inflightBatchingStats":
         {"numContextRequests": c, "numGenRequests": g}} for i, c, g in
        [(1, 1, 2), (2, 0, 3), (3, 0, 3), (4, 0, 0)]
    ]  # fmt: skip
    reading = read(json.dumps(rows).encode())
    assert steps_of(reading) == {3: 2} and reading.rows == 4
    assert reading.steps is not None and reading.steps.duration_s == 0.04


OTHERS = {
    "fastdeploy-log": (
        "CUDAGraph capture list [1, 2, 4, 16], Created all real shape entry.\n"
        "The actual real shape obtained by CUDAGraph is :13, The padded shape is :16, If Padding\n",
        {13: 1},
        (1, 2, 4, 16),
    ),
    "lmdeploy-log": (
        "[2026-11-30 12:00:00 DP0] Avg thr (in/out): 1.0 / 2.0 tokens/s, Server "
        "(succeeded/failed/routed/waiting): 1 / 0 / 1 / 0, Engine (running/waiting): 7 / 0, KV\n",
        {7: 1},
        None,
    ),
    "minisglang-log": (
        "Start capturing CUDA graphs with sizes: [8, 4, 2, 1]\n"
        "Free GPU memory before capturing CUDA graphs: 2.50 GiB\n"
        "Free GPU memory after capturing CUDA graphs: 1.25 GiB\n",
        None,
        (1, 2, 4, 8),
    ),
    "gaudi-log": (
        "[Warmup][Graph/Decode][1/48] batch_size:4 query_len:1 num_blocks:128 free_mem:55.43 GiB\n"
        "Warmup finished in 62 secs, allocated 3.25 GiB of device memory\n"
        "Configuration: ('decode', 8, 1, 256) was not warmed-up!\n",
        None,
        (4,),
    ),
}


@pytest.mark.parametrize("form", OTHERS)
def test_other_engines(form: str) -> None:
    """FastDeploy's steps, LMDeploy's samples, mini-sglang's and Gaudi's captures."""
    text, steps, captured = OTHERS[form]
    reading = read(text.encode())
    assert reading.format == form
    assert (steps_of(reading) if steps else reading.steps) == steps
    assert (reading.captured.sizes if reading.captured else None) == captured
    if form == "minisglang-log":
        assert reading.facts["graph_gib"] == 1.25
    if form == "gaudi-log":
        assert reading.facts["missed_buckets"] == {"decode 8,1": 1}
