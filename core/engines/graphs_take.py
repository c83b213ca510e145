"""What an engine's graphs take their memory from: KV tokens, a reserve, slack, or the start-up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.records import Origin


class GraphsTake(StrEnum):
    """KV_TOKENS: the KV cache is smaller by the graphs, or by an estimate of them.
    RESERVE: a sum that does not follow the list is held back; fewer graphs free nothing.
    SLACK: the KV cache is sized first; graphs use memory that it leaves alone.
    START_UP: nothing is left aside for graphs: they fit beside the KV cache or it does not start.
    """

    KV_TOKENS = "KV tokens"
    RESERVE = "a fixed reserve"
    SLACK = "slack"
    START_UP = "the start-up's success"


@dataclass(frozen=True)
class GraphsEffect:
    """What shorter lists free under an engine's rule.

    sentence : in plain words
    kv_per_graph_byte : bytes of KV cache that a byte of graphs (or of its estimate) takes
    books_estimate : the engine subtracts an estimate of its own, made before the capture
    origin : ESTIMATED where the rule was read, MEASURED where runs showed it, ASSUMED else
    """

    take: GraphsTake
    sentence: str
    origin: Origin = Origin.ESTIMATED
    kv_per_graph_byte: float = 0.0
    books_estimate: bool = False


UNKNOWN = GraphsEffect(
    GraphsTake.SLACK,
    "How this engine sizes its KV cache was not read; graphs are taken to come after it, out of "
    "the memory that it leaves, so that the list changes no KV token.",
    Origin.ASSUMED,
)
"""For an engine whose rule is not known."""
