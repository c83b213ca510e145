"""A recorded run of an engine as JSON: requests, steps and decode times by batch size.

`eager_step_us`, where it is there, is the table of decode steps of the same engine without graphs.
"""

from __future__ import annotations

from core.calibration.evidence import Evidence
from core.calibration.recording import run_from_json
from core.calibration.sources.decode_table import table_from_json
from core.readers.common.head import Head
from core.readers.common.source import Source


def read(source: Source, head: Head) -> Evidence | None:
    """Raises FileContentError where the run's rows are no numbers."""
    document = head.json.document if head.json is not None else None
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
    )
