"""Group four: the boundary. Copies in, pieces, waits between steps, memory taken from the cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.cost.of_profile import memory_from_profile
from core.errors import ProjectError
from core.memory import graph_bytes
from core.not_faster.answer import Evidence, Group, GroupFacts
from core.not_faster.known import EngineFacts, Known
from core.not_faster.time_split import TimeSplit
from core.not_faster.words import share_text, us_text
from core.records import CaptureMode, Origin, Profile
from core.speed import piecewise_overhead

GIB = 2**30
MUCH_OF_KV = 0.1
"""Graphs that take this share of the KV cache are felt, or less where requests are preempted."""
SOME_OF_KV = 0.02
FEWER = "Capture fewer or smaller sizes: the Memory page shows what each list leaves."
WHOLE = (
    "Capture decode steps in full (vLLM: cudagraph_mode FULL_AND_PIECEWISE or FULL_DECODE_ONLY)."
)
SYNCHRONOUS = (
    "The engine schedules synchronously: each step waits until the host has seen the last one's "
    "tokens."
)
ASYNC = "Turn asynchronous scheduling on, so that the next step is prepared while this one runs."


def judge_boundary(known: Known, split: TimeSplit | None) -> GroupFacts:
    """From copy-in time, the number of pieces, the engine's scheduling, and graph memory."""
    evidence, todo, lost = [], [], None
    profile = known.family.profile if known.family is not None else None
    if split is not None and split.measures_boundary:
        lost = split.mean("copy") + split.mean("pieces")
        evidence += _times(split)
    cut = list(_pieces(profile, split))
    if cut:
        evidence += cut
        todo.append(WHOLE)
    if known.engine is not None and known.engine.synchronous:
        evidence.append(Evidence(SYNCHRONOUS, Origin.MEASURED))
        todo.append(ASYNC)
    memory, much = _memory(known)
    evidence += memory
    if much:
        todo.append(FEWER)
    return GroupFacts(
        Group.BOUNDARY,
        known=bool(evidence),
        evidence=tuple(evidence),
        todo=tuple(todo),
        missing=_missing(evidence, lost),
        lost_us=lost,
        matters=much,
    )


def _missing(evidence: list[Evidence], lost_us: float | None) -> tuple[str, ...]:
    if lost_us is None:
        return ("copy-in time and pieces: a measured profile",)
    return () if evidence else ("steps that replay a graph",)


def _times(split: TimeSplit) -> Iterator[Evidence]:
    replayed = 1.0 - split.eager_share
    if replayed > 0:
        each = split.mean("copy") / replayed
        yield Evidence(f"Copying inputs in takes {us_text(each)} a replay.", split.origin)
    if split.mean("pieces") > 0:
        extra = split.mean("pieces")
        yield Evidence(
            f"Being cut into pieces costs {us_text(extra)} a step against one whole graph, "
            f"{share_text(extra / split.mean_taken_us)} of it.",
            split.origin,
        )


def _pieces(profile: Profile | None, split: TimeSplit | None) -> Iterator[Evidence]:
    if profile is None or profile.spec.capture is not CaptureMode.PIECEWISE:
        return
    rows = [row for row in profile.rows if row.pieces and row.replay_host_us and row.replay_us]
    if not rows:
        return
    pieces = int(np.median([row.pieces or 0 for row in rows]))
    host = float(np.median([row.replay_host_us or 0.0 for row in rows]))
    step_us = split.mean_taken_us if split is not None else rows[0].replay_us or 1.0
    found = piecewise_overhead(pieces, host / pieces, step_us / 1e3)
    yield Evidence(
        f"A step replays {pieces} graphs, launched in {us_text(host)} of the host, "
        f"{us_text(host / pieces)} each: {share_text(found.share)} of a step, which costs time "
        "only where the card is done sooner.",
        Origin.MEASURED,
    )


def _memory(known: Known) -> tuple[list[Evidence], bool]:
    """What graphs take, and whether the KV cache feels it."""
    engine = known.engine
    gib, origin = _graph_gib(known, engine)
    if gib is None:
        return [], False
    text = f"The graphs take {gib:.2f} GiB"
    kv_gib = engine.kv_gib if engine is not None else None
    if not kv_gib:
        return [Evidence(f"{text}.", origin)], False
    share = gib / (gib + kv_gib)
    evidence = [Evidence(f"{text}, {share_text(share)} of what the KV cache could have.", origin)]
    preempted = (engine.preemptions or 0) if engine is not None else 0
    if preempted:
        evidence.append(Evidence(f"{preempted:,} requests were preempted.", Origin.MEASURED))
    return evidence, share >= (SOME_OF_KV if preempted else MUCH_OF_KV)


def _graph_gib(known: Known, engine: EngineFacts | None) -> tuple[float | None, Origin]:
    """As the engine measured it, else what the profile says of the captured sizes."""
    if engine is not None and engine.graph_gib is not None:
        return engine.graph_gib, Origin.MEASURED
    if known.family is None or known.report is None or known.report.graph_steps == 0:
        return None, Origin.ESTIMATED
    profile = known.family.profile
    try:
        memory = memory_from_profile(profile)
    except ProjectError:
        return None, Origin.ESTIMATED
    taken = graph_bytes(known.report.capture_sizes, memory, profile.spec.pool_policy)
    return taken / GIB, Origin.ESTIMATED
