"""`import FILE`: what a file holds, and what was left out of it."""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

from core.errors import SettingError
from core.logs.told import stated_lines
from core.readers import Reading, ReadOptions, read
from core.readers.common.lengths import total_tokens, weighted_percentiles
from core.readers.options import COLUMN_ROLES, HISTOGRAM_KINDS, TIME_UNITS
from core.records import LengthHistogram
from core.text.counting import counted

NAME = "import"
HELP = "say what a trace, log, histogram or metrics file holds, and what was left out"
PERCENTS = (50.0, 90.0, 99.0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE and the choices of ReadOptions."""
    parser.add_argument("file", metavar="FILE", help="any file of docs/formats.md, or - for stdin")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="ROLE=COLUMN",
        help=f"take COLUMN as ROLE, one of {', '.join(COLUMN_ROLES)}; may be repeated",
    )
    parser.add_argument("--time-unit", choices=TIME_UNITS, default="auto")
    parser.add_argument("--histogram-of", choices=HISTOGRAM_KINDS)
    parser.add_argument("--model", help="keep this model only")
    parser.add_argument("--part", help='which run, benchmark, array or member; "all" pools them')
    parser.add_argument("--spread-ticks", action="store_true", help="spread arrivals on ticks")


def options_of(args: argparse.Namespace) -> ReadOptions:
    """ReadOptions from the command line. Raises SettingError on a bad --map."""
    columns = {}
    for item in args.map:
        role, separator, column = item.partition("=")
        if not separator or not column:
            raise SettingError(f"--map {item!r} must be ROLE=COLUMN, e.g. prompt_tokens=in_tok.")
        columns[role] = column
    return ReadOptions(
        columns=columns,
        time_unit=args.time_unit,
        histogram_of=args.histogram_of,
        model=args.model,
        part=args.part,
        spread_ticks=args.spread_ticks,
    )


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer."""
    options = options_of(args)
    if args.file == "-":
        return summary(read(sys.stdin.buffer, name="stdin", options=options))
    return summary(read(args.file, options=options))


def summary(reading: Reading) -> dict[str, Any]:
    """A Reading as plain JSON types; lengths as percentiles [tokens]."""
    trace = reading.trace
    duration = trace.duration_s if trace else None
    if duration is None and reading.steps is not None:
        duration = reading.steps.duration_s
    steps = None
    if reading.steps is not None:
        pairs = zip(reading.steps.sizes.tolist(), reading.steps.steps.tolist(), strict=True)
        steps = {str(size): count for size, count in pairs}
    return {
        "format": reading.format,
        "label": reading.label,
        "grade": reading.grade.value,
        "rows": reading.rows,
        "kept": reading.kept,
        "dropped": dict(reading.dropped),
        "dropped_examples": {k: list(v) for k, v in reading.dropped_examples.items()},
        "prompt": length_summary(reading.prompt_lengths) or sums_summary(reading, "prompt"),
        "output": length_summary(reading.output_lengths) or sums_summary(reading, "output"),
        "duration_s": duration,
        "rate_rps": trace.rate_rps if trace else None,
        "steps": steps,
        "step_unit": reading.steps.unit.value if reading.steps is not None else None,
        "captured": list(reading.captured.sizes) if reading.captured else None,
        "columns": dict(reading.columns),
        "all_columns": list(reading.all_columns),
        "warnings": list(reading.warnings),
        "facts": dict(reading.facts),
        "stated": list(stated_lines(reading.log)) if reading.log is not None else [],
    }


def sums_summary(reading: Reading, what: str) -> dict[str, Any] | None:
    """What is known without single lengths: the tool's own percentiles, ranges, mean and sum."""
    facts = reading.facts
    percentiles = facts.get(f"{what}_percentiles", {})
    result = {
        **{name: percentiles.get(name) for name in ("p50", "p90", "p99")},
        "max": facts.get(f"{what}_max_tokens"),
        "total": facts.get(f"{what}_total_tokens"),
        "mean": facts.get(f"{what}_mean_tokens"),
    }
    ranges = facts.get(f"{what}_quantile_ranges", {})
    result.update({f"{name}_range": ends for name, ends in ranges.items()})
    return result if any(value is not None for value in result.values()) else None


def length_summary(histogram: LengthHistogram | None) -> dict[str, Any] | None:
    """{p50, p90, p99, max, total}: linear percentiles and the sum [tokens]; of shares, the mean."""
    if histogram is None or len(histogram.lengths) == 0:
        return None
    p50, p90, p99 = weighted_percentiles(histogram, PERCENTS).tolist()
    total = total_tokens(histogram)
    return {
        "p50": p50,
        "p90": p90,
        "p99": p99,
        "max": int(histogram.lengths[-1]),
        "total": int(total) if total == math.floor(total) else total,
    }


def _words(length: dict[str, Any]) -> str:
    """ "p50 1,025, p90 4,077, max 14,050"; ranges as "p50 in 1,000 to 2,000"."""
    parts = []
    for key, value in length.items():
        if isinstance(value, list):
            top = "more" if value[1] is None else f"{value[1]:,.10g}"
            parts.append(f"{key.removesuffix('_range')} above {value[0]:,.10g} up to {top}")
        elif value is not None:
            parts.append(f"{key} {value:,.10g}")
    return ", ".join(parts)


def text(result: dict[str, Any]) -> str:
    """The answer for people."""
    lines = [
        f"{result['label']}, grade {result['grade']}: "
        f"{result['kept']:,} of {counted(result['rows'], 'rows')} used"
    ]
    for reason, rows in result["dropped"].items():
        examples = ", ".join(str(n) for n in result["dropped_examples"].get(reason, ()))
        lines.append(
            f"  left out: {rows:,} ({reason})" + (f", e.g. line {examples}" * bool(examples))
        )
    for what in ("prompt", "output"):
        if result[what]:
            lines.append(f"  {what} tokens: {_words(result[what])}")
    if result["duration_s"] is not None:
        rate = f", {result['rate_rps']:.3f} requests/s" if result["rate_rps"] else ""
        lines.append(f"  duration: {result['duration_s']:,.3f} s{rate}")
    if result["steps"]:
        total = sum(result["steps"].values())
        sizes = counted(len(result["steps"]), "sizes")
        lines.append(
            f"  steps: {total:,} of {sizes} [{result['step_unit']}], "
            f"largest {max(int(size) for size in result['steps']):,}"
        )
    if result["captured"]:
        lines.append(f"  captured sizes: {','.join(map(str, result['captured']))}")
    lines += [f"  {stated}" for stated in result["stated"]]
    if result["columns"]:
        pairs = ", ".join(f"{role} = {column}" for role, column in result["columns"].items())
        lines.append(f"  columns: {pairs}")
    lines += [f"  note: {warning}" for warning in result["warnings"]]
    return "\n".join(lines)
