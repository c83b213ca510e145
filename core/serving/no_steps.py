"""Why a simulated run has no step to choose buckets for, and what to change, in one sentence."""

from __future__ import annotations

from core.errors import HistogramError
from core.records import StepHistogram
from core.simulate import SimulationResult


def check_any_step(steps: StepHistogram, result: SimulationResult) -> StepHistogram:
    """The decode steps of a run, or its steps that hold prefill, once there is one.

    Raises HistogramError with the reason.
    """
    if len(steps.sizes) == 0:
        raise HistogramError(why_no_step(result))
    return steps


def why_no_step(result: SimulationResult) -> str:
    """A request that is served has a prefill; only a second output token needs a decode step."""
    rejected, count = len(result.rejected), len(result.trace)
    lost = (
        f"{rejected:,} of {count:,} requests were rejected: longer than the KV cache of "
        f"{result.machine.kv_tokens:,} tokens; raise 'KV cache [tokens]'."
    )
    if rejected == count:
        return f"No step to choose buckets for: {lost}"
    single = (
        "No decode step: no output has more than one token, and that one comes with the prefill; "
        "choose 'Step tokens' or 'Prompt length' on the Workload page."
    )
    return f"{single} {lost}" if rejected else single
