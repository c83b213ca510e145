"""`check`: what would really happen with an engine's flags, config or start-up log."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from core.commands._engine import add_engine, chosen_engine, chosen_settings
from core.commands._numbers import percent
from core.commands._traffic import steps_from_file
from core.engines.check import CheckReport, check
from core.engines.ladder import as_ranges
from core.engines.plan import Finding
from core.errors import FileContentError, SettingError
from core.readers.options import HISTOGRAM_KINDS
from core.text.counting import counted

LARGEST_BYTES = 2**28

NAME = "check"
HELP = "what an engine would really capture, and where steps fall off its graphs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The engine, its configuration as text, and the user's own steps."""
    add_engine(parser)
    add = parser.add_argument
    add("--config", metavar="FILE", help="flags, JSON, YAML or a start-up log; - for stdin")
    add("--flags", metavar="TEXT", help="the same as one argument: --flags='--max-num-seqs 256'")
    add("--histogram", metavar="FILE", help="your steps by size, for how often each matters")
    add("--histogram-of", choices=HISTOGRAM_KINDS, help="what the sizes of that file are")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer."""
    histogram = steps_from_file(args.histogram, args.histogram_of) if args.histogram else None
    report = check(chosen_engine(args), args.version, chosen_settings(args), _text(args), histogram)
    return answer(report)


def _text(args: argparse.Namespace) -> str | None:
    if args.config is not None and args.flags is not None:
        raise SettingError("Give one of --config FILE and --flags TEXT, not both.")
    if args.config is None:
        return args.flags
    if args.config == "-":
        return sys.stdin.read()
    path = Path(args.config)
    if path.stat().st_size > LARGEST_BYTES:
        raise FileContentError(
            f"{args.config} is larger than {LARGEST_BYTES >> 20} MiB; cut the log to its start."
        )
    try:
        with path.open(encoding="utf-8", newline="") as file:  # bars keep their carriage returns
            return file.read().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FileContentError(f"{args.config} is no UTF-8 text; give flags or a log.") from error


def answer(report: CheckReport) -> dict[str, Any]:
    """A report as plain JSON types."""
    plan = report.plan
    return {
        "engine": report.engine,
        "version": report.version,
        "source": report.source,
        "starts": report.starts,
        "sizes": list(report.sizes),
        "effective_sizes": list(report.sizes),
        "unit": report.unit.value if report.unit else None,
        "graphs": plan.graphs if plan else None,
        "counts": {count.what: count.graphs for count in plan.counts} if plan else {},
        "findings": [finding_json(finding) for finding in report.findings],
        "ignored": list(report.ignored),
        "notes": list(report.notes),
        "log": {**report.log.plain_facts, "graphs": report.log.plain_graphs}
        if report.log
        else None,
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "text": finding.text,
        "load": finding.load,
        "affected": list(finding.affected) if finding.affected else None,
        "share_pct": None if finding.share is None else percent(finding.share),
        "fix": finding.fix,
    }


def text(result: dict[str, Any]) -> str:
    """For people."""
    sizes = as_ranges(result["sizes"]) if result["sizes"] else "none"
    unsaid = any(finding["id"] == "list-not-in-log" for finding in result["findings"])
    rule = ", by the rule, the log does not print them" if unsaid else ""
    lines = [
        f"{result['engine']} {result['version']}, from {result['source']}",
        f"captures {counted(len(result['sizes']), 'sizes')} ({result['unit']}){rule}: {sizes}",
    ]
    for finding in result["findings"]:
        share = finding["share_pct"]
        load = f" [{finding['load']}]" if finding["load"] else ""
        often = f" [{share:.2f} % of your steps]" if share is not None else ""
        lines.append(f"{finding['severity']}: {finding['text']}{load}{often}")
        if finding["fix"]:
            lines.append(f"    fix: {finding['fix']}")
    if result["ignored"]:
        lines.append(f"changes no graph, not read: {', '.join(result['ignored'])}")
    return "\n".join([*lines, *result["notes"]])
