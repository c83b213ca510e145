"""Step sizes of requests: the engine simulated on them under the limits last chosen."""

from __future__ import annotations

from typing import Any

from app import compute
from app.inputs.cost import chosen_cost
from app.inputs.engine_defaults import engine_default
from app.serving.choice import ServingLimits, cost_of, machine_of, requests_of
from app.serving.inputs import chosen_arrivals, serving_limits
from core.errors import HistogramError
from core.readers.reading import Reading
from core.records import Grade, SizeUnit, StepHistogram, Trace
from core.serving.no_steps import check_any_step
from core.simulate import SimulationResult

DECODE = "Decode batch (requests a step)"
MIXED = "Step tokens (steps that hold prefill)"
PROMPT = "Prompt length (prefill or encoder graphs)"


def requests_in(reading: Reading) -> Trace | None:
    """A file's requests with arrivals; None where it has none.

    Grade C has lengths only: they arrive at random at the rate that the user typed, else at the one
    that the file tells. A closed loop needs no arrivals.
    """
    trace = reading.trace
    if trace is None or trace.arrival_s is not None or serving_limits().concurrency is not None:
        return trace
    chosen = chosen_arrivals(reading)
    if reading.grade is not Grade.LENGTHS or chosen.rate_rps <= 0:
        return None
    return compute.with_arrivals(trace, chosen.rate_rps, chosen.cv, chosen.seed)


def simulated(trace: Trace, limits: ServingLimits) -> SimulationResult:
    """The whole run. Raises SettingError."""
    return compute.simulation(*_run_of(trace, limits))


def simulated_steps(trace: Trace, limits: ServingLimits, kind: str) -> StepHistogram:
    """The steps alone, kept for several limits at once. Raises SettingError, HistogramError."""
    steps = compute.simulated_steps(*_run_of(trace, limits), decode=kind == DECODE)
    if len(steps.sizes) == 0:
        raise HistogramError(f"{trace.name}: no step of this kind occurs with these limits.")
    return steps


def _run_of(trace: Trace, limits: ServingLimits) -> tuple[Any, ...]:
    """Requests, engine, costs, sizes and concurrency, in the order that app.compute takes them."""
    view = chosen_cost()
    return (
        requests_of(trace, limits),
        machine_of(limits),
        cost_of(view.cost, limits),
        engine_default("vllm", SizeUnit.REQUESTS).sizes,
        view.prefill,
        limits.concurrency,
    )


def steps_of(result: SimulationResult, kind: str) -> StepHistogram:
    """Its decode steps, or those that hold prefill. Raises HistogramError where there are none."""
    return check_any_step(result.decode_slots if kind == DECODE else result.mixed_steps, result)
