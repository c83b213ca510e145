"""Reading 10 M requests from CSV and Parquet, beside the bare chunked read of two columns.

    python -m benchmarks.bench_import [ROWS]

Each way runs in a process of its own, in turn, REPEATS times; medians of wall time and the highest
resident memory (VmHWM) are shown. Ours gives the whole Reading: arrivals too, checked rows,
sorted trace, histograms. The file has the layout of Azure's traces (35 bytes a row).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

REPEATS = 3
CHUNK_ROWS = 500_000

READERS = {
    "csv, bare pandas, 2 columns in chunks": """
import pandas as pd, numpy as np
rows = 0
for part in pd.read_csv(PATH, usecols=[1, 2], dtype="int32", chunksize=1_000_000):
    rows += len(part)
""",
    "csv, core.readers.read": """
from core.readers import read
rows = read(PATH).kept
""",
    "csv, core.readers.read without numba": """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "numba" else find(name, *a)
from core.readers import read
rows = read(PATH).kept
""",
    "parquet, bare pyarrow batches, 2 columns": """
import pyarrow.parquet as pq
rows = 0
file = pq.ParquetFile(PATH)
names = ["ContextTokens", "GeneratedTokens"]
for part in file.iter_batches(131072, columns=names, use_threads=False):
    rows += len(part.column(0).to_numpy()) and len(part.column(1).to_numpy())
""",
    "parquet, bare pyarrow batches, all 3 columns": """
import pyarrow.parquet as pq
rows = 0
for part in pq.ParquetFile(PATH).iter_batches(131072, use_threads=False):
    rows += part.num_rows
""",
    "parquet, core.readers.read": """
from core.readers import read
rows = read(PATH).kept
""",
}

FRAME = """
import sys, time, re
PATH = sys.argv[1]
start = time.perf_counter()
{body}
seconds = time.perf_counter() - start
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024
print(rows, seconds, peak)
"""


def write_files(folder: Path, rows: int) -> tuple[Path, Path]:
    """The same made-up requests as CSV and as Parquet (seeded)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    csv, parquet = folder / "requests.csv", folder / "requests.parquet"
    schema = pa.schema(
        [
            ("TIMESTAMP", pa.timestamp("us")),
            ("ContextTokens", pa.int64()),
            ("GeneratedTokens", pa.int64()),
        ]
    )
    now = np.datetime64("2023-11-16T18:15:46.680590", "us")
    with csv.open("w") as text, pq.ParquetWriter(parquet, schema) as binary:
        text.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        for start in range(0, rows, CHUNK_ROWS):
            n = min(CHUNK_ROWS, rows - start)
            gaps = rng.exponential(2e5, n).astype("int64").cumsum().astype("timedelta64[us]")
            times = now + gaps
            now = times[-1]
            prompt = rng.lognormal(6.8, 1.0, n).astype(np.int64) + 1
            output = rng.lognormal(5.0, 1.0, n).astype(np.int64) + 1
            binary.write_table(pa.table([times, prompt, output], schema=schema))
            stamps = np.char.replace(np.datetime_as_string(times), "T", " ").tolist()
            lines = zip(stamps, prompt.tolist(), output.tolist(), strict=True)
            text.writelines(f"{t}0,{p},{o}\n" for t, p, o in lines)
    return csv, parquet


def run(body: str, path: Path) -> tuple[int, float, int]:
    """(rows, seconds, peak MB) of one way in a fresh process."""
    command = [sys.executable, "-c", FRAME.format(body=body), str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(out[0]), float(out[1]), int(out[2])


def main() -> None:
    """Print medians; times hold the imports that the way needs."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet = write_files(Path(folder), rows)
        sizes = ", ".join(f"{p.suffix} {p.stat().st_size / 1e6:.0f} MB" for p in (csv, parquet))
        print(f"{rows:,} rows: {sizes}; load {os.getloadavg()[0]:.1f}")
        runs: dict[str, list[tuple[int, float, int]]] = {name: [] for name in READERS}
        for _ in range(REPEATS):
            for name, body in READERS.items():
                runs[name].append(run(body, csv if name.startswith("csv") else parquet))
    bare = {}
    for name, found in runs.items():
        assert all(item[0] == rows for item in found), name
        seconds = statistics.median(item[1] for item in found)
        kind = name.split(",")[0]
        bare.setdefault(kind, seconds)
        peak = max(item[2] for item in found)
        print(f"{name:44s} {seconds:6.2f} s  {seconds / bare[kind]:5.2f} x  peak {peak} MB")


if __name__ == "__main__":
    main()
