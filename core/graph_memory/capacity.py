"""KV tokens beside graphs under an engine's own rule, and whether the graphs fit at all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.engines import get_engine
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.errors import SettingError
from core.memory import BLOCK_SIZE_TOKENS
from core.memory import kv_tokens as whole_tokens
from core.memory_plan import MemoryPlan
from core.records import Origin


@dataclass(frozen=True)
class KvBudget:
    """What an engine has for its KV cache and for graphs.

    kv_bytes : what the KV cache would take if no graph were captured [bytes]; as the engine prints
        it where it sizes the cache before the graphs
    slack_bytes : memory of the card beyond weights, activations and that cache [bytes]; None where
        it is not known
    bytes_per_token : KV cache of one token on one card [bytes]
    by_hand : the user fixed the KV cache's bytes, so that the engine computes nothing
    """

    kv_bytes: float
    slack_bytes: float | None
    bytes_per_token: float
    block_size_tokens: int = BLOCK_SIZE_TOKENS
    by_hand: bool = False

    def __post_init__(self) -> None:
        _known("The KV cache's memory", self.kv_bytes)
        if self.slack_bytes is not None:
            _known("The slack", self.slack_bytes)


def budget_of_plan(
    plan: MemoryPlan,
    bytes_per_token: float,
    block_size_tokens: int = BLOCK_SIZE_TOKENS,
) -> KvBudget:
    """The budget of an engine with a share of the card (utilization); the rest is slack.

    The plan's own graph_bytes are left out: `kv_tokens` is told them.
    """
    slack = plan.total_bytes - plan.budget_bytes
    return KvBudget(max(0.0, plan.free_bytes), slack, bytes_per_token, block_size_tokens)


@dataclass(frozen=True)
class GraphCapacity:
    """KV cache beside one list's graphs.

    tokens, blocks : in whole KV blocks
    lost_tokens : fewer than without any graph
    take : what the graphs take here; START_UP where they are more than the slack
    slack_left_bytes : slack beyond the graphs; below 0 where they do not fit; None if not known
    origin : of the rule (measured, read, or assumed); the graph bytes bring their own
    sentence : the rule in plain words, and what is assumed
    """

    tokens: int
    blocks: int
    lost_tokens: int
    take: GraphsTake
    slack_left_bytes: float | None
    origin: Origin
    sentence: str

    @property
    def fits(self) -> bool | None:
        """Whether the capture has the memory it needs; None where the slack is not known."""
        return None if self.slack_left_bytes is None else self.slack_left_bytes >= 0


def graphs_effect(
    engine: str, release: str | None = None, settings: Mapping[str, object] | None = None
) -> GraphsEffect:
    """What graphs take their memory from under that engine's release and settings.

    A rule borrowed from another release is "assumed", and says which.
    Raises SettingError.
    """
    asked = get_engine(engine)
    effect = asked.memory(release, settings).effect
    note = asked.version_note(release)
    if not note:
        return effect
    return replace(effect, origin=Origin.ASSUMED, sentence=f"{effect.sentence} {note}")


def kv_tokens(
    engine: str,
    release: str | None,
    budget: KvBudget,
    graph_bytes: float,
    *,
    settings: Mapping[str, object] | None = None,
    booked_bytes: float | None = None,
) -> GraphCapacity:
    """KV tokens that a list leaves, and what its graphs are taken from.

    graph_bytes : what the graphs take
    booked_bytes : the engine's own estimate, for releases that subtract one
        (`Engine.memory(...).reserved_bytes`); without it the graphs are taken to be estimated right
    Raises SettingError.
    """
    _known("Graph memory", graph_bytes)
    effect = graphs_effect(engine, release, settings)
    if budget.by_hand:
        effect = _by_hand(effect)
    booked = _known("The engine's estimate", graph_bytes if booked_bytes is None else booked_bytes)
    left = max(0.0, budget.kv_bytes - effect.kv_per_graph_byte * booked)
    blocks, tokens = whole_tokens(left, budget.bytes_per_token, budget.block_size_tokens)
    whole = whole_tokens(budget.kv_bytes, budget.bytes_per_token, budget.block_size_tokens)[1]
    slack = _slack_left(effect, budget, graph_bytes, booked)
    return GraphCapacity(
        tokens,
        blocks,
        whole - tokens,
        GraphsTake.START_UP if slack is not None and slack < 0 else effect.take,
        slack,
        effect.origin,
        _sentence(effect, slack, graph_bytes, booked_bytes),
    )


def _slack_left(
    effect: GraphsEffect, budget: KvBudget, graph_bytes: float, booked: float
) -> float | None:
    """Graphs beyond what was booked for them come out of the slack."""
    if effect.take is GraphsTake.KV_TOKENS:
        booked_fits = min(booked, budget.kv_bytes) if effect.books_estimate else graph_bytes
        graph_bytes = max(0.0, graph_bytes - booked_fits)
    return None if budget.slack_bytes is None else budget.slack_bytes - graph_bytes


def _by_hand(effect: GraphsEffect) -> GraphsEffect:
    return replace(
        effect,
        take=GraphsTake.START_UP,
        kv_per_graph_byte=0.0,
        books_estimate=False,
        sentence="The KV cache's bytes were set by hand, so the list changes no KV token; graphs "
        "fit beside it or the engine does not start.",
    )


def _sentence(
    effect: GraphsEffect, slack: float | None, graph_bytes: float, booked_bytes: float | None
) -> str:
    words = effect.sentence
    if effect.books_estimate and booked_bytes is None:
        words += " The engine's estimate is not known here and is taken to be what graphs take."
    if slack is not None and slack < 0:
        words += (
            f" Here the graphs take {graph_bytes / 2**20:,.0f} MiB, {-slack / 2**20:,.0f} more "
            "than are left for them: the capture runs out of memory. Lower the share of the card, "
            "or capture fewer or smaller sizes."
        )
    return words


def _known(label: str, value: float) -> float:
    if not math.isfinite(value) or value < 0:
        raise SettingError(f"{label} is {value:g} bytes; give 0 or more.")
    return value
