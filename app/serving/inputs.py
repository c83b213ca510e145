"""Widgets of the simulated engine: its limits, and the arrivals that a file lacks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.serving import kv_cache
from app.serving.choice import ServingLimits
from core.readers.reading import Reading
from core.records import SizeUnit
from core.simulate import MODES

OPEN, CLOSED = "open", "closed"
AS_TRACE, TYPED, OFF = "trace", "typed", "off"
WORDS = {
    "chunked": "Chunked, beside decodes",
    "separate": "Separate steps",
    OPEN: "When they arrive",
    CLOSED: "Closed loop",
    AS_TRACE: "As the trace says",
    TYPED: "A share of every prompt",
    OFF: "Off",
    SizeUnit.TOKENS.value: "tokens, drafts included (vLLM)",
    SizeUnit.REQUESTS.value: "requests (SGLang)",
}
"""What stands in a kept session, and what people read."""

LIMIT_INPUTS = (
    (
        *("max_num_seqs", "max_num_seqs", 1, 4096, 1, 256),
        "Most requests that decode together in one step (vLLM's --max-num-seqs).",
    ),
    (
        *("max_num_batched_tokens", "max_num_batched_tokens", 16, 1_000_000, 1024, 8192),
        "Most tokens one step may hold; longer prompts are prefilled in chunks.",
    ),
    (
        *(kv_cache.KEY, "KV cache [tokens]", kv_cache.LEAST, kv_cache.MOST, 10_000),
        kv_cache.ASSUMED_TOKENS,
        "Tokens the KV cache holds before graphs take their part; the engine logs it at start-up "
        "as 'KV cache size'. Until you type one it follows the Memory page.",
    ),
    (
        *("load_factor", "load factor", 0.05, 100.0, 0.5, 1.0),
        "2 replays the trace twice as fast; one engine of a fleet of 4 sees 0.25.",
    ),
)
"""Key, label, least, most, step, default and help of each limit."""

ARRIVAL_INPUTS = (
    (
        *("rate_rps", "Request rate [requests/s]", 0.0, 100_000.0, 1.0, 0.0),
        "The file has no arrival times; requests will arrive at random at this rate.",
    ),
    (
        *("arrival_cv", "Burstiness (CV of the gaps)", 0.0, 20.0, 0.5, 1.0),
        "Standard deviation of the time between arrivals over its mean: 1 is Poisson, above it "
        "Gamma-distributed gaps that come in bursts, 0 a metronome.",
    ),
    (
        *("arrival_seed", "Seed", 0, 2**31 - 1, 1, 0),
        "The same seed makes the same arrivals; try another to see how much is chance.",
    ),
)


DEFAULTS = {item[0]: item[5] for item in ARRIVAL_INPUTS}


def _limits_now() -> tuple[tuple, ...]:
    """The limits with the defaults of this moment: the KV cache follows the Memory page."""
    room = kv_cache.kv_room().tokens
    return tuple(
        (*item[:5], room, item[6]) if item[0] == kv_cache.KEY else item for item in LIMIT_INPUTS
    )


def serving_limits() -> ServingLimits:
    """The engine last chosen, on whichever page."""
    drafts = state.value("draft_tokens", 0)
    prefix = state.value("prefix_use", AS_TRACE)
    closed = state.value("arrive", OPEN) == CLOSED
    return ServingLimits(
        *(state.value(item[0], item[5]) for item in _limits_now()),
        mode=state.value("prefill_mode", MODES[0]),
        block_size_tokens=state.value("block_size_tokens", 16),
        whole_prompt_must_fit=state.value("whole_prompt", True),
        draft_tokens=drafts,
        acceptance=state.value("acceptance", 0.7) if drafts else 0.0,
        sizes_count=SizeUnit(state.value("sizes_count", SizeUnit.TOKENS.value)),
        prefix_cache=prefix != OFF,
        prefix_hit_rate=state.value("prefix_hit_rate", 0.3) if prefix == TYPED else None,
        concurrency=state.value("concurrency", 64) if closed else None,
    )


def serving_inputs() -> ServingLimits:
    """Widgets for the limits, four in a row, and where the size of the KV cache comes from."""
    _row(_limits_now(), {kv_cache.KEY})
    st.caption(as_text(kv_cache.kv_caption()))
    return serving_limits()


def limit_inputs(*keys: str) -> None:
    """Widgets for some of the limits, in their order."""
    _row(tuple(item for item in LIMIT_INPUTS if item[0] in keys))


def arrival_inputs(reading: Reading) -> None:
    """Widgets for arrivals where the file has lengths alone; the rate is what it says, if it does.

    A closed loop needs none.
    """
    if reading.trace is None or reading.trace.arrival_s is not None:
        return
    first, *others = ARRIVAL_INPUTS
    rows = ((*first[:5], said_rate_rps(reading), first[6]), *others)
    _row(rows, {item[0] for item in rows})


def said_rate_rps(reading: Reading) -> float:
    """The request rate that a file without arrivals tells; 0 where it tells none [requests/s]."""
    return float(reading.facts.get("request_rate_rps", DEFAULTS["rate_rps"]))


@dataclass(frozen=True)
class Arrivals:
    """How requests of a file without arrival times are made to arrive."""

    rate_rps: float
    cv: float
    seed: int


def chosen_arrivals(reading: Reading) -> Arrivals:
    """As last typed; the rate is the file's own until one is."""
    return Arrivals(
        state.value("rate_rps", said_rate_rps(reading)),
        state.value("arrival_cv", DEFAULTS["arrival_cv"]),
        state.value("arrival_seed", DEFAULTS["arrival_seed"]),
    )


def arrival_words(reading: Reading) -> str:
    """At which rate the requests of a file without arrivals come, and who says so; else empty."""
    if reading.trace is None or reading.trace.arrival_s is not None:
        return ""
    if serving_limits().concurrency is not None:
        return ""
    rate_rps = chosen_arrivals(reading).rate_rps
    who = "from the file" if rate_rps == said_rate_rps(reading) else "typed"
    return f"at {rate_rps:g} requests/s, {who}, "


def _row(inputs: tuple[tuple, ...], following: Collection[str] = ()) -> None:
    """following : keys whose default depends on the work"""
    for place, (key, label, least, most, step, default, help_text) in zip(
        st.columns(len(inputs)), inputs, strict=True
    ):
        place.number_input(
            *(label, least, most),
            step=step,
            key=state.remember(key, default, key in following, within=(least, most)),
            help=help_text,
        )
        state.keep(key)
