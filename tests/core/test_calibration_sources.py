"""Files that tell step times: each kind by hand, and what is none in one sentence."""

from __future__ import annotations

import gzip
import json

import pytest

from core.calibration.calibrate import eager_table
from core.calibration.example import FILE, example_evidence
from core.calibration.sources import read_evidence
from core.errors import FileContentError, ProjectError, SettingError
from tests.conftest import DATA

RUNS = DATA / "engine_runs"


def iteration(prompts: int, new: int, rows: int, ms: float, dummy: str = "") -> str:
    return (
        f"(EngineCore pid=1) INFO 11-16 18:50:02 [core.py:1] Iteration(7): {prompts} context "
        f"requests, {new} context tokens, {rows} generation requests, {rows} generation tokens, "
        f"iteration elapsed time: {ms:.2f} ms{dummy}"
    )


def test_a_recorded_run_with_its_eager_table():
    """The example: 51 sizes, 3,956 steps, and eager steps of 12.9 ms at batch 1."""
    found = example_evidence()
    assert found.run is not None and len(found.run.step_s) == 3956 and found.has_context
    assert found.capture_sizes is not None and len(found.capture_sizes) == 51
    assert found.eager_us[1] == pytest.approx(12_878, abs=1)
    assert found.graph_us[1] == pytest.approx(5_986, abs=1)
    assert FILE.stat().st_size < 64_000 and FILE.with_name("README.md").exists()


def test_the_example_is_the_recorded_run():
    """Times rounded to a microsecond; requests and steps are those of the tests' own file."""
    ours, full = (
        json.loads(gzip.decompress(path.read_bytes()))
        for path in (FILE, RUNS / "vllm-0.23-h200-default.json.gz")
    )
    assert [r[2:4] for r in ours["requests"]] == [r[2:4] for r in full["requests"]]
    assert [s[2:] for s in ours["steps"]] == [s[2:] for s in full["steps"]]
    worst = max(abs(a[0] - b[0]) for a, b in zip(ours["steps"], full["steps"], strict=True))
    assert worst <= 0.5e-6 + 1e-12


def test_an_eager_run_gives_eager_steps():
    """Without capture sizes the decode table is one of eager steps."""
    found = read_evidence(RUNS / "vllm-0.23-h200-eager.json.gz")
    assert found.capture_sizes == () and not found.graph_us
    assert eager_table(found)[1] == pytest.approx(12_878, abs=1)
    with pytest.raises(SettingError, match="shows no eager decode step"):
        eager_table(read_evidence(RUNS / "vllm-0.23-h200-pow2.json.gz"))


def test_vllm_iteration_lines():
    """A decode step of 30, a step with a prompt of 512 beside 30; a dummy step is none."""
    lines = [
        iteration(0, 0, 30, 6.5),
        iteration(1, 512, 30, 14.2),
        iteration(0, 0, 1, 3, " (dummy)"),
    ]
    found = read_evidence("\n".join(lines).encode(), name="serve.log")
    assert found.samples is not None and found.samples.us.tolist() == [6500, 14200]
    assert found.samples.rows.tolist() == [30, 30] and found.samples.prompts.tolist() == [0, 1]
    assert found.samples.tokens.tolist() == [0, 542] and not found.has_context
    assert found.capture_sizes is None and "between steps" in found.notes[0]


def test_vllm_log_knows_its_graphs():
    """The start-up lines tell 51 sizes captured in 4 s: 78 ms each."""
    log = (DATA / "engine_logs" / "vllm-0.23-h200-default.log").read_text()
    found = read_evidence(f"{log}\n{iteration(0, 0, 3, 6)}".encode(), name="serve.log")
    assert found.capture_sizes is not None and len(found.capture_sizes) == 51
    assert found.capture_ms == pytest.approx(4000 / 51)
    eager = (DATA / "engine_logs" / "vllm-0.23-h200-eager.log").read_text()
    found = read_evidence(f"{eager}\n{iteration(0, 0, 3, 12)}".encode(), name="serve.log")
    assert found.capture_sizes == () and eager_table(found) == {3: 12_000}


def test_vllm_forward_times():
    """(size, count, ms) triples: the last line's medians count."""
    text = (
        "Batchsize forward time stats (batchsize, count, median_time(ms)): [(8, 2, 9.00)]\n"
        "Batchsize forward time stats (batchsize, count, median_time(ms)): "
        "[(8, 120, 5.31), (16, 40, 6.02)]"
    )
    found = read_evidence(text.encode(), name="serve.log")
    assert found.graph_us == {8: pytest.approx(5310), 16: pytest.approx(6020)}


def sglang(rows: int, rate: float, graph: bool, rank: str = "TP0") -> str:
    return (
        f"[2026-11-30 12:00:00 {rank}] Decode batch, #running-req: {rows}, #token: 3456, token "
        f"usage: 0.12, cuda graph: {graph}, gen throughput (token/s): {rate:.2f}, #queue-req: 0"
    )


