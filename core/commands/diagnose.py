"""`diagnose`: from a log or a traceback to the first cause of a failed capture."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from core.diagnose import Cause, Diagnosis, diagnose
from core.errors import FileContentError
from core.failures.switches import Served, spelt_for
from core.text.counting import counted

LARGEST_BYTES = 2**28

NAME = "diagnose"
HELP = "why capturing failed: the first cause in a log or a traceback, and what to do"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The text."""
    parser.add_argument("file", metavar="FILE", help="a log or a traceback; - for stdin")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer."""
    return answer(diagnose(_lines(args.file)))


def _lines(path: str) -> Iterator[str]:
    """Lines as they come; logs of several processes may hold bytes that are no text.

    Raises FileContentError, OSError.
    """
    if path == "-":
        sys.stdin.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
        yield from _bounded(iter(sys.stdin), "stdin")
        return
    with open(path, encoding="utf-8", errors="replace") as file:
        if "\0" in file.read(4096):
            raise FileContentError(f"{path} is no text; give a log or a traceback.")
        file.seek(0)
        yield from _bounded(iter(file), path)


def _bounded(lines: Iterator[str], where: str) -> Iterator[str]:
    read = 0
    for line in lines:
        read += len(line)
        if read > LARGEST_BYTES:
            raise FileContentError(
                f"{where} is larger than {LARGEST_BYTES >> 20} MiB; cut it around the first error."
            )
        yield line


def answer(found: Diagnosis) -> dict[str, Any]:
    """A diagnosis as plain JSON types."""
    return {
        "causes": [_cause_json(cause) for cause in found.causes],
        "lines": found.lines,
        "engine": found.served.engine or None,
        "version": found.served.version or None,
    }


def _cause_json(cause: Cause) -> dict[str, Any]:
    site = cause.site
    return {
        "class": cause.klass,
        "evidence": cause.evidence,
        "line": cause.line,
        "cause": cause.cause,
        "remedy": cause.remedy,
        "rank": cause.rank.value,
        "code": cause.code,
        "times": cause.times,
        "site": {"file": site.file, "line": site.line, "code": site.code} if site else None,
        "layer": cause.layer.value if cause.layer else None,
        "layer_shown_by": cause.shown_by or None,
        "switch_off": [
            {"layer": str(switch.layer), "flag": switch.flag, "costs": switch.costs}
            for switch in cause.switches
        ],
    }


def text(result: dict[str, Any]) -> str:
    """For people."""
    if not result["causes"]:
        return (
            f"No known error of capturing and no exception in {counted(result['lines'], 'lines')}. "
            "Give the log from the start of the process, of every rank."
        )
    lines: list[str] = []
    for number, cause in enumerate(result["causes"], start=1):
        lines += _cause_text(number, cause)
        if cause["switch_off"]:
            named = Served(result["engine"] or "", result["version"] or "")
            lines.append(
                f"   to find it, switch off one at a time, in this order{spelt_for(named)}:"
            )
            lines += _switches_text(cause["switch_off"])
    return "\n".join(lines)


def _cause_text(number: int, cause: dict[str, Any]) -> list[str]:
    code = f" ({cause['code']})" if cause["code"] else ""
    often = f", {cause['times']} times" if cause["times"] > 1 else ""
    lines = [
        f"{number}. {cause['class']}{code}: {cause['rank']}, line {cause['line']}{often}",
        f"   found:  {cause['evidence']}",
    ]
    site = cause["site"]
    if site:
        lines.append(f"   where:  {site['file']}, line {site['line']}: {site['code']}")
    if cause["layer"]:
        lines.append(f"   layer:  {cause['layer']}, shown by {cause['layer_shown_by']}")
    return [*lines, f"   cause:  {cause['cause']}", f"   remedy: {cause['remedy']}"]


def _switches_text(switches: list[dict[str, str]]) -> list[str]:
    return [
        f"     {place}. {switch['layer']}: {switch['flag']}\n        costs: {switch['costs']}"
        for place, switch in enumerate(switches, start=1)
    ]
