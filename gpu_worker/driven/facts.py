"""What an engine's start told, as a record: by itself, by the clock, and by what it printed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.records import EngineFacts, GraphGroup, Phase
from gpu_worker.driven.contract import Capture

if TYPE_CHECKING:
    from gpu_worker.driven.session import Start


def facts_of(target: str, start: Start, eager: Start | None) -> EngineFacts:
    """The record. target : package of gpu_worker.targets, which reads what its engine prints.

    eager : the start that gave the eager times; None where there was none
    """
    printed = importlib.import_module(f"gpu_worker.targets.{target}.printed")
    started = start.started
    seconds, gib = printed.capture(start.printed)
    blocks, block = started.kv_blocks, started.block_size_tokens
    return EngineFacts(
        started.name,
        started.release,
        capture_sizes=started.capture_sizes,
        kv_tokens=blocks * block if blocks and block else None,
        block_size_tokens=block,
        graphs=groups_of(started.captures),
        capture_s=seconds,
        graph_gib=gib,
        startup=phases_of(printed, start),
        eager_startup=phases_of(printed, eager) if eager is not None and eager != start else (),
        printed=start.printed,
        notes=started.notes,
    )


def phases_of(printed: object, start: Start) -> tuple[Phase, ...]:
    """Import and whole start by the clock, then the parts that the engine printed."""
    found = (*start.started.phases, *printed.phases(start.printed))  # type: ignore[attr-defined]
    return tuple(Phase(name, round(seconds, 3)) for name, seconds in found)


def groups_of(captures: Sequence[Capture]) -> tuple[GraphGroup, ...]:
    """Graphs by kind, in the order of their first capture."""
    groups = []
    for kind in dict.fromkeys(one.kind for one in captures):
        own = [one for one in captures if one.kind == kind]
        sizes = [one.num_bytes for one in own]
        known = [size for size in sizes if size is not None]
        gib = sum(known) / 2**30 if len(known) == len(sizes) else None
        first = None if gib is None or sizes[0] is None else sizes[0] / 2**30
        groups.append(GraphGroup(kind, len(own), sum(one.seconds for one in own), gib, first))
    return tuple(groups)
