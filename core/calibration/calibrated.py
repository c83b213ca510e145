"""Step times fitted to an upload, how well they hold, and what to keep in mind."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.calibration.beside import Comparison
from core.calibration.check import SizeGroups, StepCheck
from core.calibration.evidence import Evidence
from core.cost.assumed import CAPTURE_MS
from core.records import StepCost
from core.simulation.machine import Machine
from core.simulation.step_times import PrefillCost

SAME = "a graph step and an eager one are taken to last alike, so the model cannot say what graphs "
NO_EAGER = f"No eager step is in the file: {SAME}save; add a run or a table without graphs."
NO_GRAPH = f"The engine ran without graphs: {SAME}save; give a run with graphs, and this as eager."


@dataclass(frozen=True)
class KindCheck:
    """Decode steps, or steps with prefill: real beside predicted.

    unit : what a size counts; check : None where everything was fitted
    """

    kind: str
    unit: str
    groups: SizeGroups
    check: StepCheck | None


@dataclass(frozen=True)
class Calibration:
    """Step times fitted to an upload, and how well they hold.

    prefill : None where the file tells nothing of prompts, so that they are assumed
    comparison : the whole run simulated, beside the real one; None where there is no whole run
    machine : the limits that explain the run's steps; None without a run
    spread : root mean square of predicted / real - 1 of the fitted decode steps, or the error of
        the run's median TPOT where that is larger; None: a table
    sentences : what was fitted to what, and how it holds; notes : what to keep in mind
    """

    name: str
    what: str
    cost: StepCost
    prefill: PrefillCost | None
    kinds: tuple[KindCheck, ...]
    comparison: Comparison | None
    machine: Machine | None
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    spread: float | None = None


def with_capture(cost: StepCost, evidence: Evidence) -> StepCost:
    """With the log's time to capture a graph, else the assumed one, which is said."""
    ms = CAPTURE_MS if evidence.capture_ms is None else evidence.capture_ms
    words = "assumed" if evidence.capture_ms is None else "from the log"
    return replace(
        cost,
        capture_ms=np.full(len(cost.sizes), ms),
        source=f"{cost.source}; capture {ms:.3g} ms a graph ({words})",
    )


def notes_on(evidence: Evidence, sizes: tuple[int, ...] | None, has_eager: bool) -> tuple[str, ...]:
    """What to keep in mind of a fit. sizes : captured; empty: it ran eager; None: not known"""
    notes = list(evidence.notes)
    if sizes is None:
        notes.append("The file does not say which sizes were captured: each is its own bucket.")
    if sizes == ():
        notes.append(NO_GRAPH)
    elif not has_eager:
        notes.append(NO_EAGER)
    return tuple(notes)
