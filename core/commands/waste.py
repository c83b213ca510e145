"""`waste`: what a bucket set pads, on typed batches or a histogram."""

from __future__ import annotations

import argparse
from typing import Any

from core.commands._numbers import percent, sizes_text, whole_list
from core.commands._traffic import add_traffic, chosen_steps, hits_json
from core.padding import PaddingReport, padding_report
from core.text.counting import counted

NAME = "waste"
HELP = "padded slots, waste and coverage of a list of capture sizes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--sizes and the traffic."""
    parser.add_argument(
        "--sizes", type=whole_list, required=True, metavar="1,2,4", help="capture sizes"
    )
    add_traffic(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer; slots count graph steps only."""
    return answer(padding_report(chosen_steps(args), args.sizes))


def answer(report: PaddingReport) -> dict[str, Any]:
    """A report as plain JSON types."""
    return {
        "sizes": list(report.capture_sizes),
        "unit": report.unit.value,
        "useful": report.useful_slots,
        "slots": report.total_slots,
        "padded": report.padded_total,
        "waste_pct": percent(report.waste),
        "overhead_pct": percent(report.overhead),
        "mean_step_waste_pct": percent(report.mean_step_waste),
        "coverage_pct": percent(report.coverage),
        "steps": report.steps,
        "graph_steps": report.graph_steps,
        "eager_steps": report.eager_steps,
        "hits": hits_json(report.capture_sizes, report.hits),
        "unused": list(report.unused),
        "droppable_pct": percent(report.droppable_share),
    }


def text(result: dict[str, Any]) -> str:
    """For people."""
    lines = [
        f"{result['useful']:,} useful of {result['slots']:,} slots, {result['padded']:,} padded",
        f"waste {result['waste_pct']:.2f} % of the replayed slots; overhead "
        f"{result['overhead_pct']:.2f} % of the useful ones",
        f"coverage {result['coverage_pct']:.2f} % of {counted(result['steps'], 'steps')}; "
        f"{result['eager_steps']:,} run eager",
        f"never used: {sizes_text(result['unused'])}",
    ]
    hits = ", ".join(f"{size}: {steps:,}" for size, steps in result["hits"].items())
    return "\n".join([*lines, f"steps a bucket: {hits or 'none'}"])
