"""What of a pasted config.json is stored with a session: what the calculations read, no other text.

A config may name people, paths and servers. Of its words only known types, kinds and methods are
kept; the same numbers, or the same errors, follow from what is left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.model.config import DTYPE_BYTES, FULL_KINDS, STATE_KINDS, WINDOW_KINDS
from core.model.weight_count import TIED, UNGATED

PARTS = ("text_config", "llm_config", "language_config", "quantization_config")
_KEYS = """
    hidden_size n_embd d_model num_hidden_layers n_layer num_layers n_layers num_attention_heads
    n_head num_heads n_heads head_dim multi_query new_decoder_architecture num_key_value_heads
    num_kv_heads kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim
    use_sliding_window sliding_window attention_chunk_size sliding_window_pattern max_window_layers
    layer_types layers_block_type hybrid_override_pattern full_attention_interval
    attn_layer_period attn_layer_offset model_type torch_dtype dtype tie_word_embeddings vocab_size
    n_positions max_position_embeddings intermediate_size ffn_dim n_inner
    ffn_hidden_size num_local_experts num_experts n_routed_experts moe_num_experts
    num_experts_per_tok moe_top_k
    num_experts_per_token top_k moe_intermediate_size n_shared_experts
    shared_expert_intermediate_size mlp_only_layers first_k_dense_replace expert_layer_period
    expert_layer_offset interleave_moe_layer_step decoder_sparse_step moe_layer_freq
    intermediate_size_mlp
    linear_num_value_heads linear_num_key_heads linear_key_head_dim linear_value_head_dim
    mamba_expand expand mamba_num_heads mamba_n_heads mamba_head_dim mamba_d_head mamba_d_state
    ssm_state_size state_size
    quant_method quant_algo bits w_bit load_in_8bit load_in_4bit
"""
KEYS = frozenset(_KEYS.split())
TYPES = TIED | UNGATED | {"gemma2", "gpt_oss", "llama", "llama4", "llama4_text", "mistral"}
KINDS = frozenset((*FULL_KINDS, *WINDOW_KINDS, *STATE_KINDS))
METHODS = ("mxfp4", "nvfp4", "fp8", "int8", "awq", "gptq", "bitsandbytes", "compressed-tensors")
UNKNOWN = "unknown"


def kept_config(text: str) -> str:
    """The config as JSON text without what nobody reads; "" for what is no JSON object."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return json.dumps(_kept(config), indent=1) if isinstance(config, dict) else ""


def _kept(config: Mapping[str, Any]) -> dict[str, Any]:
    made = {}
    for key, value in config.items():
        if key in PARTS and isinstance(value, Mapping):
            made[key] = _kept(value)
        elif key in KEYS:
            made[key] = _value(key, value)
    return {key: value for key, value in made.items() if value is not None}


def _value(key: str, value: Any) -> Any:
    if isinstance(value, str):
        return _word(key, value)
    if isinstance(value, list):
        return [_value(key, item) for item in value]
    return value if isinstance(value, (bool, int, float)) else None


def _word(key: str, word: str) -> str | None:
    """The word where it is known for this key; else one that gives the same answer."""
    if key == "model_type":
        return word if word in TYPES else None
    if key in ("torch_dtype", "dtype"):
        return word if word.lower().removeprefix("torch.") in DTYPE_BYTES else UNKNOWN
    if key in ("quant_method", "quant_algo"):
        return next((name for name in METHODS if name in word.lower()), UNKNOWN)
    if key == "hybrid_override_pattern":
        return "".join(mark if mark in "M*-E" else " " for mark in word)
    return word if word in KINDS else UNKNOWN
