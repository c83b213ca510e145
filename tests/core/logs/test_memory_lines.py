"""Logs that hold little but memory lines, and what `import` prints of any log."""

from __future__ import annotations

import pickle

import pytest

from tests.core.logs.test_statements import checked, ids, lines_of, reading, text_of
from tests.core.logs.texts import MEMORY, SGLANG

AT = "INFO 04-23 11:34:24 [model_runner.py:1434] "
CONFIG = (
    "INFO 05-01 10:00:00 [core.py:9] Initializing a V1 LLM engine (v0.23.0) with config: model='m',"
    " enforce_eager=False, compilation_config={'cudagraph_mode': "
    "<CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'cudagraph_capture_sizes': "
    "[1, 2, 4, 8, 16, 256, 352, 512]}\n"
)
FINISHED = "INFO 05-01 10:00:09 [x.py:1] Graph capturing finished in 9 secs, took 0.50 GiB\n"


def test_a_log_of_memory_lines_alone() -> None:
    """Counts, largest sizes, GiB actual and estimated: read, and the check agrees with them."""
    told = lines_of(MEMORY)
    assert "graphs: 11 piecewise, 7 full, 0.31 GiB (measured), 3.05 GiB (estimated" in told
    report = checked("vllm", MEMORY)
    # 1, 2, 4, then multiples of 8 up to 64: 11 sizes, 7 of them up to 32
    assert report.sizes == (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64)
    assert report.settings["max_num_seqs"] == 32
    assert {"list-not-in-log", "release-assumed"} <= set(ids(report))
    assert "log-differs" not in ids(report) or "full" in text_of(report, "log-differs")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Profiling CUDA graph memory: PIECEWISE=4 (largest=8), FULL=3 (largest=4)",
         "graphs: 4 piecewise, 3 full"),
        ("CUDA graph pool memory: 0.31 GiB (actual), 3.05 GiB (estimated)",
         "graphs: 0.31 GiB (measured), 3.05 GiB (estimated by the engine)"),
        ("Estimated CUDA graph memory: 0.61 GiB total", "0.61 GiB (estimated by the engine)"),
        ("GPU KV cache size: 177,760 tokens", "KV cache: 177,760 tokens"),
    ],
)  # fmt: skip
def test_one_line_alone(line: str, told: str) -> None:
    """Each states what it states, and nothing is called measured that is an estimate."""
    text = f"(EngineCore pid=168) INFO 05-14 08:25:39 [gpu_model_runner.py:5963] {line}\n"
    assert told in lines_of(text)
    assert checked("vllm", text).source == "start-up log"


def test_import_prints_figures() -> None:
    """Seconds, GiB and tokens stand in the text, not in the JSON alone."""
    told = lines_of(SGLANG)
    assert "captured in 2.75 s (measured), 0.46 GiB (measured), 11.44 GiB free" in told
    assert "KV cache: 412,345 tokens, sized before graphs were captured" in told


def test_import_tells_kinds_of_graphs_apart() -> None:
    """Decode, draft and prefill graphs each with what they took; their sum is the total."""
    lines = [
        f"[2026-05-28 22:52:34 TP{rank}] Capture {kind} CUDA graph end. bs=[1, 2], elapsed=1.50 s, "
        f"mem usage={gib} GB, avail mem=9.00 GB."
        for rank in (0, 1)
        for kind, gib in (("target decode", 0.5), ("draft decode", 0.25), ("target prefill", 1.0))
    ]
    told = lines_of("\n".join(lines) + "\n")
    assert "captured in 4.5 s (measured), 1.75 GiB (measured)" in told  # 3 x 1.5; 0.5 + 0.25 + 1
    assert "target decode 0.5 GiB, draft decode 0.25 GiB, target prefill 1 GiB" in told


def test_a_reading_with_its_log_can_be_kept() -> None:
    """A page keeps what it has read: it survives pickling, evidence and all."""
    found = reading(SGLANG)
    again = pickle.loads(pickle.dumps(found))
    assert found.log is not None and found.log.finished is not None
    assert again.log == found.log


TABLE = (
    "**CUDAGraph Stats:**\n"
    "| Unpadded Tokens | Padded Tokens | Num Paddings | Runtime Mode | Count |\n"
    "|-----|-----|-----|-----|-----|\n"
    "| 3 | 4 | 1 | FULL | 7 |\n{}\n"
    "| 5 | 8 | 3 | FULL | 2 |\n"
)


@pytest.mark.parametrize(
    "fragment",
    [
        "|██████████| 35/35 [00:00<00:00, 40.22it/s]",
        "| 12/35 [00:0",
        "|####      | 12/35",
        "Capturing CUDA graphs (FULL):  23%|██▎       |",
    ],
)
def test_a_bar_in_a_table_is_no_damaged_row(fragment: str) -> None:
    """Both rows count and nothing is left out."""
    found = reading(TABLE.format(fragment))
    assert found.rows == 2 and not found.dropped
    assert found.steps is not None and found.steps.total_steps == 9
