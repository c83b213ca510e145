"""A step-time model fitted to steps of a real engine: decode steps, and steps with prefill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.calibration import mixed_fit
from core.calibration.decode_fit import FEWEST, DecodeFit, fit_decode
from core.calibration.lockstep import StepSamples
from core.calibration.mixed_fit import MixedFit, fit_mixed
from core.records import Origin, StepCost
from core.simulation.step_times import PrefillCost, assumed_prefill

__all__ = ["FEWEST", "FittedSteps", "fit_steps"]


@dataclass(frozen=True)
class FittedSteps:
    """Step times of an engine, fitted; what they rest on and how far they are off.

    decode_steps, mixed_steps : how many steps were fitted
    decode_spread, mixed_spread : root mean square of predicted / real - 1; None: not fitted
    eager : where eager decode steps come from, in words; "" where nothing shows any, so that one
        lasts as long as a graph step of its size
    """

    cost: StepCost
    prefill: PrefillCost
    decode_steps: int
    mixed_steps: int
    decode_spread: float
    mixed_spread: float | None
    eager: str = ""

    @property
    def summary(self) -> str:
        """Words for captions."""
        text = (
            f"fitted to {self.decode_steps:,} decode steps (residuals "
            f"{100 * self.decode_spread:.1f} %)"
        )
        if self.mixed_spread is None:
            return f"{text}; {self.mixed_steps:,} with prefill are too few to fit"
        return f"{text} and {self.mixed_steps:,} with prefill ({100 * self.mixed_spread:.1f} %)"


def fit_steps(
    samples: StepSamples,
    capture_sizes: Sequence[int],
    *,
    table: Mapping[int, float] | None = None,
    eager_us: Mapping[int, float] | None = None,
    source: str = "recorded run",
) -> FittedSteps:
    """Decode: a never falling curve of the bucket, the host's part a request, and context.

    capture_sizes : those the recorded engine had; empty: it ran eager, or they are not known
    table : median decode steps by batch size of the same engine, measured apart from the run: it
        prices buckets that no step has touched [us]
    eager_us : eager decode steps by batch size, where they were measured [us]; None: those above
        the largest graph, where there are enough; else an eager step lasts as long as a graph's
    Where there are too few steps with prefill they are assumed in proportion.
    Raises SettingError if there are too few decode steps.
    """
    decode = fit_decode(samples, capture_sizes, table, eager_us, source)
    cost = StepCost(
        *(decode.sizes, decode.replay_us, decode.eager_us, np.zeros(len(decode.sizes))),
        Origin.FITTED,
        f"{source}, fitted",
        row_us=decode.row_us,
        eager_known=bool(decode.eager),
    )
    mixed = fit_mixed(samples, capture_sizes)
    num_mixed = int((samples.tokens > 0).sum())
    return FittedSteps(
        cost,
        _prefill(mixed, decode, cost),
        *(decode.steps, num_mixed, decode.spread),
        None if mixed is None else mixed.spread,
        decode.eager,
    )


def _prefill(mixed: MixedFit | None, decode: DecodeFit, cost: StepCost) -> PrefillCost:
    if mixed is None:
        assumed = assumed_prefill(cost, 0)
        source = (
            f"{assumed.source}; context of a decode step fitted, {decode.context_us:.3g} µs a token"
        )
        return replace(
            assumed,
            context_us_per_token=decode.context_us,
            us_per_row=decode.row_us,
            source=source,
        )
    late = mixed[mixed_fit.LATE]
    how = "fitted" if mixed.late_seen else "assumed"
    return PrefillCost(
        mixed[mixed_fit.BASE],
        mixed[mixed_fit.TOKENS],
        decode.context_us,
        0,
        Origin.FITTED,
        f"prefill and context fitted: {mixed[mixed_fit.TOKENS]:.3g} µs a token, "
        f"{decode.context_us:.3g} µs a token of context, {late / 1e3:.2g} ms without a graph "
        f"({how})",
        us_per_prompt=mixed[mixed_fit.PROMPTS],
        us_per_pair=mixed[mixed_fit.PAIRS],
        mixed_context_us_per_token=mixed[mixed_fit.CONTEXT],
        us_per_row=mixed[mixed_fit.ROWS],
        floor_us=mixed.floor_us,
        uncaptured_us=late,
        padded=True,
    )
