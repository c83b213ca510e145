"""The Memory page's choices: card, model, KV bytes a token, pool policy, request length."""

from __future__ import annotations

import json

import streamlit as st

from app import compute, state, theme
from app.inputs.memory_choice import MemoryChoice
from core.memory import ModelMemory, whole_kv_tokens
from core.memory_plan import MemoryPlan
from core.records import PoolPolicy

GIB = 2**30
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


CARD_INPUTS = (
    (*("card_gib", "Card memory [GiB]", 1.0, 10_000.0, 8.0, 80.0), None),
    (
        *("utilization", "Share the engine may use", 0.05, 1.0, 0.01, 0.9),
        "vLLM's --gpu-memory-utilization.",
    ),
    (
        *("reserve_gib", "Activations and the rest [GiB]", 0.0, 1000.0, 0.5, 4.0),
        "Peak activation memory, CUDA context, communication buffers: an assumption here; the "
        "engine prints its own figure at start-up.",
    ),
    (*("tp", "Tensor parallel", 1, 64, 1, 1), None),
)
"""Key, label, least, most, step, default and help of what the card has."""
DEFAULTS = {key: default for key, _, _, _, _, default, _ in CARD_INPUTS}
KV_ORIGIN = "estimated from config.json"


def memory_inputs(workload: state.Workload | None) -> MemoryChoice:
    """Widgets; raises ModelConfigError where the pasted config lacks what is needed."""
    for place, (key, label, least, most, step, default, help_text) in zip(
        st.columns(len(CARD_INPUTS)), CARD_INPUTS, strict=True
    ):
        place.number_input(
            *(label, least, most),
            step=step,
            format="%g" if isinstance(default, float) else None,
            key=state.remember(key, default, within=(least, most)),
            help=help_text,
        )
        state.keep(key)
    _model_inputs()
    columns = st.columns(2)
    columns[0].number_input(
        "Tokens a request holds",
        1.0,
        1e7,
        format="%.0f",
        key=state.remember("tokens_per_request", typical_tokens(workload), True, within=(1.0, 1e7)),
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
    state.keep("policy")
    return chosen_memory(workload)


def chosen_memory(workload: state.Workload | None) -> MemoryChoice:
    """The choice last made on the Memory page. Raises ModelConfigError."""
    model = chosen_model()
    return MemoryChoice(
        _free_bytes(model),
        model.kv_bytes_per_token,
        state.value("tokens_per_request", typical_tokens(workload)),
        pool_policy(),
        KV_ORIGIN,
    )


def pool_policy() -> PoolPolicy:
    """How graphs share memory, as last chosen; for every page."""
    return state.value("policy", PoolPolicy.SHARED_LARGEST_FIRST)


def kv_tokens_before_graphs() -> int:
    """Tokens that the card and model have room for before any graph is captured.

    Raises ModelConfigError, SettingError (nothing is left).
    """
    model = chosen_model()
    return whole_kv_tokens(_free_bytes(model), model.kv_bytes_per_token)


def _free_bytes(model: ModelMemory) -> float:
    """For graphs and KV cache together; below 0 where the model does not fit [bytes]."""
    card, used, reserve = (
        state.value(key, DEFAULTS[key]) for key in ("card_gib", "utilization", "reserve_gib")
    )
    return MemoryPlan(card * GIB, used, model.weight_bytes, reserve * GIB, 0.0, 0.0).free_bytes


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
    return compute.model_in_memory(model_config_text(), state.value("tp", 1))


def _model_inputs() -> None:
    with st.expander("Model: paste its config.json (now: Llama 8B shape unless changed)"):
        st.text_area(
            "config.json",
            key=state.remember("model_config", json.dumps(LLAMA_8B, indent=1)),
            height=220,
        )
        state.keep("model_config")
    model = chosen_model()
    st.caption(
        f"Weights {theme.bytes_text(model.weight_bytes)} a card (estimated from the config), KV "
        f"{theme.bytes_text(model.kv_bytes_per_token)} a token."
    )
