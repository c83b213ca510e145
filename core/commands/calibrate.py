"""`calibrate`: step times fitted to an engine's own run or log, checked on what was not fitted."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.calibration.beside import Comparison
from core.calibration.calibrate import calibrate, eager_table
from core.calibration.calibrated import Calibration, KindCheck
from core.calibration.model import model_of, model_to_json
from core.calibration.sources import read_evidence
from core.commands._numbers import whole_list
from core.simulate import MODES, Machine

NAME = "calibrate"
HELP = "fit step times to a recorded run, a log or a table, and show predicted beside real"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, what ran, and where to keep the model."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a recorded run, a log with step times, or a table by size")
    add("--part", metavar="RUN", help="which run, where FILE holds several (import names them)")
    add("--eager", metavar="FILE", help="the same of an engine without graphs: its eager steps")
    ran = parser.add_mutually_exclusive_group()
    ran.add_argument(
        "--sizes",
        type=whole_list,
        metavar="1,2,4",
        help="capture sizes of the engine that ran, where FILE is silent",
    )
    ran.add_argument("--ran-eager", action="store_true", help="the engine had no graphs")
    add("--max-num-seqs", type=int, default=256, metavar="M", help="of that engine (default 256)")
    add("--max-num-batched-tokens", type=int, default=8192, metavar="T", help="default 8192")
    add("--mode", choices=MODES, default="chunked", help="how prefill and decode share steps")
    add("--out", metavar="MODEL", help="keep the model here; --profile MODEL computes with it")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer. Raises ProjectError, OSError."""
    limits = Machine(
        kv_tokens=1 << 20,
        max_num_seqs=args.max_num_seqs,
        max_num_batched_tokens=args.max_num_batched_tokens,
        mode=args.mode,
    )
    found = calibrate(
        read_evidence(args.file, part=args.part),
        capture_sizes=() if args.ran_eager else args.sizes,
        eager_us=eager_table(read_evidence(args.eager)) if args.eager else None,
        limits=limits,
    )
    if args.out:
        text = json.dumps(model_to_json(model_of(found)), indent=1)
        Path(args.out).write_text(text + "\n", "utf-8")
    return answer(found, args.out)


def answer(found: Calibration, out: str | None = None) -> dict[str, Any]:
    """A calibration as plain JSON types."""
    machine = found.machine
    return {
        "origin": found.cost.origin.value,
        "source": found.cost.source,
        "prefill": None if found.prefill is None else found.prefill.source,
        "steps": {item.kind: _kind(item) for item in found.kinds},
        "run": None if found.comparison is None else comparison_json(found.comparison),
        "limits": None if machine is None else asdict(machine),
        "sentences": list(found.sentences),
        "notes": list(found.notes),
        "model": out,
    }


def _kind(item: KindCheck) -> dict[str, Any]:
    groups, check = item.groups, item.check
    rows = zip(
        *(groups.first.tolist(), groups.last.tolist(), groups.steps.tolist()),
        *(groups.real_us.tolist(), groups.fitted_us.tolist()),
        strict=True,
    )
    names = ("first", "last", "steps", "real_us", "fitted_us")
    return {
        "unit": item.unit,
        "check": None if check is None else asdict(check),
        "by_size": [dict(zip(names, row, strict=True)) for row in rows],
    }


def comparison_json(found: Comparison) -> dict[str, Any]:
    """{figure: {real, simulated, error}}; times in seconds; distances as they are."""
    figures: dict[str, Any] = {
        name: {"real": value.real, "simulated": value.simulated, "error": value.error}
        for name, value in found.figures.items()
    }
    return figures | {
        "batch_distance": found.batch_distance,
        "batch_distance_by_4": found.batch_distance_by_4,
    }


def text(result: dict[str, Any]) -> str:
    """For people."""
    lines = [f"{result['origin']}: {result['source']}", *result["sentences"]]
    if result["run"] is not None:
        lines.append("the whole run, simulated from its arrivals and lengths (simulated / real):")
        for name, value in result["run"].items():
            if isinstance(value, dict):
                lines.append(
                    f"  {name.replace('_', ' ')}: {value['simulated']:.4g} / {value['real']:.4g} "
                    f"({100 * value['error']:+.1f} %)"
                )
            else:
                lines.append(f"  {name.replace('_', ' ')}: {value:.3f}")
    if result["model"]:
        lines.append(f"kept in {result['model']}; --profile {result['model']} computes with it")
    return "\n".join([*lines, *(f"note: {note}" for note in result["notes"])])
