"""What a plan means for the user's own steps: how many each finding concerns, and what they add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from core.engines.cliffs import Admission
from core.engines.dispatch import dispatch, in_plan_unit
from core.engines.findings import Fix, some
from core.engines.plan import Finding, Plan, Severity, StepKind
from core.errors import CostUnitError
from core.records import SizeUnit, StepHistogram

EVERY_STEP = ("graphs-off",)
"""Findings that concern every step; padding-off concerns those that its plan runs eager."""


def with_shares(
    plan: Plan, findings: tuple[Finding, ...], histogram: StepHistogram, fix: Fix
) -> tuple[Finding, ...]:
    """Each finding with the share of the user's steps it concerns, and what the steps add.

    A histogram whose unit the plan has no graphs for becomes a finding itself.
    """
    try:
        steps, kind = in_plan_unit(plan, histogram)
    except CostUnitError as error:
        return (*findings, Finding("other-unit", Severity.WARNING, str(error)))
    if steps.total_steps == 0:
        return findings
    on_graph = dispatch(plan, steps.sizes, kind).on_graph
    result = [_shared(finding, steps, kind, on_graph) for finding in findings]
    result += _from_steps(plan, steps, kind, findings, fix)
    if histogram.unit is SizeUnit.REQUESTS:
        result += _percentiles(plan, steps, {finding.id for finding in findings})
    return tuple(result)


def _shared(
    finding: Finding, steps: StepHistogram, kind: StepKind, on_graph: np.ndarray
) -> Finding:
    if finding.id in EVERY_STEP:
        concerned = np.ones(len(steps.sizes), bool)
    elif finding.id == "padding-off":
        concerned = ~on_graph
    elif finding.affected is not None and finding.kind is kind:
        low, high = finding.affected
        concerned = (steps.sizes >= low) & (steps.sizes <= high)
        concerned &= ~on_graph if finding.id in ("above-largest", "prefill-too-sparse") else True
    else:
        return finding
    return replace(finding, share=float(steps.steps[concerned].sum() / steps.total_steps))


def _percentiles(plan: Plan, steps: StepHistogram, known: set[str]) -> Iterator[Finding]:
    """Whether the median and the 95th percentile of decode steps stay on the graphs."""
    if not plan.sizes or "padding-off" in known:
        return
    p50, p95 = (_percentile(steps, share) for share in (0.5, 0.95))
    limit = plan.full_load or int(steps.sizes[-1])
    width = plan.tokens_per_request
    largest = max(plan.sizes) // width
    admission = Admission(largest, -(-limit // width), -(-p50 // width), -(-p95 // width))
    if admission.advice:
        yield Finding(
            "p95-uncovered",
            Severity.WARNING,
            f"Half of your decode steps hold {admission.p50_running} requests or more, one in "
            f"twenty {admission.p95_running} or more; the largest graph holds {largest}.",
            f"{admission.advice[0].upper()}{admission.advice[1:]}.",
            load="your steps",
        )


def _percentile(steps: StepHistogram, share: float) -> int:
    """The smallest size that at least this share of the steps does not exceed."""
    reached = np.cumsum(steps.steps) >= share * steps.total_steps
    return int(steps.sizes[int(np.argmax(reached))])


def _from_steps(
    plan: Plan,
    steps: StepHistogram,
    kind: StepKind,
    findings: tuple[Finding, ...],
    fix: Fix,
) -> Iterator[Finding]:
    """Findings that only the user's own steps can show."""
    answer = dispatch(plan, steps.sizes, kind)
    known = {finding.id for finding in findings}
    eager = ~answer.on_graph
    if plan.sizes and eager.any() and not known & {"above-largest", "padding-off"}:
        first, last = int(steps.sizes[eager][0]), int(steps.sizes[eager][-1])
        list_ = plan.sizes if kind is StepKind.DECODE else ()
        # Wider than any decode step: prompt tokens, where a graph saves little.
        prompts = plan.full_load is not None and first > plan.full_load
        yield Finding(
            "your-steps-eager",
            Severity.INFO if prompts or kind is StepKind.PREFILL else Severity.WARNING,
            f"Steps of yours between {first} and {last} {steps.unit} replay no graph.",
            fix((*list_, last)) if list_ else f"Capture prefill sizes up to {last}.",
            load=f"your steps of {first} to {last} {steps.unit}",
            affected=(first, last),
            kind=kind,
            share=float(steps.steps[eager].sum() / steps.total_steps),
        )
    hit = set(answer.padded[answer.on_graph].tolist())
    captured = {n for graphs in plan.lists(kind) for n in graphs.sizes}
    idle = sorted(captured - hit)
    if idle and hit:
        yield Finding(
            "unused-by-your-steps",
            Severity.INFO,
            f"{len(idle)} of {len(captured)} sizes are never hit by your steps: {some(idle)}.",
            "Tune the list on your histogram.",
            load="your steps",
            kind=kind,
            share=0.0,
        )
