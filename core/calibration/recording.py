"""A recorded run of an engine: its requests, and when each of its steps began and ended."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import FileContentError
from core.readers.common.run_files import one_run, run_name, runs_in
from core.records import FloatArray, IntArray, Trace

KEYS = ("requests", "steps", "kv_blocks", "block")
MAX_BYTES = 2**28
MAX_COUNT = 2**31
MAX_RUNNING = 2**17


@dataclass(frozen=True)
class EngineRun:
    """Requests (n,) and steps (m,) of one run, in order; times in seconds of one clock.

    running_before, running_after : (m,) requests running when a step began and when it had ended
    waiting_before : (m,) requests waiting when it began
    decode_step_us : median decode step by batch size, measured apart from the run [us]
    capture_sizes : empty where the engine ran eager
    """

    trace: Trace
    first_token_s: FloatArray
    finish_s: FloatArray
    step_start_s: FloatArray
    step_s: FloatArray
    running_before: IntArray
    waiting_before: IntArray
    running_after: IntArray
    kv_tokens: int
    block_size_tokens: int
    capture_sizes: tuple[int, ...]
    decode_step_us: Mapping[int, float] = field(default_factory=dict)
    name: str = ""

    @property
    def makespan_s(self) -> float:
        return float(np.max(self.finish_s))


def load_engine_run(path: str | Path, part: str | None = None) -> EngineRun:
    """Read a recorded run (JSON, also gzipped); of several the first, or the one named `part`.

    Raises FileContentError, OSError.
    """
    document, name = _document(Path(path))
    if not runs_in(document):
        return run_from_json(document, name)
    run = one_run(document, part, name)[0]
    return run_from_json(run, run_name(run) or name)


def load_engine_runs(path: str | Path) -> list[EngineRun]:
    """Every run of a file, in its order, each under its own name where it has one.

    Raises FileContentError, OSError.
    """
    document, name = _document(Path(path))
    return [run_from_json(run, run_name(run) or name) for run in runs_in(document)]


def _document(path: Path) -> tuple[Any, str]:
    """The JSON of a file and the file's short name."""
    raw = path.read_bytes()
    try:
        if raw[:2] == b"\x1f\x8b":
            with gzip.open(path) as stream:
                raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise FileContentError(f"{path.name}: more than {MAX_BYTES >> 20} MiB of JSON.")
        document = json.loads(raw)
    except (ValueError, OSError, EOFError) as error:
        raise FileContentError(f"{path.name}: no JSON of a recorded run ({error}).") from error
    return document, path.name.split(".json")[0]


def run_from_json(document: Any, name: str) -> EngineRun:
    """The run in a JSON document. Raises FileContentError."""
    missing = [key for key in KEYS if not isinstance(document, dict) or key not in document]
    if missing:
        raise FileContentError(f"{name}: a recorded run has {', '.join(KEYS)}; {missing[0]} lacks.")
    requests, steps = _table(document, "requests", 6, name), _table(document, "steps", 5, name)
    _check(requests, steps, name)
    order = np.argsort(requests[:, 1], kind="stable")
    requests = requests[order]
    arrival = requests[:, 1]
    trace = Trace(
        requests[:, 2].astype(np.int64), requests[:, 3].astype(np.int64), arrival, name=name
    )
    return EngineRun(
        trace,
        requests[:, 4],
        requests[:, 5],
        steps[:, 0],
        steps[:, 1],
        steps[:, 2].astype(np.int64),
        steps[:, 3].astype(np.int64),
        steps[:, 4].astype(np.int64),
        int(document["kv_blocks"]) * int(document["block"]),
        int(document["block"]),
        sizes_of(document.get("config")),
        {int(k): float(v) for k, v in (document.get("decode_step_us") or {}).items() if v},
        name,
    )


def _check(requests: FloatArray, steps: FloatArray, name: str) -> None:
    """Raises FileContentError for numbers that no run has: the curves and rules would not end."""
    for found, what in (
        ((requests[:, 1:4] < 0) | (requests[:, 1:4] > MAX_COUNT), "an arrival or a length"),
        (np.diff(steps[:, 0]) < 0, "the start of a step before that of the last"),
        (steps[:, 1] <= 0, "the duration of a step"),
        ((steps[:, 2:5] < 0) | (steps[:, 2:5] > MAX_RUNNING), "the requests of a step"),
    ):
        if found.any():
            raise FileContentError(
                f"{name}: {what} is out of range in {int(found.sum()):,} places; a run has times "
                f"of 0 or more, steps in order, and at most {MAX_RUNNING:,} requests in one."
            )


def _table(document: Mapping[str, Any], key: str, width: int, name: str) -> FloatArray:
    """Rows of numbers; the identifier of a request is left out of the reckoning."""
    rows = document[key]
    try:
        table = np.array(
            [[0.0 if isinstance(x, str) else float(x) for x in row[:width]] for row in rows]
        )
    except (TypeError, ValueError) as error:
        raise FileContentError(f"{name}: {key} holds what is no number ({error}).") from error
    if table.ndim != 2 or table.shape[1] != width or not np.isfinite(table).all():
        raise FileContentError(f"{name}: {key} must be rows of {width} finite values.")
    return table


def sizes_of(config: Any) -> tuple[int, ...]:
    """Capture sizes as a list or as text; none where the engine ran eager."""
    parts = str(config).strip("[] ").split(",")
    return tuple(sorted(int(part) for part in parts if part.strip().isdigit()))
