"""Cut the slices of this folder out of the whole files, and compute what is right about them.

Run: python tests/data/traces/make_slices.py ORIGINALS   (the folder with the whole files)
Uses pandas and numpy alone, so that the readers are checked against something else.
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
import pyarrow as pa

HERE = Path(__file__).parent
EXPECTED: dict[str, dict] = {}


def opened(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return pa.input_stream(path, compression="zstd").read()
    return data


def save(name: str, data: bytes) -> None:
    if name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    elif name.endswith(".zst"):
        data = pa.compress(data, "zstd", asbytes=True)
    (HERE / name).write_bytes(data)


def head_lines(data: bytes, lines: int) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:lines])


def lengths(values) -> dict[str, float]:
    values = np.asarray(values)
    p50, p90, p99 = np.percentile(values, [50, 90, 99])
    return {
        "p50": p50,
        "p90": p90,
        "p99": p99,
        "max": int(values.max()),
        "total": int(values.sum()),
    }


def facts(prompt, output, arrival_s=None, **more) -> dict:
    result = {"kept": len(prompt), "prompt": lengths(prompt), "output": lengths(output), **more}
    if arrival_s is not None:
        result["duration_s"] = round(float(max(arrival_s) - min(arrival_s)), 9)
    return result


def table(
    original: Path, name: str, rows: int, columns: list[str], time=None, **csv
) -> pd.DataFrame:
    """Slice a CSV; columns = [prompt, output], or with the arrival in front."""
    data = head_lines(opened(original), rows + 1)
    save(name, data)
    frame = pd.read_csv(io.BytesIO(data), **csv)
    arrival = None if time is None else time(frame[columns[0]]).to_list()
    prompt, output = columns[-2:]
    EXPECTED[name] = facts(frame[prompt], frame[output], arrival, rows=len(frame))
    return frame


def dates(column: pd.Series) -> pd.Series:
    return pd.to_datetime(column).astype("datetime64[ns]").astype("int64") / 1e9


def floats(column: pd.Series) -> pd.Series:
    return column.astype(float)


def mooncake(original: Path, name: str, rows: int) -> None:
    data = head_lines(opened(original), rows)
    save(name, data)
    objects = [json.loads(line) for line in data.splitlines()]
    seen: set[int] = set()
    hits, hit_tokens = 0, []
    for row in objects:
        leading = 0
        for block in row["hash_ids"]:
            if block not in seen:
                break
            leading += 1
        seen.update(row["hash_ids"])
        hits += leading
        hit_tokens.append(min(512 * leading, row["input_length"]))
    EXPECTED[name] = facts(
        [r["input_length"] for r in objects],
        [r["output_length"] for r in objects],
        [r["timestamp"] / 1e3 for r in objects],
        rows=len(objects),
        distinct_arrivals=len({r["timestamp"] for r in objects}),
        prefix_block_hits=hits,
        prefix_hit_tokens=sum(hit_tokens),
    )


def histogram(original: Path, name: str) -> None:
    data = opened(original)
    save(name, data)
    frame = pd.read_csv(io.BytesIO(data))
    values = np.repeat(frame["length"], frame["count"])
    EXPECTED[name] = {"rows": len(frame), "requests": len(values), "length": lengths(values)}


def vllm_tables(original: Path, name: str, tables: int) -> None:
    lines = opened(original).splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if b"Config Settings" in line]
    data = b"".join(lines[: starts[tables] - 1])
    save(name, data)
    sizes: Counter[int] = Counter()
    slots = 0
    pattern = rb"\| (\d+) +\| (\d+) +\| (\d+) +\| (\w+) +\| (\d+) +\|"
    for unpadded, padded, _, _, count in re.findall(pattern, data):
        sizes[int(unpadded)] += int(count)
        slots += int(padded) * int(count)
    EXPECTED[name] = {
        "tables": tables,
        "steps": {str(size): n for size, n in sorted(sizes.items())},
        "total_steps": sum(sizes.values()),
        "useful_slots": sum(size * n for size, n in sizes.items()),
        "padding_slots": slots - sum(size * n for size, n in sizes.items()),
        "captured": json.loads(re.search(rb"Capture sizes: (\[[\d, ]+\])", data)[1]),
    }


def main(originals: Path) -> None:
    azure = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]
    table(originals / "azure2023_conv_rows0-11999.csv", "azure_conv.csv", 400, azure, dates)
    table(originals / "azure2023_code_rows0-4999.csv.gz", "azure_code.csv.gz", 300, azure, dates)
    zst = originals / "derived/azure2023_conv_rows0-2999.csv.zst"
    table(zst, "azure_conv.csv.zst", 200, azure, dates)
    mooncake(
        originals / "mooncake_conversation_rows0-399.jsonl", "mooncake_conversation.jsonl", 120
    )
    mooncake(
        originals / "mooncake_synthetic_rows0-1499.jsonl.gz", "mooncake_synthetic.jsonl.gz", 150
    )
    vidur = ["arrived_at", "num_prefill_tokens", "num_decode_tokens"]
    table(
        originals / "vidur_splitwise_conv_rows0-3999.csv",
        "vidur_splitwise_conv.csv",
        200,
        vidur,
        floats,
    )
    table(originals / "vidur_arxiv_summarization_rows0-7999.csv", "vidur_arxiv.csv", 200, vidur[1:])
    table(
        originals / "etalon_sharegpt8k_lengths_rows0-11999.csv",
        "etalon_sharegpt8k.csv",
        200,
        vidur[1:],
    )
    aibrix = ["launch_time", "prompt_tokens", "generation_tokens"]
    table(originals / "aibrix_vllm_naive_qps4.1.csv", "aibrix.csv", 150, aibrix, floats)
    sim = ["arrival_timestamp", "prompt_size", "token_size"]
    table(originals / "splitwise_sim_test_trace.csv", "splitwise_sim.csv", 3, sim, floats)
    plain(originals / "derived/plain_semicolon_bom_crlf.csv", "plain_semicolon_bom_crlf.csv", 300)
    histogram(originals / "derived/hist_prompt_length_count.csv", "hist_prompt_length_count.csv")
    histogram(originals / "derived/hist_output_length_count.csv", "hist_output_length_count.csv")
    vllm_tables(originals / "derived/vllm_cudagraph_stats.log", "vllm_cudagraph_stats.log", 8)
    text = json.dumps(EXPECTED, indent=1, sort_keys=True)
    (HERE / "expected.json").write_text(text + "\n")


def plain(original: Path, name: str, rows: int) -> None:
    data = head_lines(opened(original), rows + 1)
    save(name, data)
    frame = pd.read_csv(io.BytesIO(data), sep=";", encoding="utf-8-sig")
    good = frame[frame["status_code"] == 200]
    EXPECTED[name] = facts(
        good["in_tok"], good["out_tok"], good["ts_epoch_ms"] / 1e3, rows=len(frame)
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
