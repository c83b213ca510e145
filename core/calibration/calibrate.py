"""From what an upload tells to step times that pages compute with, checked on what was not fitted.

A run or a list of steps is fitted on its first half and checked on the second. A table by size is
fitted whole; how well it holds is told by a fit to every second size, checked on the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from core.calibration.beside import compare
from core.calibration.calibrated import Calibration, KindCheck, notes_on, with_capture
from core.calibration.check import by_size, checked, predicted_us
from core.calibration.evidence import Evidence, check_rows
from core.calibration.fit import FittedSteps, fit_steps
from core.calibration.lockstep import StepSamples, explained
from core.calibration.table_fit import from_table
from core.errors import SettingError
from core.records import normalised_sizes
from core.simulate import simulate
from core.simulation.machine import Machine

LIMITS = Machine(kv_tokens=1 << 20)
"""Limits to begin with: vLLM's defaults."""


def calibrate(
    evidence: Evidence,
    *,
    capture_sizes: Sequence[int] | None = None,
    eager_us: Mapping[int, float] | None = None,
    limits: Machine = LIMITS,
) -> Calibration:
    """Fit, check and, where there is a whole run, simulate it.

    capture_sizes : of the engine that ran, where the file is wrong or silent; empty: it ran eager
    eager_us : {batch: eager decode step}, from another file [us]
    limits : of the engine; a run's own KV cache is used, and others are tried if these do not fit
    Raises SettingError (too few steps, limits that do not explain the run), CaptureSizesError.
    """
    sizes = evidence.capture_sizes if capture_sizes is None else tuple(capture_sizes)
    if sizes:
        sizes = normalised_sizes(sizes)
        check_rows("Capture sizes", sizes)
    eager = eager_us or (evidence.eager_us if sizes != () else None) or None
    if evidence.run is not None:
        return _from_run(evidence, sizes, eager, limits)
    if evidence.samples is not None:
        fit, kinds = _halves(evidence, evidence.samples, sizes, eager)
        return _made(evidence, fit, sizes, kinds)
    return from_table(evidence, sizes, eager)


def eager_table(evidence: Evidence) -> dict[int, float]:
    """{batch: eager decode step} of a file that shows an engine without graphs [us].

    Raises SettingError if it shows none.
    """
    if evidence.eager_us:
        return dict(evidence.eager_us)
    if evidence.graph_us and evidence.capture_sizes in (None, ()):
        return dict(evidence.graph_us)
    if evidence.samples is not None and evidence.capture_sizes in (None, ()):
        decode = evidence.samples.where(evidence.samples.tokens == 0)
        rows = np.unique(decode.rows)
        return {int(n): float(np.median(decode.us[decode.rows == n])) for n in rows}
    raise SettingError(
        f"{evidence.name} shows no eager decode step; give a run with enforce_eager, or a table "
        "with columns batch and eager_us."
    )


def _from_run(
    evidence: Evidence,
    sizes: tuple[int, ...] | None,
    eager: Mapping[int, float] | None,
    limits: Machine,
) -> Calibration:
    run = evidence.run
    assert run is not None
    given = replace(limits, kv_tokens=run.kv_tokens, block_size_tokens=run.block_size_tokens)
    samples, machine = explained(run, given)
    fit, kinds = _halves(evidence, samples, sizes, eager)
    made = _made(evidence, fit, sizes, kinds)
    result = simulate(run.trace, machine, made.cost, sizes or None, prefill=fit.prefill)
    notes = made.notes
    notes += _limits_found(given, machine)
    try:
        found = compare(result, run, samples)
    except SettingError as error:
        return replace(made, machine=machine, notes=(*notes, str(error)))
    off = abs(found.tpot_p50.error)
    spread = max(made.spread or 0.0, off if np.isfinite(off) else 0.0)
    return replace(made, comparison=found, machine=machine, notes=notes, spread=spread)


def _limits_found(given: Machine, found: Machine) -> tuple[str, ...]:
    """What to say of limits that were set and that the recorded steps contradict."""
    pairs = (
        ("max_num_seqs", given.max_num_seqs, found.max_num_seqs),
        ("max_num_batched_tokens", given.max_num_batched_tokens, found.max_num_batched_tokens),
    )
    return tuple(
        f"The recorded steps do not follow from {name} {before:,}, as it is set for this fit; they "
        f"do from {now:,}, so the fit and the simulation use that."
        for name, before, now in pairs
        if now != before
    )


def _halves(
    evidence: Evidence,
    samples: StepSamples,
    sizes: tuple[int, ...] | None,
    eager: Mapping[int, float] | None,
) -> tuple[FittedSteps, tuple[KindCheck, ...]]:
    """Fitted to the first half of the time, checked on the second."""
    middle = (samples.start_s[0] + samples.start_s[-1]) / 2
    first, second = samples.first_half, samples.where(samples.start_s >= middle)
    table = None if evidence.run is None else evidence.run.decode_step_us
    fit = fit_steps(first, sizes or (), table=table or None, eager_us=eager, source=evidence.name)
    seen = _graphs_that_ran(samples, sizes)
    kinds = []
    for kind, unit, column, keep in (
        ("decode", "requests", second.rows, second.tokens == 0),
        ("prefill", "tokens", second.tokens, second.tokens > 0),
    ):
        part = second.where(keep)
        if len(part):
            fitted = predicted_us(part, fit.cost, fit.prefill, seen)
            groups = by_size(column[keep], part.us, fitted)
            kinds.append(KindCheck(kind, unit, groups, checked(part.us, fitted)))
    return fit, tuple(kinds)


def _graphs_that_ran(samples: StepSamples, sizes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """None of an eager run; each size its own bucket where the file does not say."""
    if sizes is None:
        return tuple(range(1, int(samples.rows.max()) + 1))
    return sizes or None


def _made(
    evidence: Evidence,
    fit: FittedSteps,
    sizes: tuple[int, ...] | None,
    kinds: tuple[KindCheck, ...],
) -> Calibration:
    fitted_prefill = fit.mixed_spread is not None
    sentences = [f"The first half: {fit.summary}."]
    for item in kinds:
        if item.check is not None and (item.kind == "decode" or fitted_prefill):
            sentences.append(_check_sentence(item))
    cost = with_capture(replace(fit.cost, source=_source(evidence, fit)), evidence)
    return Calibration(
        *(evidence.name, evidence.what, cost, fit.prefill, kinds, None, None),
        tuple(sentences),
        notes_on(evidence, sizes, bool(fit.eager)),
        fit.decode_spread,
    )


def _check_sentence(item: KindCheck) -> str:
    words = {"decode": "decode steps", "prefill": "steps with prefill"}[item.kind]
    assert item.check is not None
    return (
        f"The second half, which the fit has not seen: {item.check.steps:,} {words} come out "
        f"{100 * item.check.median:+.1f} % in the median ({100 * item.check.spread:.1f} % root "
        f"mean square), {100 * item.check.total:+.1f} % in all."
    )


def _source(evidence: Evidence, fit: FittedSteps) -> str:
    eager = (
        f"eager steps from {fit.eager}" if fit.eager else "eager steps not known, as graph steps"
    )
    return (
        f"{evidence.name} ({evidence.what}), the first half's {fit.decode_steps:,} decode steps; "
        f"{eager}"
    )
