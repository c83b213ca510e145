"""What vLLM holds back for graphs before it sizes the KV cache.

Source: v1/worker/gpu_worker.py and the two model runners of 0.17.1 to 0.33.0, restated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.memory import MIB, GraphCost, MemoryAccount
from core.engines.plan import GraphCount, Plan
from core.engines.versions import Release
from core.records import Origin

READ = (
    *("0.33.0", "0.31.0", "0.30.0", "0.29.0", "0.26.0", "0.23.0", "0.19.1", "0.17.1", "0.15.1"),
    *("0.13.0", "0.11.2", "0.11.0", "0.10.2", "0.9.2", "0.8.5"),
)
"""Releases whose memory code was read or run; capture lists are known of more."""
FLOOR_BYTES = 1 * MIB
"""The least a further graph is charged with."""

_KV = "KV cache = memory x gpu_memory_utilization - weights - peak activation"
_SOURCE = "vLLM gpu_worker, gpu_model_runner (docs/engines.md)"


@dataclass(frozen=True)
class Runner:
    """Which model runner answers; unsaid: this release chooses by model, and nobody told."""

    v2: bool
    unsaid: bool = False


def vllm_memory(
    release: Release, runner: Runner, plan: Plan, costs: Mapping[str, GraphCost]
) -> MemoryAccount:
    """The estimate of the release: none to 0.19, then first graph + rest x second."""
    v2 = runner.v2
    if release < "0.21" or (v2 and release < "0.29"):
        why = "off by default in 0.19" if release >= "0.19" and not v2 else "none"
        return MemoryAccount(
            rule=f"{_KV}; graphs come on top of it (estimate: {why}).",
            when="graphs are captured after the KV cache is sized",
            source=_SOURCE,
            reserved_bytes=0.0,
            effect=_as_read(release, _UNSAID if runner.unsaid else _sized_first(release, v2)),
        )
    rule = (
        f"{_KV} - graph estimate; the estimate charges every further graph with the second "
        "largest one (1 MiB at least), so it is above what graphs sharing a pool take."
    )
    parts = _parts(plan.counts, costs, v2)
    return MemoryAccount(
        rule=rule,
        when="graphs are estimated before the KV cache is sized and captured after it",
        source=_SOURCE,
        reserved_bytes=sum(b for _, b in parts) if parts is not None else None,
        parts=tuple(parts or ()),
        effect=_as_read(release, _UNSAID if runner.unsaid else _ESTIMATED_FIRST),
    )


_ESTIMATED_FIRST = GraphsEffect(
    GraphsTake.KV_TOKENS,
    "An estimate of graph memory is taken off before the KV cache is sized, and it grows with "
    "every graph: a shorter list gives KV tokens, more of them than its graphs really take.",
    kv_per_graph_byte=1.0,
    books_estimate=True,
)
_FIRST = (
    "The KV cache is sized first, from gpu_memory_utilization, and graphs use the memory that it "
    "leaves: the list changes no KV token."
)
_UNSAID = GraphsEffect(
    GraphsTake.SLACK,
    f"{_FIRST} So does the second model runner, which this release picks for models like Llama "
    "(the log says `Using V2 Model Runner`); with the first one an estimate of the graphs is taken "
    "off the KV cache. Set `runner` to say which.",
    Origin.ASSUMED,
)


def _as_read(release: Release, effect: GraphsEffect) -> GraphsEffect:
    """Assumed, and said so, for a release whose memory code was not read."""
    if str(release) in READ:
        return effect
    sentence = (
        f"{effect.sentence} vLLM {release} was not read for its memory; its neighbours' rule "
        "is taken over."
    )
    return replace(effect, origin=Origin.ASSUMED, sentence=sentence)


def _sized_first(release: Release, v2: bool) -> GraphsEffect:
    """Measured for the second runner of 0.23: as many KV tokens with 6 sizes as with 51.

    From 0.23 to 0.28 its estimate is a placeholder of 0 (vLLM issue 49224).
    """
    seen = v2 and release >= "0.23" and release < "0.24"
    return GraphsEffect(
        GraphsTake.SLACK,
        f"{_FIRST} A shorter list helps only where graphs do not fit, or together with a higher "
        "gpu_memory_utilization.",
        Origin.MEASURED if seen else Origin.ESTIMATED,
    )


def _parts(
    counts: tuple[GraphCount, ...], costs: Mapping[str, GraphCost], v2: bool
) -> list[tuple[str, float]] | None:
    """Bytes by kind; None while the cost of a kind is not known."""
    counts = tuple(count for count in counts if count.graphs)
    if any(count.what not in costs for count in counts):
        return None
    if v2:
        return [(count.what, _second_runner(count, costs[count.what])) for count in counts]
    first = max((costs[count.what].first_bytes for count in counts), default=0.0)
    rest = [(f"further {c.what}", _further(c, costs[c.what])) for c in counts]
    return [("first capture of the larger kind", first), *rest]


def _further(count: GraphCount, cost: GraphCost) -> float:
    return max(cost.second_bytes, FLOOR_BYTES) * (count.graphs - 1)


def _second_runner(count: GraphCount, cost: GraphCost) -> float:
    """Piecewise graphs are captured and measured, full ones extrapolated."""
    if count.what == "piecewise" and cost.all_bytes is not None:
        return cost.all_bytes
    return cost.first_bytes + _further(count, cost)
