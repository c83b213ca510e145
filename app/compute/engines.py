"""What engines capture, hold back and take as a setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from app.compute.hashing import HASH
from app.inputs.engine_choice import EngineChoice
from core.engines import ENGINES
from core.engines.check import CheckReport, check
from core.engines.export import Export, export
from core.engines.memory import MemoryAccount, graph_cost
from core.engines.padding import EnginePadding, engine_padding
from core.engines.plan import StepKind
from core.records import (
    GraphMemory,
    SizeUnit,
    StepHistogram,
)


@dataclass(frozen=True)
class EngineDefault:
    """An engine's own list, with what to say beside it."""

    sizes: tuple[int, ...]
    unit: SizeUnit
    note: str


@st.cache_data(max_entries=64)
def engine_default(
    engine: str, version: str | None, settings: Mapping[str, Any], unit: SizeUnit
) -> EngineDefault:
    """Decode graphs for batches, prefill graphs for tokens and lengths. Raises SettingError."""
    kind = StepKind.DECODE if unit is SizeUnit.REQUESTS else StepKind.PREFILL
    found = ENGINES[engine].default_sizes(version, settings, kind)
    note = " ".join((f"Rule: {found.source}.", *found.notes))
    return EngineDefault(found.sizes, found.unit, note)


@st.cache_data(max_entries=16, show_spinner="Checking the configuration …", hash_funcs=HASH)
def checked(choice: EngineChoice, histogram: StepHistogram | None) -> CheckReport:
    """What the engine would do with this configuration. Raises InputError."""
    engine = ENGINES[choice.engine]
    return check(engine, choice.version, choice.settings, choice.text, histogram)


@st.cache_data(max_entries=32, hash_funcs=HASH)
def padding_by_engine(choice: EngineChoice, histogram: StepHistogram) -> EnginePadding:
    """Padding as this engine's own dispatch rule gives it. Raises InputError."""
    report = checked(choice, None)
    engine = ENGINES[choice.engine]
    return engine_padding(engine, histogram, None, report.version, report.settings)


def engine_memory(
    choice: EngineChoice, sizes: tuple[int, ...], memory: GraphMemory
) -> MemoryAccount:
    """What the engine holds back for these graphs before it sizes the KV cache.

    Raises InputError.
    """
    engine = ENGINES[choice.engine]
    version = choice.version
    plan = engine.plan(version, choice.settings, sizes)
    # What the first capture takes once falls to one kind of graph, not to each.
    later = replace(memory, fixed_bytes=0.0)
    costs = {
        count.what: graph_cost(memory if i == 0 else later, sizes)
        for i, count in enumerate(plan.counts)
    }
    return engine.memory(version, choice.settings, sizes, costs)


def exported(
    engine: str, version: str | None, sizes: tuple[int, ...], settings: Mapping[str, Any]
) -> Export:
    """The sizes as that engine's own setting. Raises InputError."""
    return export(ENGINES[engine], sizes, version, settings)
