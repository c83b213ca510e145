"""Exceptions that no rule knows: what is kept of them, and what to try next."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.failures.call_sites import CallSite
from core.failures.cause import Cause
from core.failures.layers import Layer

_CLASS = r"(?:^|[\s|])(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception)|Exception)"
_EXCEPTION = re.compile(rf"{_CLASS}: ?(\S.*)?$")
_BARE = re.compile(rf"{_CLASS}\s*$")
_GAVE_UP = re.compile(r"Capture cuda ?graph failed:?\s*(.*)$", re.IGNORECASE)
_WRAPPERS = re.compile(
    r"Capture cuda ?graph failed|RayTaskError|WorkerProc initialization failed|failed with error"
    r"|See root cause above|_dynamo\.exc\.|Unexpected <class|Method \w+ encountered an error",
    re.IGNORECASE,
)


def names_exception(line: str, sites: Sequence[CallSite]) -> bool:
    """Whether a line is the end of a traceback: class and message, or the class alone where frames
    stand above it."""
    if "Error:" in line or "Exception:" in line:
        return _EXCEPTION.search(line) is not None
    return bool(sites) and _BARE.search(line) is not None


def is_wrapper(line: str, *, empty: bool = False) -> bool:
    """A line that raises another error again; empty : only where it does not tell which."""
    if empty:
        gave_up = _GAVE_UP.search(line)
        return bool(gave_up and not gave_up[1]) or (not gave_up and bool(_WRAPPERS.search(line)))
    return bool(_WRAPPERS.search(line))


def unknown(
    line: str,
    evidence: str,
    number: int,
    site: CallSite | None,
    shown: tuple[Layer, CallSite] | None,
    in_capture: bool,
) -> Cause:
    """The exception's line, the innermost frame, and what to try."""
    klass, why, remedy = _words(line, in_capture)
    return Cause(
        klass,
        evidence,
        number,
        why,
        remedy,
        site=site,
        layer=shown[0] if shown else None,
        shown_by=f"{shown[1].file}, line {shown[1].line}" if shown else "",
    )


def _words(line: str, in_capture: bool) -> tuple[str, str, str]:
    gave_up = _GAVE_UP.search(line)
    if gave_up and not gave_up[1]:
        return (
            "capture_failed",
            "The engine gave up capturing and does not say why.",
            "Look for the first exception above it, on every rank; if there is none, run the same "
            "step eagerly, then switch layers off one by one.",
        )
    if gave_up:
        return (
            "capture_failed",
            f"The engine gave up capturing; its reason is no known error: {gave_up[1][:160]}",
            "Run the same step eagerly: if it fails too, graphs are not the reason. Else switch "
            "layers off one by one.",
        )
    why = "An exception that is no known error of capturing."
    if in_capture:
        return (
            "other_error",
            f"{why} A capture was running, as far as the text tells.",
            "Mend it first, or run the same step eagerly: errors after it may follow from it.",
        )
    return (
        "other_error",
        why,
        "Mend it first, or run the same step eagerly: errors after it may follow from it.",
    )
