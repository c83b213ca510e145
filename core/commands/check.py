"""`check`: what would really happen with an engine's flags, config, log or deployment file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from core.commands._engine import add_engine, chosen_engine, chosen_settings, named_values
from core.commands._numbers import percent
from core.commands._traffic import steps_from_file
from core.deploy.answers import Answer, Asked, answers
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
    add_engine(parser, required=False)
    add = parser.add_argument
    add(
        "--config",
        metavar="FILE",
        help="flags, JSON, YAML, a start-up log or a deployment file (Compose, Kubernetes, Helm "
        "values, a shell script, a systemd unit, a Dockerfile, SkyPilot, Ray Serve); - for stdin",
    )
    add("--flags", metavar="TEXT", help="the same as one argument: --flags='--max-num-seqs 256'")
    add(
        "--var",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="values for variables that the file leaves open, e.g. MAX_NUM_SEQS=256",
    )
    add("--histogram", metavar="FILE", help="your steps by size, for how often each matters")
    add("--histogram-of", choices=HISTOGRAM_KINDS, help="what the sizes of that file are")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer; with several engines in the file, `answers` holds one each."""
    histogram = steps_from_file(args.histogram, args.histogram_of) if args.histogram else None
    text = _text(args)
    engine = chosen_engine(args) if args.engine else None
    if text is None:
        if engine is None:
            raise SettingError("Give --engine, or a --config FILE that names it.")
        return answer(check(engine, args.version, chosen_settings(args), None, histogram))
    variables = named_values("--var", args.var, "MAX_NUM_SEQS=256")
    asked = Asked(engine.id if engine else None, args.version, chosen_settings(args), variables)
    found = answers(text, asked, histogram)
    every = [_one(one) for one in found.answers]
    if len(every) > 1:
        return {"answers": every, "passed_over": list(found.passed_over)}
    return {**every[0], "passed_over": list(found.passed_over)}


def _one(one: Answer) -> dict[str, Any]:
    """A deployment's answer; with `problem` in place of sizes where it cannot be used."""
    told = one.deployment
    deployment = {
        "kind": told.kind,
        "name": told.name,
        "role": told.role,
        "release": told.release,
        "settings": told.text,
        "unset": list(told.unset),
        "not_understood": list(told.not_understood),
    }
    extra = {"deployment": deployment} if told.kind else {}
    if one.report is None:
        return {"engine": told.engine, "problem": one.problem, **extra}
    return {**answer(one.report), **extra}


def _text(args: argparse.Namespace) -> str | None:
    if args.config is not None and args.flags is not None:
        raise SettingError("Give one of --config FILE and --flags TEXT, not both.")
    return args.flags if args.config is None else read_text(args.config)


def read_text(name: str) -> str:
    """A configuration or log; "-" is stdin. Raises FileContentError, OSError."""
    if name == "-":
        return sys.stdin.read()
    path = Path(name)
    if path.stat().st_size > LARGEST_BYTES:
        raise FileContentError(
            f"{name} is larger than {LARGEST_BYTES >> 20} MiB; cut the log to its start."
        )
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise FileContentError(f"{name} is no UTF-8 text; give flags or a log.") from error


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
        "log": {**report.log.facts, "graphs": report.log.graphs} if report.log else None,
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
    """For people: each engine of a file in a part of its own."""
    every = result.get("answers", [result])
    parts = [_problem(one) if "problem" in one else _part(one) for one in every]
    left = result.get("passed_over") or []
    return "\n\n".join([*parts, *([f"not checked: {'; '.join(left)}"] if left else [])])


def _problem(result: dict[str, Any]) -> str:
    told = result["deployment"]
    return f"{told['kind']}, {told['name']}: {result['problem']}"


def _part(result: dict[str, Any]) -> str:
    sizes = as_ranges(result["sizes"]) if result["sizes"] else "none"
    unset = result.get("deployment", {}).get("unset", [])
    are = "is" if len(unset) == 1 else "are"
    open_ = f", while {', '.join(unset)} {are} open" if unset else ""
    lines = [
        f"{result['engine']} {result['version']}, from {result['source']}",
        f"captures {counted(len(result['sizes']), 'sizes')} ({result['unit']}{open_}): {sizes}",
    ]
    if unset:
        names = " ".join(f"{name}=.." for name in unset)
        lines.append(f"open: {names} (give them with --var; the answer is without them)")
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
