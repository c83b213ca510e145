"""Replay requests on the engine that is installed here, under several lists of capture sizes:

    python -m gpu_worker.replay --spec replay.json --out run.json.gz

    {"requests": "requests.csv", "loads": [1, 1.5], "repeats": 2,
     "lists": {"today": "default", "new": [4, 8, 16]},
     "model": {...}, "engine": {"max_num_seqs": 256}}

Arrivals are kept (divided by the load), prompts are random tokens of the right lengths. What comes
out are recorded runs, which `python -m core import` and `calibrate` read, and a summary.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.calibration.replay_figures import summary_of
from core.errors import InputError, ProjectError
from core.records import to_json_dict
from gpu_worker.driven.replay_spec import ReplaySpec, replay_spec
from gpu_worker.driven.replays import replay_list
from gpu_worker.files import check_writable, read_json
from gpu_worker.targets.vllm.model_folder import allow_models

FORMAT = 1
A_SPEC = 'what to replay, such as {"requests": "requests.csv", "lists": ["default", "eager"]},'
SHOWN = ("ttft_p50_ms", "tpot_p50_ms", "tpot_mean_ms", "tpot_p99_ms", "itl_p99_ms", "output_tps")


def replay_all(spec: ReplaySpec, out: Path, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Every list, load and repeat; what is done is in the file after each run.

    Raises JobError with the first cause where the engine does not start, or dies again and again.
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "replayed_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "spec": to_json_dict(spec.measuring),
        "notes": list(spec.notes),
        "device": None,
        "lists": {},
        "runs": [],
        "summary": [],
    }

    def keep(run: dict[str, Any]) -> None:
        document["runs"].append(run)
        document["summary"] = summary_of(document["runs"])
        write_document(out, document)
        say(f"{run['name']}: {len(run['requests']):,} requests, {len(run['steps']):,} steps")

    for one in spec.lists:
        device, facts = replay_list(spec, one, keep)
        document["device"] = to_json_dict(device)
        document["lists"][one.name] = to_json_dict(facts)
    write_document(out, document)
    return document


def write_document(path: Path, document: dict[str, Any]) -> None:
    """All of it or nothing; packed where the name ends in .gz. Raises InputError."""
    text = json.dumps(document).encode()
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"--out {path} cannot be written: {error.strerror}.") from error


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0; 2 with one sentence on stderr when it cannot run."""
    parser = argparse.ArgumentParser(prog="python -m gpu_worker.replay")
    parser.add_argument("--spec", type=Path, required=True, help="JSON; docs/worker.md lists it")
    parser.add_argument("--models", type=Path, help="models may be read below here")
    parser.add_argument("--out", type=Path, required=True, help="such as run.json.gz")
    args = parser.parse_args(argv)
    try:
        if args.models is not None:
            allow_models(args.models)
        spec = replay_spec(read_json(args.spec, A_SPEC), args.spec.parent, str(args.spec))
        check_writable(args.out)
        for note in spec.notes:
            print(f"note: {note}")
        document = replay_all(spec, args.out, lambda text: print(text, flush=True))
    except ProjectError as error:
        print(f"python -m gpu_worker.replay: {error}", file=sys.stderr)
        return 2
    print("\n".join(table_of(document["summary"])))
    print(f"-> {args.out}")
    return 0


def table_of(summary: Sequence[dict[str, Any]]) -> list[str]:
    """For people: a line a list, with what the noise leaves of its difference to the first."""
    lines = []
    for part in summary:
        lines.append(f"load {part['load']:g}" + _noise_words(part["noise"]))
        for name, found in part["lists"].items():
            figures = found["figures"]
            words = [f"{key} {figures[key]:.4g}" for key in SHOWN if key in figures]
            lines.append(f"  {name}: {', '.join(words)}; {found['runs']} runs")
        for name, differences in part["differences"].items():
            words = [
                f"{key} {differences[key]['change']:+.1%} ({differences[key]['verdict']})"
                for key in SHOWN
                if key in differences
            ]
            lines.append(f"  {name} beside {part['beside']}: {', '.join(words)}")
    return lines


def _noise_words(noise: dict[str, float]) -> str:
    if not noise:
        return ": no list was run twice, so the noise is not known"
    tpot = noise.get("tpot_p50_ms")
    return "" if tpot is None else f": repeats differ by {tpot:.1%} in TPOT p50"


if __name__ == "__main__":
    sys.exit(main())
