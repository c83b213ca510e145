"""`diagnose`: from a log or a traceback to the first cause of a failed capture."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from core.diagnose import Cause, Diagnosis, diagnose
from core.errors import FileContentError

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
    return {"causes": [_cause_json(cause) for cause in found.causes], "lines": found.lines}


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
    }


def text(result: dict[str, Any]) -> str:
    """For people."""
    if not result["causes"]:
        return (
            f"No known error of capturing and no exception in {result['lines']:,} lines. Give the "
            "log from the start of the process, of every rank."
        )
    lines = []
    for number, cause in enumerate(result["causes"], start=1):
        code = f" ({cause['code']})" if cause["code"] else ""
        often = f", {cause['times']} times" if cause["times"] > 1 else ""
        lines.append(
            f"{number}. {cause['class']}{code}: {cause['rank']}, line {cause['line']}{often}"
        )
        lines.append(f"   found:  {cause['evidence']}")
        site = cause["site"]
        if site:
            lines.append(f"   where:  {site['file']}, line {site['line']}: {site['code']}")
        lines += [f"   cause:  {cause['cause']}", f"   remedy: {cause['remedy']}"]
    return "\n".join(lines)
