"""How engines account for graph memory: what they estimate, hold back, or leave to luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.engines.graphs_take import UNKNOWN, GraphsEffect
from core.errors import SettingError
from core.records import GraphMemory, Origin
from core.step_cost import line_at

MIB = 2**20
GIB = 2**30


@dataclass(frozen=True)
class GraphCost:
    """Device memory that graphs of one kind took when captured largest first.

    first_bytes : the largest graph; second_bytes : the one after it, in the same pool [bytes]
    all_bytes : all graphs of the kind together, where that was measured [bytes]
    """

    first_bytes: float
    second_bytes: float
    all_bytes: float | None = None


@dataclass(frozen=True)
class MemoryAccount:
    """What an engine sets aside for graphs.

    reserved_bytes : held back from the KV cache; 0 when nothing is, None when it depends on
        measurements that were not given [bytes]
    parts : (what, bytes) of everything held back beside weights and activations
    kv_fraction : part of memory that weights and KV cache may take, where the engine computes one
    effect : what graphs take their memory from
    rule : one sentence; when : graphs are captured before or after the KV cache is sized
    """

    rule: str
    when: str
    source: str
    reserved_bytes: float | None = None
    parts: tuple[tuple[str, float], ...] = ()
    kv_fraction: float | None = None
    origin: Origin = Origin.ESTIMATED
    effect: GraphsEffect = UNKNOWN


def graph_cost(memory: GraphMemory, sizes: Sequence[int]) -> GraphCost:
    """First and second graph of a list, from measured points, in one shared pool.

    The first holds its intermediate tensors and what the first capture takes once (fixed_bytes);
    later ones reuse them and add what each graph adds.
    Raises SettingError when the list is empty or nothing was measured.
    """
    if not len(sizes) or not len(memory.sizes):
        raise SettingError("Graph memory needs at least one size and one measured point.")
    order = np.array(sorted(sizes, reverse=True), np.int64)
    pool = line_at(memory.sizes, memory.pool_bytes, order)
    each = line_at(memory.sizes, memory.graph_bytes, order)
    first = float(pool[0] + each[0]) + memory.fixed_bytes
    return GraphCost(first, float(each[min(1, len(order) - 1)]), first + float(each[1:].sum()))


def kv_cache_bytes(
    total_bytes: float, fraction: float, used_bytes: float, reserved_bytes: float = 0.0
) -> float:
    """total x fraction - used - reserved, not below 0 [bytes]: vLLM's sum for the KV cache.

    used_bytes : weights, memory outside torch, and the activation peak
    Raises SettingError for a fraction outside 0..1.
    """
    if not 0 < fraction <= 1:
        raise SettingError(f"The memory fraction is {fraction}; above 0 up to 1 is expected.")
    return max(total_bytes * fraction - used_bytes - reserved_bytes, 0.0)
