"""A simulator's parts small enough for pencil and paper: requests, an engine, step times."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.records import Origin, SizeUnit, StepCost, Trace
from core.simulate import Machine, PrefillCost, simulate

US = 1e-6
PREFILL = PrefillCost(5.0, 2.0, 0.0, 0, Origin.ASSUMED, "by hand")


def cost(unit: SizeUnit = SizeUnit.REQUESTS) -> StepCost:
    """Replay 8 us + 2 us a row; eager 90 us + 10 us a row."""
    sizes = np.array([1, 8])
    return StepCost(
        sizes, 8.0 + 2 * sizes, 90.0 + 10 * sizes, np.ones(2), Origin.ASSUMED, "by hand", unit=unit
    )


def trace(*requests: tuple[float, int, int], hits: list[int] | None = None) -> Trace:
    """(arrival in us, prompt, output) each."""
    arrival, prompt, output = (np.array(column) for column in zip(*requests, strict=True))
    found = None if hits is None else np.array(hits)
    return Trace(prompt, output, arrival * US, found, name="by hand")


def machine(**changes: Any) -> Machine:
    chosen: dict[str, Any] = {"kv_tokens": 64, "block_size_tokens": 4, "max_num_seqs": 4, **changes}
    return Machine(**chosen)


def us(seconds) -> list[float]:
    return [round(value / US, 6) for value in np.atleast_1d(seconds).tolist()]


def run(requests: Trace, engine: Machine | None = None, sizes: Any = (1, 2, 4, 64), **options: Any):
    options = {"prefill": PREFILL, **options}
    return simulate(requests, engine or machine(), cost(), sizes, **options)
