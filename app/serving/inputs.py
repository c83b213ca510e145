"""Widgets of the simulated engine: its limits, how requests come, and what is advanced."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from app.serving import kv_cache
from app.serving.choice import ServingLimits
from core.readers.reading import Reading
from core.records import SizeUnit, Trace
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


def coming_inputs() -> None:
    """Widgets for how requests come: when they arrive, or as soon as another is done."""
    left, right, _ = st.columns([2, 1, 1], vertical_alignment="bottom")
    left.segmented_control(
        "Requests come",
        [OPEN, CLOSED],
        format_func=WORDS.__getitem__,
        key=state.remember("arrive", OPEN),
        required=True,
        help="Closed loop: a fixed number of requests is in flight and each that ends lets the "
        "next one in, as benchmark tools with a fixed concurrency do; arrivals and the load "
        "factor are not used.",
    )
    if state.keep("arrive") == CLOSED:
        state.remember("concurrency", 64, within=(1, 100_000))
        right.number_input("Concurrency", 1, 100_000, key="concurrency")
        state.keep("concurrency")


def advanced_inputs(trace: Trace) -> None:
    """Widgets for prefill, speculation, prefix cache and KV blocks."""
    with st.expander("Advanced: prefill, speculation, prefix cache, KV blocks"):
        _prefill_inputs()
        _draft_inputs()
        _prefix_inputs(trace)


def _prefill_inputs() -> None:
    st.caption(
        "**Prefill.** Chunked: prompts fill what decoding requests leave of a step (vLLM). "
        "Separate: a step is prefill, which goes first, or decode (SGLang's default), so that "
        "decodes wait for prompts."
    )
    left, middle, right = st.columns([2, 1, 2], vertical_alignment="bottom")
    left.segmented_control(
        "Prefill",
        MODES,
        format_func=WORDS.__getitem__,
        key=state.remember("prefill_mode", MODES[0]),
        required=True,
    )
    state.keep("prefill_mode")
    middle.number_input(
        *("KV block [tokens]", 1, 4096),
        key=state.remember("block_size_tokens", 16, within=(1, 4096)),
        help="A request holds whole blocks; SGLang calls them pages (default 1 or 64), vLLM blocks "
        "(16).",
    )
    state.keep("block_size_tokens")
    right.checkbox(
        "Admit a request only when its whole prompt fits",
        key=state.remember("whole_prompt", True),
        help="As vLLM does; off: room for its first chunk is enough, and it may be preempted.",
    )
    state.keep("whole_prompt")


def _draft_inputs() -> None:
    st.caption(
        "**Speculative decoding.** Each decode step verifies draft tokens and keeps those "
        "accepted. Every request is taken to accept at the mean rate; drafting itself takes no "
        "time."
    )
    left, middle, right = st.columns([1, 1, 2], vertical_alignment="bottom")
    state.remember("draft_tokens", 0, within=(0, 64))
    left.number_input("Draft tokens", 0, 64, key="draft_tokens")
    off = state.keep("draft_tokens") == 0
    middle.number_input(
        *("Acceptance", 0.0, 1.0),
        step=0.05,
        key=state.remember("acceptance", 0.7, within=(0.0, 1.0)),
        disabled=off,
        help="Chance that a draft is accepted, given that those before it were.",
    )
    state.keep("acceptance")
    right.selectbox(
        "A capture size counts",
        [SizeUnit.TOKENS.value, SizeUnit.REQUESTS.value],
        format_func=WORDS.__getitem__,
        key=state.remember("sizes_count", SizeUnit.TOKENS.value),
        disabled=off,
        help="With 3 drafts 10 requests are a step of 40 tokens, or of 10 requests.",
    )
    state.keep("sizes_count")


def _prefix_inputs(trace: Trace) -> None:
    known = trace.prefix_hit_tokens is not None
    said = "this trace's hash ids tell which" if known else "this trace tells of none"
    st.caption(
        f"**Prefix cache.** Prompt tokens shared with earlier requests are not computed again; "
        f"{said}. It never evicts here, so its effect is an upper bound."
    )
    left, right = st.columns(2, vertical_alignment="bottom")
    left.selectbox(
        "Prefix cache",
        [AS_TRACE, TYPED, OFF],
        format_func=WORDS.__getitem__,
        key=state.remember("prefix_use", AS_TRACE),
    )
    if state.keep("prefix_use") == TYPED:
        right.slider(
            *("Share of every prompt that is cached", 0.0, 0.99),
            key=state.remember("prefix_hit_rate", 0.3, within=(0.0, 0.99)),
        )
        state.keep("prefix_hit_rate")


def advanced_words(limits: ServingLimits) -> str:
    """How the engine prefills, and of the other advanced choices those that are not the default."""
    words = [
        f"{limits.mode} prefill",
        kv_cache.kv_words(),
    ]
    if limits.draft_tokens:
        words.append(f"{limits.draft_tokens} draft tokens, acceptance {limits.acceptance:g}")
    if not limits.prefix_cache:
        words.append("prefix cache off")
    elif limits.prefix_hit_rate is not None:
        words.append(f"{limits.prefix_hit_rate:.0%} prefix hits")
    if limits.block_size_tokens != 16:
        words.append(f"KV blocks of {limits.block_size_tokens}")
    if not limits.whole_prompt_must_fit:
        words.append("prompts admitted by their first chunk")
    return ", ".join(words)


def coming_words(limits: ServingLimits) -> str:
    """How requests come, in words."""
    if limits.concurrency is not None:
        return f"in a closed loop of {limits.concurrency:,}"
    return f"replayed at load x{limits.load_factor:g}"
