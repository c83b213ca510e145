"""The model that stands in until an engine's own log is known: fitted to captures that we ran."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from core.engines import get_engine
from core.engines.versions import version_key
from core.graph_memory.fit import GraphMemoryObservation, fit_graph_memory
from core.graph_memory.lists import GraphLists
from core.graph_memory.model import GraphMemoryModel
from core.profiles import shipped_profiles
from core.records import CaptureMode, ModelShape, Origin, Profile

FILE = Path(__file__).resolve().parent / "captures.json"
_GIB = 2**30


@dataclass(frozen=True)
class ShippedCaptures:
    """Captures of one engine's release on one card.

    splits : see GraphMemoryModel
    """

    engine: str
    release: str
    card: str
    splits: int
    observations: tuple[GraphMemoryObservation, ...]


@cache
def shipped_captures() -> ShippedCaptures:
    """What captures.json holds."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    shapes = {name: ModelShape(**fields) for name, fields in document["shapes"].items()}
    where = f"{get_engine(document['engine']).label} {document['release']}, {document['card']}"
    return ShippedCaptures(
        document["engine"],
        document["release"],
        document["card"],
        document["attention_splits"],
        tuple(_observation(row, shapes, where) for row in document["captures"]),
    )


def _observation(
    row: dict[str, Any], shapes: dict[str, ModelShape], where: str
) -> GraphMemoryObservation:
    return GraphMemoryObservation(
        GraphLists(tuple(row["full"]), tuple(row["piecewise"])),
        shapes[row["shape"]],
        row["took_gib"] * _GIB,
        f"{where}, {row['shape']}, {row['run']}",
    )


@cache
def full_share() -> float:
    """What a layer in a full graph takes of the driver's memory, of what a piecewise graph takes.

    From the shipped profiles, measured graph by graph: about a quarter, on both shapes alike.
    """
    profiles = shipped_profiles().values()
    layer = _driver_bytes(profiles, CaptureMode.FULL) / _parts(profiles, CaptureMode.FULL)
    piece = _driver_bytes(profiles, CaptureMode.PIECEWISE) / _parts(profiles, CaptureMode.PIECEWISE)
    return layer / piece


def _driver_bytes(profiles: Iterable[Profile], capture: CaptureMode) -> float:
    """What all graphs of a kind took beside their pools [bytes]."""
    return sum(
        row.graph_bytes or 0.0
        for profile in profiles
        if profile.spec.capture is capture
        for row in profile.rows
    )


def _parts(profiles: Iterable[Profile], capture: CaptureMode) -> int:
    """Layers in full graphs, or piecewise graphs, that those bytes were measured over."""
    extra = 1 if capture is CaptureMode.PIECEWISE else 0
    return sum(
        profile.spec.model.num_layers + extra
        for profile in profiles
        if profile.spec.capture is capture
        for row in profile.rows
        if row.graph_bytes is not None
    )


@cache
def _fitted() -> GraphMemoryModel:
    shipped = shipped_captures()
    return fit_graph_memory(shipped.observations, full_share=full_share(), splits=shipped.splits)


def shipped_graph_memory(engine: str, release: str | None = None) -> GraphMemoryModel:
    """The fitted model, "fitted" for the release that was run and "assumed" for any other.

    engine : id, label or alias; release : None for the newest known
    Raises SettingError for an engine that is not known.
    """
    shipped, model = shipped_captures(), _fitted()
    asked = get_engine(engine)
    text = release or asked.versions[0]
    if asked.id == shipped.engine and _minor(text) == _minor(shipped.release):
        return model
    where = f"{get_engine(shipped.engine).label} {shipped.release} on {shipped.card}"
    return replace(
        model,
        origin=Origin.ASSUMED,
        source=f"taken over for {asked.label} {text} from {where}; {model.source}",
    )


def _minor(release: str) -> tuple[int, ...] | None:
    key = version_key(release)
    return key[:2] if key else None


def fit_to_own_capture(
    observations: tuple[GraphMemoryObservation, ...],
) -> GraphMemoryModel:
    """A model of the user's own captures; from one list alone, the shipped share a graph is held.

    Raises SettingError without an observation.
    """
    shipped = shipped_captures()
    return fit_graph_memory(
        observations, full_share=full_share(), splits=shipped.splits, held=_fitted()
    )
