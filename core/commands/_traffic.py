"""The step histogram that a command is asked about: typed batches or a file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from core.commands._numbers import whole_list
from core.engines import ENGINES
from core.errors import FileContentError, HistogramError, SettingError
from core.histogram import steps_from_lengths
from core.readers import Reading, ReadOptions, read
from core.readers.options import HISTOGRAM_KINDS
from core.records import IntArray, StepCost, StepHistogram, Trace
from core.simulate import Machine, simulate
from core.step_cost import assumed_step_cost


def add_traffic(parser: argparse.ArgumentParser) -> None:
    """--batches, --histogram and how to understand the file."""
    parser.add_argument(
        "--batches", type=whole_list, metavar="1,3,5", help="size of each step, one by one"
    )
    parser.add_argument(
        "--histogram",
        metavar="FILE",
        help="steps by size: batch,count or length,count (CSV), a JSON object {size: steps}, an "
        "engine log or metrics",
    )
    parser.add_argument(
        "--histogram-of",
        choices=HISTOGRAM_KINDS,
        help="what the sizes of a length,count file are, where its header does not say",
    )


def add_trace(parser: argparse.ArgumentParser) -> None:
    """A positional FILE of any kind, and the engine that a trace of requests runs through."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="a trace, histogram, log, metrics")
    add_limits(parser)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """The engine that a trace of requests runs through."""
    add = parser.add_argument
    add("--kv-tokens", type=int, default=500_000, help="for a trace: KV cache of the engine")
    add("--max-num-seqs", type=int, default=256, help="for a trace: most requests in a step")
    add("--max-num-batched-tokens", type=int, default=8192, help="for a trace: most tokens")


def steps_for_tuning(args: argparse.Namespace, cost: StepCost | None) -> StepHistogram:
    """From --batches, --histogram or FILE; requests run through a simulated engine.

    cost : step times of that engine; the assumed ones where it is None
    Raises SettingError, ProjectError, OSError.
    """
    if args.file is None:
        return chosen_steps(args)
    if args.histogram is not None or args.batches is not None:
        raise SettingError("Give one of FILE, --histogram FILE and --batches, not two.")
    mapping = _json_mapping(args.file)
    if mapping is not None:
        return _from_mapping(mapping, args.file)
    reading = read(args.file, options=ReadOptions(histogram_of=args.histogram_of))
    if reading.steps is None and reading.trace is not None:
        return simulated_steps(reading.trace, args, cost)
    return steps_of(reading, args.file)


def simulated_steps(trace: Trace, args: argparse.Namespace, cost: StepCost | None) -> StepHistogram:
    """Decode steps of a trace in an engine of the given limits. Raises HistogramError."""
    if trace.arrival_s is None:
        raise HistogramError(
            f"{args.file} holds lengths without arrivals, so how many requests run together is "
            "unknown; give a trace with arrivals, or a histogram of step sizes."
        )
    machine = Machine(
        kv_tokens=args.kv_tokens,
        max_num_seqs=args.max_num_seqs,
        max_num_batched_tokens=args.max_num_batched_tokens,
    )
    cost = cost or assumed_step_cost(args.max_num_seqs)
    # The list that runs in the simulation hardly moves the batch sizes; a common one is taken.
    sizes = ENGINES["vllm"].default_sizes(None, {"max_num_seqs": args.max_num_seqs}).sizes
    return simulate(trace, machine, cost, sizes).decode_steps


def chosen_steps(args: argparse.Namespace) -> StepHistogram:
    """From exactly one of --batches and --histogram. Raises SettingError, ProjectError."""
    given = [name for name in ("batches", "histogram") if getattr(args, name) is not None]
    if len(given) != 1:
        raise SettingError("Give either --batches 1,3,5 or --histogram FILE.")
    if args.batches is not None:
        return _from_batches(args.batches)
    return steps_from_file(args.histogram, args.histogram_of)


def _from_batches(batches: list[int]) -> StepHistogram:
    if not batches:
        raise HistogramError("--batches is empty; give at least one size, e.g. 1,3,5.")
    low = min(batches)
    if low < 1:
        raise HistogramError(f"--batches holds {low}; the size of a step is 1 or more.")
    return StepHistogram.from_batches(batches)


def steps_from_file(path: str, histogram_of: Any = None) -> StepHistogram:
    """Steps by size as a file tells them. Raises ProjectError, OSError."""
    mapping = _json_mapping(path)
    if mapping is not None:
        return _from_mapping(mapping, path)
    return steps_of(read(path, options=ReadOptions(histogram_of=histogram_of)), path)


def steps_of(reading: Reading, path: str) -> StepHistogram:
    """The steps a reading holds; lengths count as one step a request.

    Raises HistogramError for traces, whose steps only a simulation can tell, and for sums.
    """
    if reading.steps is not None:
        return reading.steps
    if reading.trace is not None:
        raise HistogramError(
            f"{path} holds requests ({reading.label}), not step sizes; `python -m core simulate` "
            "turns them into steps, or give it to `tune` as FILE."
        )
    lengths = reading.prompt_lengths or reading.output_lengths
    if lengths is None:
        raise HistogramError(
            f"{path} ({reading.label}) gives only sums or wide ranges, so steps cannot be counted."
        )
    return steps_from_lengths(lengths, path)


def _json_mapping(path: str) -> dict[str, Any] | None:
    """{size: steps} where the file is just that, or an answer of `import --json` with steps."""
    file = Path(path)
    if file.stat().st_size > 2**24:
        return None
    try:
        data = json.loads(file.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        return None
    if isinstance(data, dict) and isinstance(data.get("steps"), dict):
        data = data["steps"]
    return data if isinstance(data, dict) and all(map(_is_size, data)) else None


def _is_size(key: str) -> bool:
    return key.strip().isascii() and key.strip().removeprefix("-").isdigit()


def _from_mapping(mapping: dict[str, Any], path: str) -> StepHistogram:
    for size, steps in mapping.items():
        whole = isinstance(steps, int) and not isinstance(steps, bool)
        if not whole or not 0 <= steps < 2**62 or not 1 <= int(size) < 2**31:
            raise FileContentError(
                f"{path}: {steps!r} steps of size {size}; sizes are 1 or more, counts whole and 0 "
                "or more, both of a size that an engine could have."
            )
    counts = {int(size): steps for size, steps in mapping.items()}
    return StepHistogram.from_mapping(counts, source=path)


def hits_json(sizes: tuple[int, ...], hits: IntArray | np.ndarray[Any, Any]) -> dict[str, int]:
    """{bucket: steps} of the buckets that are used."""
    return {str(size): int(n) for size, n in zip(sizes, hits, strict=True) if n}
