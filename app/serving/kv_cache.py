"""The KV cache of the simulated engine: what the Memory page finds, until a size is typed."""

from __future__ import annotations

from dataclasses import dataclass

from app import state
from app.inputs.memory import kv_tokens_before_graphs
from core.errors import ProjectError

KEY = "kv_tokens"
LEAST, MOST = 1024, 100_000_000
ASSUMED_TOKENS = 500_000
"""Where no card and model say how much room there is."""


@dataclass(frozen=True)
class KvRoom:
    """What the KV cache holds before graphs take their part [tokens].

    problem : why the Memory page does not tell, so that `tokens` is assumed; else empty
    """

    tokens: int
    problem: str = ""


def kv_room() -> KvRoom:
    """By the card and model of the Memory page, on whichever page."""
    try:
        tokens = kv_tokens_before_graphs()
    except ProjectError as error:
        return KvRoom(ASSUMED_TOKENS, str(error))
    if not LEAST <= tokens <= MOST:
        least_most = f"a simulated engine takes {LEAST:,} to {MOST:,}"
        return KvRoom(ASSUMED_TOKENS, f"There is room for {tokens:,} tokens; {least_most}.")
    return KvRoom(tokens)


def chosen_kv_tokens() -> int:
    """As typed; the Memory page's until then."""
    return state.value(KEY, kv_room().tokens)


def is_typed() -> bool:
    """Whether somebody typed a size that is not the Memory page's."""
    return chosen_kv_tokens() != kv_room().tokens


def kv_words() -> str:
    """The size, and whose figure it is."""
    who = "as typed" if is_typed() else "as the Memory page finds before graphs"
    if kv_room().problem and not is_typed():
        who = "as assumed"
    return f"KV cache of {chosen_kv_tokens():,} tokens {who}"


def kv_caption() -> str:
    """Whose figure it is and what the other one would be, below its widget."""
    room = kv_room()
    if room.problem:
        said = "typed" if is_typed() else f"{room.tokens:,} tokens assumed"
        return f"KV cache size: {said}; the Memory page has none to give. {room.problem}"
    if is_typed():
        return (
            f"KV cache size: typed. The card and model of the Memory page have room for "
            f"{room.tokens:,} tokens before graphs (estimated)."
        )
    return (
        f"KV cache size: {room.tokens:,} tokens are what the card and model of the Memory page "
        "have room for before graphs (estimated). If you have your engine's start-up log, type "
        "the size that it prints."
    )
