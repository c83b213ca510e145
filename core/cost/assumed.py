"""Step times and graph memory where nothing was measured: labelled, every term can be set."""

from __future__ import annotations

import math

import numpy as np

from core.errors import SettingError
from core.records import GraphMemory, Origin, SizeUnit, StepCost

# The engine run these are read off: vLLM 0.23 on one H200, an 8B Llama shape in bf16, prompt 256.
LAUNCH_US = 12_900.0
"""Host time to submit the kernels of an eager step: the floor under every eager step."""
LAUNCH_US_PER_ROW = 9.5
"""What the host adds for each request of the batch."""
STEP_US = 5_800.0
"""Device time of a step of no request: the weights are read once."""
STEP_US_PER_ROW = 44.0
"""Device time that each row adds."""
CAPTURE_MS = 80.0
"""One graph: 51 were captured in 4 s."""


def assumed_step_cost(
    max_size: int = 512,
    *,
    launch_us: float = LAUNCH_US,
    launch_us_per_row: float = LAUNCH_US_PER_ROW,
    step_us: float = STEP_US,
    step_us_per_row: float = STEP_US_PER_ROW,
    capture_ms: float = CAPTURE_MS,
    copy_us: float = 0.0,
    unit: SizeUnit = SizeUnit.REQUESTS,
) -> StepCost:
    """A memory-bound decode step, for when nothing was measured; every term can be set.

    replay = step + rows x step_per_row; eager = the slower of the host's submitting
    (launch + rows x launch_per_row) and the same device time. The defaults follow the decode
    steps of an 8B Llama shape in bf16 on one H200 under vLLM 0.23: 5.9 ms replayed and 12.9 ms
    eager at batch 1, 12.8 ms and 14.4 ms at 160 rows. Those are wall times, so copying is in.
    Raises SettingError.
    """
    terms = (launch_us, launch_us_per_row, step_us, step_us_per_row, capture_ms, copy_us)
    if not all(math.isfinite(term) and term >= 0 for term in terms):
        raise SettingError(f"A step cost holds {terms}; every term must be 0 or more.")
    if max_size < 1:
        raise SettingError(f"The largest size is {max_size}; it must be 1 or more.")
    # Two straight lines and where they cross: linear in between is exact.
    corners = {1, max_size}
    if step_us_per_row > launch_us_per_row:
        cross = (launch_us - step_us) / (step_us_per_row - launch_us_per_row)
        corners |= {c for c in (math.floor(cross), math.ceil(cross)) if 1 <= c <= max_size}
    sizes = np.array(sorted(corners), np.int64)
    rows = sizes.astype(np.float64)
    device = step_us + step_us_per_row * rows
    host = launch_us + launch_us_per_row * rows
    return StepCost(
        sizes,
        device,
        np.maximum(device, host),
        np.full(len(sizes), capture_ms),
        Origin.ASSUMED,
        f"assumed: replay {step_us:g} µs + {step_us_per_row:g} µs a row, eager at least "
        f"{launch_us:g} µs + {launch_us_per_row:g} µs a row to submit, {capture_ms:g} ms a capture "
        "(defaults follow an 8B model in bf16 on one H200 under vLLM 0.23)",
        copy_us,
        unit,
    )


def assumed_graph_memory(
    max_size: int = 512,
    *,
    fixed_mib: float = 224.0,
    pool_mib_per_row: float = 0.34,
    graph_mib: float = 4.0,
) -> GraphMemory:
    """Graph memory for when nothing was measured; every term can be set.

    The defaults give the 0.59 GiB that 51 graphs up to 512 and the 0.34 GiB that 9 graphs up to
    256 took in a shared pool under vLLM 0.23 on an H200 (8B Llama shape): two measurements for
    three terms, so the split between them is a guess.
    Raises SettingError.
    """
    terms = (fixed_mib, pool_mib_per_row, graph_mib)
    if not all(math.isfinite(term) and term >= 0 for term in terms) or max_size < 1:
        raise SettingError(f"Graph memory holds {terms} up to {max_size}; use 0 or more.")
    sizes = np.array(sorted({1, max_size}), np.int64)
    return GraphMemory(
        sizes,
        pool_mib_per_row * 2**20 * sizes.astype(np.float64),
        np.full(len(sizes), graph_mib * 2**20),
        Origin.ASSUMED,
        f"assumed: {fixed_mib:g} MiB once, {graph_mib:g} MiB a graph, a pool of "
        f"{pool_mib_per_row:g} MiB a row (totals follow two runs of vLLM 0.23 on an H200)",
        fixed_mib * 2**20,
    )