def test_sglang_decode_lines():
    """12 requests at 2,400 tokens/s are steps of 5 ms; eager lines apart; another rank is none."""
    lines = [sglang(12, 2400, True), sglang(12, 1200, True), sglang(12, 2000, True)]
    lines += [sglang(12, 10, True, "TP1"), sglang(40, 4000, False)]
    found = read_evidence("\n".join(lines).encode(), name="sgl.log")
    assert found.graph_us == {12: pytest.approx(6000)}  # median of 5, 10 and 6 ms
    assert found.eager_us == {40: pytest.approx(10_000)}
    drafted = sglang(10, 1000, True).replace("cuda graph", "accept len: 2.50, cuda graph")
    found = read_evidence(drafted.encode(), name="sgl.log")
    assert found.graph_us == {10: pytest.approx(25_000)}  # 25 tokens a step


TRTLLM = (
    "[11/30/2026-12:00:00] [TRT-LLM] [I] iter = 5, global_rank = {rank}, rank = {rank}, "
    "num_scheduled_requests = {rows}, kv_cache_util = 0.100, currank_total_requests = 0/1, "
    "host_step_time = {ms}ms, prev_device_step_time = 7.1ms, timestamp = 2026-11-30 12:00:00, "
    "states = {{'num_ctx_requests': {prompts}, 'num_ctx_tokens': {tokens}, "
    "'num_generation_tokens': 3, 'cached_kv_tokens': 96}}"
)


def test_trtllm_iteration_lines():
    """Three requests, one a prompt of 100: 2 rows, 102 tokens; the other rank is no step."""
    lines = [
        TRTLLM.format(rank=0, rows=3, ms=7.4, prompts=0, tokens=0),
        TRTLLM.format(rank=1, rows=3, ms=7.4, prompts=0, tokens=0),
        TRTLLM.format(rank=0, rows=3, ms=20.0, prompts=1, tokens=100),
        TRTLLM.format(rank=0, rows=0, ms=1.0, prompts=0, tokens=0),
    ]
    found = read_evidence("\n".join(lines).encode(), name="trt.log")
    assert found.samples is not None and found.samples.us.tolist() == [7400, 20_000]
    assert found.samples.rows.tolist() == [3, 2] and found.samples.tokens.tolist() == [0, 102]


def test_trtllm_statistics():
    """A step an object: latency, generation and context requests, context tokens."""

    def row(rows: int, prompts: int, tokens: int, ms: float) -> str:
        batch = {"numGenRequests": rows, "numContextRequests": prompts, "numCtxTokens": tokens}
        return json.dumps({"iter": 1, "iterLatencyMS": ms, "inflightBatchingStats": batch})

    text = "\n".join([row(4, 0, 0, 8.0), row(4, 1, 50, 12.0), row(0, 0, 0, 1.0)])
    found = read_evidence(text.encode(), name="metrics.jsonl")
    assert found.samples is not None and found.samples.us.tolist() == [8000, 12_000]
    assert found.samples.tokens.tolist() == [0, 54]


def test_a_table_by_size():
    """Columns are found by name, units by the name's end; both kinds of step in one file."""
    text = b"batch size,replay_ms,eager [us],steps\n1,5.0,9000,7\n2,5.5,9100,7\n4,6,9200,7\n"
    found = read_evidence(text, name="table.csv")
    assert found.graph_us == {1: 5000, 2: 5500, 4: 6000}
    assert found.eager_us == {1: 9000, 2: 9100, 4: 9200} and found.samples is None
    alone = read_evidence(b"batch,eager_us\n1,9000\n2,9100\n", name="eager.csv")
    assert alone.capture_sizes == () and eager_table(alone) == {1: 9000, 2: 9100}


def test_a_table_of_steps():
    """A row a step, with prompts and context; a row without a time is counted."""
    rows = [f"{1 + i % 3},{100 * (i % 2)},{10 * i},{5 + i % 3}" for i in range(30)]
    text = "running,prefill_tokens,kv_tokens,latency_ms\n" + "\n".join([*rows, "3,0,0,"])
    found = read_evidence(text.encode(), name="steps.csv")
    assert found.samples is not None and len(found.samples) == 30 and found.has_context
    assert found.samples.tokens[:3].tolist() == [0, 102, 0]
    assert found.samples.prompts[:3].tolist() == [0, 1, 0]
    assert found.samples.context[:3].tolist() == [0, 10, 20]
    assert found.notes == ("Left out: 1 row without a batch of 1 or more and a time.",)


