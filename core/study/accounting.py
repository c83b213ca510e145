"""What a list's graphs take: device memory, KV tokens or slack, and start-up seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.memory import graph_bytes
from core.records import GraphMemory, Origin, PoolPolicy
from core.study.graphs import Graphs


@dataclass(frozen=True)
class Accounting:
    """How graph memory is counted, and whom it takes from.

    kv_bytes_per_token : of the model; None: not known, so that no KV token is taken off
    takes_kv : whether graphs leave fewer KV tokens; else they live in what the engine leaves free
    rule : one sentence that says which, for this engine and release; rule_origin : how it is known
    by_kind : bytes of a list by the engine's own kinds of graph, where a model of them is fitted;
        None counts by `memory` and `policy`, which the pages let people choose
    """

    memory: GraphMemory
    policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST
    kv_bytes_per_token: float | None = None
    takes_kv: bool = True
    rule: str = "Graphs are taken off the KV cache."
    rule_origin: Origin = Origin.ASSUMED
    by_kind: Callable[[Graphs], tuple[float, Origin]] | None = None

    def bytes_of(self, graphs: Graphs) -> tuple[float, Origin]:
        """Device memory of a list's graphs, and how it is known [bytes]."""
        if not graphs.sizes:
            return 0.0, self.memory.origin
        if self.by_kind is not None:
            return self.by_kind(graphs)
        return graph_bytes(graphs.sizes, self.memory, self.policy), self.memory.origin

    def kv_tokens(self, whole: int, taken_bytes: float, block_size_tokens: int) -> int:
        """KV tokens left beside the graphs, in whole blocks; at least one block.

        whole : without any graph where they take KV, else what the engine has in any case [tokens]
        """
        if not self.takes_kv or not self.kv_bytes_per_token:
            return whole
        left = whole - taken_bytes / self.kv_bytes_per_token
        return max(block_size_tokens, int(left) // block_size_tokens * block_size_tokens)


def startup_s(graphs: Graphs, capture_ms: Callable[[Sequence[int]], float]) -> float:
    """Seconds to capture all graphs of a list. capture_ms : of graphs of these sizes together."""
    return capture_ms(graphs.sizes) / 1e3 if graphs.sizes else 0.0
