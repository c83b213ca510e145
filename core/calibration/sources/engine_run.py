"""A recorded run of an engine as JSON: requests, steps and decode times by batch size.

`eager_step_us`, where it is there, is the table of decode steps of the same engine without graphs.
"""

from __future__ import annotations

from typing import Any

from core.calibration.evidence import Evidence
from core.calibration.recording import run_from_json
from core.calibration.sources.decode_table import table_from_json
from core.readers.common.head import Head
from core.readers.common.run_files import asked_run, one_run, runs_in
from core.readers.common.source import Source


def read(source: Source, head: Head) -> Evidence | None:
    """Of several runs the one that is asked for, else the first.

    Raises FileContentError where the run's rows are no numbers.
    """
    document = head.json.document if head.json is not None else None
    others = ""
    if isinstance(document, dict) and "steps" not in document and runs_in(document):
        runs = runs_in(document)
        document, others = one_run(document, asked_run(source), source.name)
        document = {"eager_step_us": _eager_of(runs, document), **document}
    if not isinstance(document, dict) or not {"requests", "steps"} <= set(document):
        return None
    run = run_from_json(document, source.name)
    graphs = bool(run.capture_sizes)
    eager = table_from_json(document.get("eager_step_us") or {}, source.name)
    return Evidence(
        "recorded run of an engine",
        source.name.split(".json")[0],
        run.capture_sizes,
        run=run,
        graph_us=run.decode_step_us if graphs else {},
        eager_us=eager if graphs else run.decode_step_us,
        has_context=True,
        notes=(others,) if others else (),
    )


def _eager_of(runs: list[dict[str, Any]], chosen: dict[str, Any]) -> dict[str, Any]:
    """Decode steps of the first run of the same file whose engine had no graphs; else none."""
    eager = (run for run in runs if run.get("mode") == "eager" and run is not chosen)
    table = next(eager, {}).get("decode_step_us")
    return table if isinstance(table, dict) else {}
