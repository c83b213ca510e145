"""What a step and its graph cost: time and memory by size."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.records.origin import FloatArray, IntArray, Origin, SizeUnit


@dataclass(frozen=True)
class StepCost:
    """Time of one decode step by size, from points; core.step_cost makes and evaluates it.

    sizes : (m,) int64, strictly ascending [unit]
    replay_us, eager_us : (m,) float64, wall time of one step replayed / run eagerly [us]
    copy_us : added to each replay: inputs copied in, graph looked up [us]
    row_us : added to each step, replayed or eager, for each of its unpadded rows: the host's part
        (scheduling, outputs), which padding does not take; 0 where the curves hold it [us]
    eager_known : False where steps were seen with graphs only, or without only, so that eager_us is
        replay_us and says nothing of what graphs save
    capture_ms : (m,) float64, time to capture one graph of that size [ms]
    source : one line that says which card, model and date, or which assumption
    """

    sizes: IntArray
    replay_us: FloatArray
    eager_us: FloatArray
    capture_ms: FloatArray
    origin: Origin
    source: str
    copy_us: float = 0.0
    unit: SizeUnit = SizeUnit.REQUESTS
    row_us: float = 0.0
    eager_known: bool = True


class PoolPolicy(StrEnum):
    """How graphs share memory."""

    PRIVATE = "private"
    SHARED_LARGEST_FIRST = "shared, largest first"
    SHARED_SMALLEST_FIRST = "shared, smallest first"


@dataclass(frozen=True)
class GraphMemory:
    """Device memory that graphs take, from points.

    sizes : (m,) int64, strictly ascending [unit]
    pool_bytes : (m,) float64, intermediate tensors of a graph of that size: what a private pool
        would hold, and what a shared pool can reuse [bytes]
    graph_bytes : (m,) float64, what each graph adds in any case (driver, nodes) [bytes]
    fixed_bytes : what the first capture takes once, whatever the number of graphs [bytes]
    """

    sizes: IntArray
    pool_bytes: FloatArray
    graph_bytes: FloatArray
    origin: Origin
    source: str
    fixed_bytes: float = 0.0
