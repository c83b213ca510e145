"""Cut slices of tool outputs, logs and other forms, and compute what is right about them.

Run: python tests/data/traces/make_tool_slices.py ORIGINALS ENGINE_RUNS
Plain Python, pandas and numpy alone, so that the readers are checked against something else.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from make_slices import HERE, dates, facts, head_lines, lengths, opened, save

EXPECTED: dict[str, dict] = {}


def json_lines(original: Path, name: str, rows: int) -> list[dict]:
    data = head_lines(opened(original), rows)
    save(name, data)
    return [json.loads(line) for line in data.splitlines()]


def document(name: str, value) -> None:
    save(name, (json.dumps(value) + "\n").encode())


def tables(folder: Path) -> None:
    data = head_lines(opened(folder / "burstgpt_schema_6col.csv"), 401)
    save("burstgpt.csv", data)
    frame = pd.read_csv(io.BytesIO(data))
    good = frame[frame["Response tokens"] > 0]
    models = frame["Model"].value_counts().to_dict()
    EXPECTED["burstgpt.csv"] = facts(
        good["Request tokens"], good["Response tokens"], good["Timestamp"].to_list(),
        rows=len(frame), models=models,
    )  # fmt: skip
    data = head_lines(opened(folder / "litellm_spendlogs.csv"), 121)
    save("litellm.csv", data)
    frame = pd.read_csv(io.BytesIO(data))
    good = frame[frame["status"] == "success"]
    EXPECTED["litellm.csv"] = facts(
        good["prompt_tokens"], good["completion_tokens"], dates(good["startTime"]).to_list(),
        rows=len(frame),
    )  # fmt: skip
    save("hist_ranges.csv", opened(folder / "hist_prompt_ranges.csv"))


def records(folder: Path) -> None:
    rows = json_lines(folder / "qwen_bailian_schema.jsonl", "bailian.jsonl", 100)
    EXPECTED["bailian.jsonl"] = facts(
        [r["input_length"] for r in rows], [r["output_length"] for r in rows],
        [r["timestamp"] for r in rows], rows=len(rows),
    )  # fmt: skip
    rows = json_lines(folder / "openai_usage_log.jsonl", "openai_usage.jsonl", 150)
    good = [r for r in rows if r.get("usage")]
    EXPECTED["openai_usage.jsonl"] = facts(
        [r["usage"]["prompt_tokens"] for r in good],
        [r["usage"]["completion_tokens"] for r in good],
        [r["created"] for r in good],
        rows=len(rows),
    )


def arrays(folder: Path) -> None:
    values = json.loads(opened(folder / "prompt_lengths.json"))[:400]
    document("prompt_lengths.json", values)
    EXPECTED["prompt_lengths.json"] = {"rows": 400, "kept": 400, "prompt": lengths(values)}
    for source, name in (
        ("prompt_lengths.npy", "lengths.npy"),
        ("prompt_output_pairs.npy", "pairs.npy"),
    ):
        array = np.load(folder / source)[:400]
        np.save(HERE / name, array)
        columns = array.reshape(400, -1)
        EXPECTED[name] = {"rows": 400, "kept": 400, "prompt": lengths(columns[:, 0])}
        if columns.shape[1] == 2:
            EXPECTED[name]["output"] = lengths(columns[:, 1])
    table = pq.read_table(folder / "azure_code.parquet").slice(0, 300)
    pq.write_table(table, HERE / "azure_code.parquet")
    frame = table.to_pandas()
    EXPECTED["azure_code.parquet"] = facts(
        frame["prompt_tokens"], frame["output_tokens"], dates(frame["arrival"]).to_list(), rows=300
    )


def benchmarks(folder: Path) -> None:
    run = json.loads(opened(folder / "vllm_bench_serve_detailed.json"))
    keep = 40
    for key, value in run.items():
        if isinstance(value, list) and len(value) == run["num_prompts"]:
            run[key] = value[:keep]
    run.update(num_prompts=keep, generated_texts=["text"] * keep)
    run["itls"] = [times[:3] for times in run["itls"]]
    document("vllm_bench_detailed.json", run)
    good = [i for i in range(keep) if not run["errors"][i]]
    EXPECTED["vllm_bench_detailed.json"] = facts(
        [run["input_lens"][i] for i in good], [run["output_lens"][i] for i in good],
        [run["start_times"][i] for i in good], rows=keep,
    )  # fmt: skip
    save("vllm_bench_summary.json", opened(folder / "vllm_bench_serve_summary_only.json"))
    runs = [json.loads(line) for line in opened(folder / "sglang_bench_serving.jsonl").splitlines()]
    for item in runs:
        for key, value in item.items():
            if isinstance(value, list):
                item[key] = value[:25]
        item["generated_texts"] = ["text"] * 25
        item["itls"] = [times[:3] for times in item["itls"]]
    save("sglang_bench.jsonl", "".join(json.dumps(r) + "\n" for r in runs).encode())
    pairs = [
        (a, b)
        for r in runs
        for a, b, e in zip(r["input_lens"], r["output_lens"], r["errors"], strict=True)
        if not e
    ]
    EXPECTED["sglang_bench.jsonl"] = facts([a for a, _ in pairs], [b for _, b in pairs], rows=50)
    profiles(folder)


def profiles(folder: Path) -> None:
    lines = opened(folder / "aiperf_profile_export.jsonl").splitlines()
    rows = [json.loads(line) for line in lines]
    bad = [row for row in rows if row.get("error")][:2]
    rows = rows[:14] + bad
    for row in rows:
        row["metrics"].pop("inter_chunk_latency", None)
    save("aiperf.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode())
    good = sorted(
        (r for r in rows if not r.get("error")), key=lambda r: r["metadata"]["request_start_ns"]
    )
    first = good[0]["metadata"]["request_start_ns"]
    EXPECTED["aiperf.jsonl"] = facts(
        [r["metrics"]["input_sequence_length"]["value"] for r in good],
        [r["metrics"]["output_sequence_length"]["value"] for r in good],
        [(r["metadata"]["request_start_ns"] - first) / 1e9 for r in good],
        rows=len(rows),
    )
    save("aiperf_summary.json", opened(folder / "aiperf_profile_export_aiperf.json"))
    report = json.loads(opened(folder / "guidellm_benchmarks.json.gz"))
    requests = report["benchmarks"][0]["requests"]
    requests["successful"] = requests["successful"][:12]
    for key in ("scheduler_state", "metrics"):
        report["benchmarks"][0].pop(key)
    save("guidellm.json.gz", json.dumps(report).encode())
    good = requests["successful"]
    EXPECTED["guidellm.json.gz"] = facts(
        [r["prompt_tokens"] for r in good], [r["output_tokens"] for r in good],
        [r["request_start_time"] for r in good], rows=len(good) + len(requests["errored"]),
    )  # fmt: skip
    text = opened(folder / "guidellm_benchmarks.csv")
    save("guidellm.csv", re.sub(rb"Linux-[\w.\-]+", b"Linux", text))


def public(originals: Path) -> None:
    rows = json.loads(opened(originals / "llmperf_individual_anyscale_13b.json"))[:40]
    document("llmperf.json", rows)
    EXPECTED["llmperf.json"] = facts(
        [r["number_input_tokens"] for r in rows], [r["number_output_tokens"] for r in rows], rows=40
    )
    whole = json.loads(opened(originals / "servegen_m-small_chunk17-dataset.json.gz"))
    document("servegen-dataset.json", dict(list(whole.items())[:3]))
    trace = opened(originals / "servegen_m-small_chunk17-trace.csv").splitlines(keepends=True)
    save("servegen-trace.csv", b"".join(trace[: 3 * 36]))


def logs(originals: Path, runs: Path) -> None:
    data = head_lines(opened(originals / "derived/sglang_decode.log"), 220)
    save("sglang_decode.log", data)
    sizes = Counter(int(n) for n in re.findall(rb"Decode batch, #running-req: (\d+)", data))
    eager = len(re.findall(rb"Decode batch.*cuda graph: False", data))
    EXPECTED["sglang_decode.log"] = {
        "lines": sum(sizes.values()), "eager": eager,
        "steps": {str(size): n for size, n in sorted(sizes.items())},
    }  # fmt: skip
    for name in ("vllm_metrics.txt", "sglang_metrics.txt"):
        save(f"prom_{name}", opened(originals / f"derived/prom_{name}"))
    for name in ("instant_vector", "range_matrix_cumulative"):
        save(f"prom_{name}.json", opened(originals / f"derived/prom_api_{name}.json"))
    for stem in ("default", "pow2", "eager"):
        save(f"vllm-0.23-{stem}.log", (runs / f"vllm-0.23-h200-{stem}.log").read_bytes())
    scrape = (runs / "vllm-0.23-h200-default.prom").read_bytes().splitlines(keepends=True)
    wanted = (b"request_prompt_tokens", b"request_generation_tokens", b"iteration_tokens",
              b"num_requests", b"preemptions", b"cache_config", b"python_info")  # fmt: skip
    save("vllm-0.23.prom", b"".join(line for line in scrape if any(w in line for w in wanted)))
    run = json.loads(gzip.decompress((runs / "vllm-0.23-h200-default.json.gz").read_bytes()))
    run["steps"], run["requests"] = run["steps"][:400], run["requests"][:60]
    document("engine_run.json", run)
    decode = Counter(step[2] for step in run["steps"] if step[2] > 0 and step[3] == 0)
    EXPECTED["engine_run.json"] = facts(
        [r[2] for r in run["requests"]], [r[3] for r in run["requests"]],
        [r[1] for r in run["requests"]], rows=60,
        steps={str(size): n for size, n in sorted(decode.items())},
    )  # fmt: skip


def main(originals: Path, runs: Path) -> None:
    tables(originals / "derived")
    records(originals / "derived")
    arrays(originals / "derived")
    benchmarks(originals / "tool_outputs")
    public(originals)
    logs(originals, runs)
    text = json.dumps(EXPECTED, indent=1, sort_keys=True)
    (HERE / "expected_tools.json").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
