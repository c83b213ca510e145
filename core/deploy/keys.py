"""The engine whose settings some keys are, where they are the settings of one alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core.engines import ENGINES
from core.engines.options import Table, read_mapping
from core.errors import ProjectError

FAMILIES = ("vllm", "sglang", "trtllm", "tgi", "lmdeploy")
"""Those that are told apart by keys; vLLM stands for its plug-ins, which share its keys."""


def engine_of_keys(data: Mapping[str, Any]) -> str | None:
    """The one engine that knows the most of these keys, and more than any other; else None."""
    counts = {name: len(_known(name, data)) for name in FAMILIES}
    best = max(counts.values())
    first = [name for name, count in counts.items() if count == best]
    return first[0] if best and len(first) == 1 else None


def _known(engine: str, data: Mapping[str, Any]) -> set[str]:
    table = Table(ENGINES[engine].options)
    try:
        given = read_mapping({str(key): value for key, value in data.items()}, table)
    except ProjectError:
        return set()
    return {one.path for one in given if table.find(one.path) is not None}


def knows_any(engine: str, names: Iterable[str]) -> bool:
    """Whether any of these flags or keys is an option of the engine."""
    table = Table(ENGINES[engine].options)
    return any(table.find(table.path_of(name.partition("=")[0])) for name in names)
