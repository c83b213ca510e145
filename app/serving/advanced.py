"""Widgets and words of how requests come, and of prefill, speculation, prefix cache, KV blocks."""

from __future__ import annotations

import streamlit as st

from app import state
from app.serving import kv_cache
from app.serving.choice import ServingLimits
from app.serving.inputs import AS_TRACE, CLOSED, OFF, OPEN, TYPED, WORDS
from core.records import SizeUnit, Trace
from core.simulate import MODES


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
