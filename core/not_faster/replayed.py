"""Group one: did the steps really replay graphs, and which of them did not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.diagnose import Cause
from core.failures.capture_errors import Rank
from core.failures.native_errors import NATIVE_CLASSES
from core.not_faster.answer import Evidence, Group, GroupFacts, Verdict
from core.not_faster.known import EngineFacts, Known
from core.not_faster.time_split import TimeSplit
from core.not_faster.words import capitalised, share_text, sizes_text, some
from core.padding import EAGER
from core.records import Origin

MOST = 0.5
"""Without step times: so many eager steps are the answer."""
SOME = 0.05
"""So many are part of it."""
TURN_ON = (
    "Turn graphs on: vLLM without --enforce-eager, SGLang without --disable-cuda-graph, "
    "TensorRT-LLM with a cuda_graph_config."
)
CAPTURE_CLASSES = ("oom_in_capture", "graph_skipped", "too_many_graphs", "truncated_maximum")
"""Findings of core.diagnose that keep graphs from replaying without ending the engine."""


def judge_replay(known: Known, split: TimeSplit | None) -> GroupFacts:
    """From what the engine says and counts, and from the steps against the captured sizes."""
    engine, share = known.engine, eager_share(known)
    evidence, todo = [], []
    if engine is not None:
        evidence += _said(engine)
        todo += _errands(engine)
    evidence += _counted(known)
    if share and (engine is None or engine.off is None):
        todo += _missed(known)
    decisive = _decisive(engine, share, split)
    return GroupFacts(
        Group.REPLAY,
        known=decisive is not None or share is not None,
        evidence=tuple(evidence),
        todo=tuple(dict.fromkeys(todo)),
        missing=_missing(known),
        lost_us=None if split is None else split.mean("fallback"),
        decisive=decisive,
        matters=share is not None and share >= SOME and split is None,
    )


def eager_share(known: Known) -> float | None:
    """Steps without a graph: as the engine counted them, else by the captured sizes."""
    engine = known.engine
    if engine is not None and engine.off is not None:
        return 1.0
    if engine is not None and engine.replays is not None:
        return engine.replays.eager_share
    if known.report is None or known.report.steps == 0:
        return None
    return 1.0 - known.report.coverage


def _decisive(
    engine: EngineFacts | None, share: float | None, split: TimeSplit | None
) -> Verdict | None:
    if engine is not None and (engine.off is not None or _failed(engine)):
        return Verdict.CAUSE
    if share == 1.0 or (split is None and share is not None and share >= MOST):
        return Verdict.CAUSE
    return None


def _failed(engine: EngineFacts) -> bool:
    """Capturing failed half-way, or an error of a capture stands in the log."""
    broken = any(cause.rank is Rank.ROOT and _of_capture(cause) for cause in engine.causes or ())
    return broken or engine.failed is not None


def _of_capture(cause: Cause) -> bool:
    """Kernels and collectives also fail while serving, where graphs were captured before."""
    if cause.klass in NATIVE_CLASSES or cause.klass == "size_above_limit":
        return cause.in_capture
    return cause.klass not in ("other_error", "oom_or_env", "no_kv_memory")


def _said(engine: EngineFacts) -> Iterator[Evidence]:
    measured = Origin.MEASURED
    name = engine.label[0].upper() + engine.label[1:] if engine.name is None else engine.name
    if engine.off is not None:
        yield Evidence(f"{name} says that graphs are off: {engine.off}.", measured)
    elif engine.captured and engine.failed is None:
        mode = f", mode {engine.mode}" if engine.mode else ""
        sizes = f"{len(engine.captured)} sizes, {engine.captured[0]} to {engine.captured[-1]}"
        yield Evidence(f"{name} captured {sizes}{mode}.", measured)
    if engine.stopped is not None:
        why = "memory ran out" if engine.out_of_memory else "it failed"
        done, total = engine.stopped
        yield Evidence(f"Capturing stopped after {done} of {total}: {why}.", measured)
    elif engine.failed is not None:
        yield Evidence(f"Capturing failed: {engine.failed}.", measured)
    if engine.truncated_to is not None:
        yield Evidence(
            f"The largest size was cut to {engine.truncated_to}; wider steps run eager.", measured
        )
    for cause in _findings(engine):
        yield Evidence(f"Line {cause.line}: {cause.evidence} ({cause.cause})", measured)


def _findings(engine: EngineFacts) -> list[Cause]:
    return [
        cause
        for cause in engine.causes or ()
        if (cause.rank is Rank.ROOT and _of_capture(cause)) or cause.klass in CAPTURE_CLASSES
    ]


def _errands(engine: EngineFacts) -> Iterator[str]:
    if engine.off is not None:
        yield engine.fix or TURN_ON
    for cause in _findings(engine):
        yield cause.remedy
    if engine.failed is not None and not engine.causes:
        yield "Read the log after that line for the first error, or give it to Diagnose."


def _counted(known: Known) -> Iterator[Evidence]:
    replays = known.engine.replays if known.engine is not None else None
    if replays is not None:
        origin = Origin.ESTIMATED if replays.sampled else Origin.MEASURED
        steps = "the steps" if replays.steps is None else f"the {replays.steps:,} steps"
        text = f"{some(1 - replays.eager_share, steps)} replayed a graph ({replays.what})."
        yield Evidence(capitalised(text), origin)
    report, steps = known.report, known.steps
    off = known.engine is not None and known.engine.off is not None
    if report is None or steps is None or off:
        return
    words = f"By their size, {some(report.coverage, f'the {report.steps:,} steps')} have a graph"
    where = f" among {known.sizes_source}" if known.sizes_source else ""
    yield Evidence(f"{words}{where}.", steps.origin)
    missed = report.bucket_by_size == EAGER
    if missed.any():
        share = float(steps.steps[missed].sum()) / steps.total_steps
        yield Evidence(
            f"Eager: {sizes_text(steps.sizes[missed])} {steps.unit.value}, "
            f"{share_text(share)} of the steps.",
            steps.origin,
        )


def _missed(known: Known) -> Iterator[str]:
    if known.report is None or known.steps is None:
        yield (
            "See which sizes are captured (the start of the log): wider steps run eager until "
            "they are added, or fewer requests are admitted."
        )
        return
    missed = known.steps.sizes[known.report.bucket_by_size == EAGER]
    if len(missed):
        yield (
            f"Capture sizes up to {int(np.max(missed))}, or admit fewer requests; the Engine page "
            "says what this engine does with a list."
        )
    elif known.report.eager_steps == 0:
        yield (
            "The sizes are captured, yet steps ran eager: look for what takes them off the graphs "
            "(steps with prompts, LoRA, cascade attention, drafts of another length)."
        )


def _missing(known: Known) -> tuple[str, ...]:
    if known.engine is not None and known.engine.off is not None:
        return ()
    if known.steps is None and eager_share(known) is None:
        return (
            "the steps and how they ran: a log with vLLM's --cudagraph-metrics, SGLang's decode "
            "lines, a recorded run, or traffic",
        )
    if known.report is None:
        return ("which sizes are captured: the engine's log from its start, or a bucket set",)
    return ()
