"""A table of decode steps by batch size as JSON: {"decode_step_us": {"1": 5985.9, ...}}."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.calibration.evidence import Evidence
from core.calibration.recording import sizes_of
from core.errors import FileContentError
from core.readers.common.head import Head
from core.readers.common.source import Source

GRAPH_KEYS = ("decode_step_us", "graph_step_us", "replay_us")
EAGER_KEYS = ("eager_step_us", "eager_us")


def read(source: Source, head: Head) -> Evidence | None:
    """Also a bare {batch: microseconds}; "config" lists capture sizes, empty where it ran eager.

    Raises FileContentError.
    """
    document = head.json.document if head.json is not None else None
    if not isinstance(document, dict):
        return None
    graph = _first(document, GRAPH_KEYS)
    eager = _first(document, EAGER_KEYS)
    if graph is None and eager is None:
        if not document or not all(str(key).isdigit() for key in document):
            return None
        graph = document
    sizes = sizes_of(document["config"]) if "config" in document else None
    graph_us = table_from_json(graph or {}, source.name)
    eager_us = table_from_json(eager or {}, source.name)
    if not graph_us and not eager_us:
        raise FileContentError(f"{source.name}: its table of decode steps holds no time above 0.")
    if sizes == ():
        graph_us, eager_us = {}, eager_us or graph_us
    return Evidence(
        "table of decode steps by batch size",
        source.name.split(".json")[0],
        sizes,
        graph_us=graph_us,
        eager_us=eager_us,
    )


def _first(document: Mapping[str, Any], keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    found = next((document[key] for key in keys if key in document), None)
    return found if isinstance(found, Mapping) else None


def table_from_json(values: Mapping[str, Any], name: str) -> dict[int, float]:
    """{batch: us}, ascending; sizes that were not measured (null) are left out."""
    found = {}
    for key, value in values.items():
        if value is None:
            continue
        if not str(key).isdigit() or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise FileContentError(
                f"{name}: the table of decode steps holds {str(key)[:40]!r}: {str(value)[:40]}; "
                "give microseconds by batch size."
            )
        if 0 < value < 1e12 and 0 < int(key) < 2**31:
            found[int(key)] = float(value)
    return dict(sorted(found.items()))
