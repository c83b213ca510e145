"""The Memory page's choices: card, model, KV bytes a token, pool policy, request length."""

from __future__ import annotations

import json

import streamlit as st

from app import compute, state
from app.memory_choice import MemoryChoice
from core.memory import ModelMemory, model_memory
from core.records import PoolPolicy

LLAMA_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}


def memory_inputs(workload: state.Workload | None) -> MemoryChoice:
    """Widgets; raises ModelConfigError where the pasted config lacks what is needed."""
    left, middle, right, last = st.columns(4)
    card = left.number_input(
        "Card memory [GiB]", 1.0, 10_000.0, key=state.remember("card_gib", 80.0), step=8.0
    )
    used = middle.number_input(
        "Share the engine may use",
        0.05,
        1.0,
        key=state.remember("utilization", 0.9),
        step=0.01,
        help="vLLM's --gpu-memory-utilization.",
    )
    reserve = right.number_input(
        "Activations and the rest [GiB]",
        0.0,
        1000.0,
        key=state.remember("reserve_gib", 4.0),
        step=0.5,
        help="Peak activation memory, CUDA context, communication buffers: an assumption here; "
        "the engine prints its own figure at start-up.",
    )
    tp = last.number_input("Tensor parallel", 1, 64, key=state.remember("tp", 1))
    for key in ("card_gib", "utilization", "reserve_gib", "tp"):
        state.keep(key)
    model, origin = _model(tp)
    columns = st.columns(2)
    tokens = columns[0].number_input(
        "Tokens a request holds",
        1.0,
        1e7,
        key=state.remember("tokens_per_request", typical_tokens(workload)),
        help="Prompt plus output of a typical request; the default is this workload's mean.",
    )
    state.keep("tokens_per_request")
    columns[1].selectbox(
        "Graph memory pool",
        list(PoolPolicy),
        format_func=lambda policy: policy.value,
        key=state.remember("policy", PoolPolicy.SHARED_LARGEST_FIRST),
        help="Private: every graph keeps its own memory. Shared, largest first: smaller graphs "
        "reuse the largest one's, as vLLM and SGLang do.",
    )
    free = card * used * 2**30 - model.weight_bytes - reserve * 2**30
    return MemoryChoice(free, model.kv_bytes_per_token, tokens, state.keep("policy"), origin)


def typical_tokens(workload: state.Workload | None) -> float:
    """Mean prompt plus output of the workload; 1,000 where it tells no lengths."""
    if workload is None or workload.reading.trace is None or len(workload.reading.trace) == 0:
        return 1000.0
    trace = workload.reading.trace
    return float(round((trace.prompt_tokens.sum() + trace.output_tokens.sum()) / len(trace)))


def model_config_text() -> str:
    """The config.json last pasted, or the Llama 8B shape."""
    return state.value("model_config", json.dumps(LLAMA_8B, indent=1))


def chosen_model() -> ModelMemory:
    """The model last set on this page. Raises ModelConfigError."""
    return _parsed(model_config_text(), state.value("tp", 1))


def _parsed(text: str, tp: int) -> ModelMemory:
    return model_memory(compute.model_config(text), tp=tp)


def _model(tp: int) -> tuple[ModelMemory, str]:
    with st.expander("Model: paste its config.json (now: Llama 8B shape unless changed)"):
        text = st.text_area(
            "config.json",
            key=state.remember("model_config", json.dumps(LLAMA_8B, indent=1)),
            height=220,
        )
        state.keep("model_config")
    model = _parsed(text, tp)
    st.caption(
        f"Weights {model.weight_bytes / 2**30:.2f} GiB a card (estimated from the config), KV "
        f"{model.kv_bytes_per_token / 1024:.0f} KiB a token."
    )
    return model, "estimated from config.json"
