"""Weights of a decoder, counted from its config: embeddings, attention, MLPs, experts.

Norms, biases, rotary tables and vision towers are left out: well under 1 % of a language model.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.model.config import (
    Config,
    head_dim,
    hidden_size,
    is_mla,
    layer_kinds,
    num_heads,
    num_kv_heads,
    whole,
)

UNGATED = frozenset(
    ("gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "codegen", "opt", "bloom", "falcon")
    + ("mpt", "phi", "starcoder2", "nemotron", "nemotron_h")
)
"""Model types whose MLP has two matrices; all others have gate, up and down."""

TIED = frozenset(
    ("gpt2", "gpt_bigcode", "bloom", "falcon", "mpt", "opt", "gemma", "gemma2", "gemma3")
    + ("gemma3_text",)
)
"""Model types that share the two vocabulary matrices unless the config says otherwise."""


def count_weights(config: Config) -> int:
    """Parameters of the whole model, every expert included. Raises ModelConfigError."""
    tied = config.get("tie_word_embeddings", config.get("model_type") in TIED)
    embeddings = whole(config, "vocab_size") * hidden_size(config) * (1 if tied else 2)
    embeddings += _learned_positions(config)
    kinds = layer_kinds(config)
    attention = _mla(config) if is_mla(config) else _attention(config)
    mixers = sum(1 for kind in kinds if kind in ("full", "window")) * attention
    states = kinds.count("state")
    mixers += states * _state_mixer(config) if states else 0
    return embeddings + mixers + _mlps(config, len(kinds))


def _learned_positions(config: Config) -> int:
    if config.get("model_type") not in ("gpt2", "gpt_bigcode", "opt"):
        return 0
    return whole(config, "n_positions", "max_position_embeddings") * hidden_size(config)


def _attention(config: Config) -> int:
    """Query, key, value and output."""
    width = head_dim(config)
    heads, kv_heads = num_heads(config), num_kv_heads(config)
    return hidden_size(config) * width * 2 * (heads + kv_heads)


def _mla(config: Config) -> int:
    """Low-rank query, compressed key and value, output."""
    hidden, heads = hidden_size(config), num_heads(config)
    nope = whole(config, "qk_nope_head_dim", default=128)
    rope = whole(config, "qk_rope_head_dim", default=64)
    value = whole(config, "v_head_dim", default=128)
    latent = whole(config, "kv_lora_rank")
    if config.get("q_lora_rank"):
        rank = whole(config, "q_lora_rank")
        query = rank * (hidden + heads * (nope + rope))
    else:
        query = hidden * heads * (nope + rope)
    return (
        query + hidden * (latent + rope) + latent * heads * (nope + value) + heads * value * hidden
    )


def _state_mixer(config: Config) -> int:
    """In and out projections of a Mamba or linear-attention layer."""
    hidden = hidden_size(config)
    if "linear_num_value_heads" in config:
        keys = whole(config, "linear_num_key_heads") * whole(config, "linear_key_head_dim")
        values = whole(config, "linear_num_value_heads") * whole(config, "linear_value_head_dim")
        return hidden * (2 * keys + 3 * values)
    inner = whole(config, "mamba_expand", "expand", default=2) * hidden
    if config.get("mamba_num_heads") or config.get("mamba_n_heads"):
        heads = whole(config, "mamba_num_heads", "mamba_n_heads")
        inner = heads * whole(config, "mamba_head_dim", "mamba_d_head", default=64)
    return 3 * hidden * inner


def _matrices(config: Config) -> int:
    return 2 if config.get("model_type") in UNGATED else 3


def _mlps(config: Config, layers: int) -> int:
    hidden, matrices = hidden_size(config), _matrices(config)
    pattern = config.get("hybrid_override_pattern")
    if isinstance(pattern, str):  # Nemotron-H: "-" layers are the only MLPs
        dense = pattern.count("-") * matrices * hidden * whole(config, "intermediate_size")
        sparse = pattern.count("E")
        return dense + (sparse * _expert_layer(config) if sparse else 0)
    sparse = sum(is_expert_layer(config, i) for i in range(layers))
    ffn = whole(
        config,
        *(("intermediate_size_mlp",) if sparse else ()),
        "intermediate_size",
        "ffn_dim",
        "n_inner",
        "ffn_hidden_size",
        default=4 * hidden,
    )
    return (layers - sparse) * matrices * hidden * ffn + (
        sparse * _expert_layer(config) if sparse else 0
    )


def num_experts(config: Config) -> int:
    """Routed experts a layer; 0 in a dense model."""
    for name in ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"):
        if config.get(name):
            return whole(config, name)
    return 0


def is_expert_layer(config: Config, layer: int) -> bool:
    """Whether layer `layer` (from 0) routes to experts, by the rules of the usual families."""
    if num_experts(config) <= 1 or layer in (config.get("mlp_only_layers") or ()):
        return False
    if layer < int(config.get("first_k_dense_replace") or 0):
        return False
    if period := config.get("expert_layer_period"):
        return layer % int(period) == int(config.get("expert_layer_offset", 0))
    step = config.get("interleave_moe_layer_step") or config.get("decoder_sparse_step") or 1
    if (layer + 1) % int(step):
        return False
    freq = config.get("moe_layer_freq", 1)
    if isinstance(freq, list):
        return bool(freq[layer])
    return layer % int(freq or 1) == 0


@dataclass(frozen=True)
class ExpertWeights:
    """Routed experts: weights of all of them in all layers, how many a layer, how many a token."""

    total: int
    num_experts: int
    per_token: int


def expert_weights(config: Config) -> ExpertWeights:
    """Shared experts and routers are not routed, so they do not count here."""
    layers = len(layer_kinds(config))
    pattern = config.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        sparse = pattern.count("E")
    else:
        sparse = sum(is_expert_layer(config, i) for i in range(layers))
    if not sparse:
        return ExpertWeights(0, 0, 0)
    experts = num_experts(config)
    width = whole(config, "moe_intermediate_size", "intermediate_size")
    each = _matrices(config) * hidden_size(config) * width
    per_token = whole(
        config, "num_experts_per_tok", "moe_top_k", "num_experts_per_token", default=1
    )
    return ExpertWeights(sparse * experts * each, experts, min(experts, per_token))


def _expert_layer(config: Config) -> int:
    """Experts, shared experts and router of one layer."""
    hidden, experts = hidden_size(config), num_experts(config)
    width = whole(config, "moe_intermediate_size", "intermediate_size")
    shared = int(config.get("n_shared_experts") or 0) * width
    shared += int(config.get("shared_expert_intermediate_size") or 0)
    if config.get("model_type") in ("llama4", "llama4_text"):
        shared += width  # one shared expert beside the routed ones
    return hidden * (_matrices(config) * (experts * width + shared) + experts)