def test_json_tables():
    """{batch: us}, with the engine's sizes where they are given; null was not measured."""
    bare = read_evidence(b'{"1": 5000, "4": 5400, "8": null}', name="t.json")
    assert bare.graph_us == {1: 5000, 4: 5400} and bare.capture_sizes is None
    both = {"decode_step_us": {"1": 5, "2": 6}, "eager_step_us": {"1": 9}, "config": [1, 2]}
    found = read_evidence(json.dumps(both).encode(), name="t.json")
    assert found.capture_sizes == (1, 2) and found.eager_us == {1: 9}
    eager = read_evidence(b'{"decode_step_us": {"1": 9}, "config": []}', name="t.json")
    assert eager.capture_sizes == () and eager.eager_us == {1: 9}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"hello", "no step times found"),
        (b"", "no step times found"),
        (b'{"a": 1}', "no step times found"),
        (b"steps,batch\n1,2\n", "no step times found"),
        (b"batch,start_s\n1,2\n", "no step times found"),
        (b"batch,step_us\n0,5\n-1,7\nx,y\n", "no row holds a batch"),
        (b'{"decode_step_us": {"1": "x"}}', "give microseconds by batch size"),
        (b'{"decode_step_us": {"1": null}}', "no time above 0"),
        (b'{"requests": [], "steps": []}', "kv_blocks lacks"),
        (b'{"requests": 3, "steps": {}, "kv_blocks": "x", "block": []}', "."),
        (b"INFO: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs", "without step times"),
        (sglang(0, 0, True).encode(), "without decode lines"),
        (b"[TRT-LLM] [I] Creating CUDA graph instances for 3 batch sizes.", "without timed steps"),
        (gzip.compress(b"batch,step_us\n1,2\n", mtime=0)[:-4], "."),
    ],
)
def test_what_tells_nothing_is_refused_in_a_sentence(content, says):
    """One sentence with the file's name, never a traceback."""
    with pytest.raises(ProjectError, match=says) as caught:
        read_evidence(content, name="up.bin")
    assert "up" in str(caught.value) and "\n" not in str(caught.value)


def test_names_are_plain():
    """A name with control characters is shown without them."""
    found = read_evidence(b'{"1": 5000}', name="a\x1b[31mb\u202e.json")
    assert found.name == "ab"
    assert len(read_evidence(b'{"1": 5000}', name="x" * 900).name) <= 120
    with pytest.raises(FileContentError):
        read_evidence(b"\x00\x01\x02" * 50, name="noise")


def run_with(**changes) -> bytes:
    """A run of one request and one step, changed."""
    document = {"requests": [[0, 0.0, 4, 2, 0.1, 0.2]], "steps": [[0.0, 0.1, 0, 1, 1]]}
    return json.dumps({**document, "kv_blocks": 10, "block": 16, **changes}).encode()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (run_with(steps=[[0.0, 0.0, 0, 1, 1]]), "duration of a step"),
        (run_with(steps=[[1.0, 0.1, 0, 1, 1], [0.0, 0.1, 0, 1, 1]]), "the start of a step"),
        (run_with(steps=[[0.0, 0.1, 0, 1e9, 1]]), "requests of a step"),
        (run_with(requests=[[0, -1.0, 4, 2, 0.1, 0.2]]), "an arrival or a length"),
        (run_with(config=[1, 999999999]), "999,999,999 requests is more than any"),
        (b"batch,step_us\n1,5\n999999999,6\n", "999,999,999 requests is more than any"),
        (iteration(0, 0, 999_999_999, 6.5).encode(), "999,999,999 requests is more than any"),
        (iteration(1, 99_000_000, 3, 6.5).encode(), "99,000,003 tokens is more than any"),
    ],
)
def test_numbers_that_no_engine_has_are_refused(content, says):
    """Curves hold every size: a file must not make them endless."""
    with pytest.raises(FileContentError, match=says):
        read_evidence(content, name="up")


def test_what_is_left_out_is_counted():
    """A cut line and a dummy step of vLLM; an idle line and one of another rank of SGLang."""
    lines = [iteration(0, 0, 3, 5), iteration(0, 0, 3, 5)[:120], iteration(0, 0, 1, 3, " (dummy)")]
    found = read_evidence("\n".join(lines).encode(), name="x.log")
    assert found.notes[1] == "2 lines were left out: idle steps, other ranks, or cut ones."
    decode = [sglang(3, 100, True), sglang(0, 0, True), sglang(3, 100, True, "TP1")]
    found = read_evidence("\n".join(decode).encode(), name="x.log")
    assert found.notes[1] == "2 lines were left out: idle, of other ranks, or cut."


def test_only_so_many_steps_are_looked_at(monkeypatch):
    """The rest is counted."""
    monkeypatch.setattr("core.calibration.evidence.MAX_STEPS", 2)
    text = "\n".join(iteration(0, 0, 3, 5) for _ in range(5))
    found = read_evidence(text.encode(), name="x.log")
    assert found.samples is not None and len(found.samples) == 2
    assert found.notes[1] == "3 steps after the first 2 were not looked at."
