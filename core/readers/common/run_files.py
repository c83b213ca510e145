"""A file that holds one recorded run of an engine, or several: which of them is meant."""

from __future__ import annotations

from typing import Any

from core.errors import FileContentError
from core.readers.common.source import Source

PARTS = ("steps", "requests", "decode_step_us")


def runs_in(document: Any) -> list[dict[str, Any]]:
    """The runs of a document: itself, or those it lists under "runs"; none where it is no run."""
    if not isinstance(document, dict):
        return []
    if _is_run(document):
        return [document]
    listed = document.get("runs")
    return [run for run in listed if _is_run(run)] if isinstance(listed, list) else []


def run_name(run: dict[str, Any]) -> str:
    """What the file calls it; empty where it does not."""
    return str(run.get("name") or "")[:120]


def asked_run(source: Source) -> str | None:
    """The run that the user names; None where that names a member of an archive, or nothing."""
    part = source.options.part
    return None if part in source.parts else part


def one_run(document: Any, part: str | None, name: str) -> tuple[dict[str, Any], str]:
    """The run that is meant, and a sentence where there were others.

    part : a run's name; None takes the first
    Raises FileContentError where there is no run, or none of that name.
    """
    runs = runs_in(document)
    if not runs:
        raise FileContentError(f"{name}: a recorded run has {', '.join(PARTS)}; there is none.")
    names = [run_name(run) for run in runs]
    shown = "; ".join(names[:8]) + (f"; and {len(names) - 8} more" if len(names) > 8 else "")
    if part is not None and part not in names:
        raise FileContentError(f"{name}: there is no run {part!r}; there are: {shown}.")
    chosen = runs[0 if part is None else names.index(part)]
    if len(runs) == 1 or part is not None:
        return chosen, ""
    return chosen, f"Of {len(runs)} recorded runs the first is read; choose another: {shown}."


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and all(part in value for part in PARTS)
