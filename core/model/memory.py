"""From a model's config.json to weight bytes and KV-cache bytes on one card: an estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import ModelConfigError, SettingError
from core.model.config import (
    Config,
    dtype_bytes,
    head_dim,
    hidden_size,
    is_mla,
    layer_kinds,
    model_dtype,
    num_kv_heads,
    text_config,
    weight_element,
    whole,
    window_tokens,
)
from core.model.weight_count import count_weights


def kv_bytes_per_token(
    layers: int, kv_heads: int, head_dim: int, bytes_per_element: float, tp: int = 1
) -> float:
    """Keys and values of one token on one card: 2 x layers x KV heads x head dim x bytes / tp.

    With more cards than KV heads each card holds one head, as engines replicate them.
    Raises SettingError.
    """
    for label, value in (("layers", layers), ("KV heads", kv_heads), ("head dim", head_dim)):
        if value < 1:
            raise SettingError(f"The number of {label} is {value}; it must be 1 or more.")
    return 2.0 * layers * _heads_a_card(kv_heads, tp) * head_dim * bytes_per_element


def _heads_a_card(heads: int, tp: int) -> int:
    if tp < 1:
        raise SettingError(f"Tensor parallel is {tp}; it must be 1 or more.")
    if (tp % heads if tp >= heads else heads % tp) != 0:
        raise SettingError(
            f"{heads} KV heads cannot be shared out over {tp} cards; use a divisor or a multiple "
            f"of {heads}."
        )
    return max(1, heads // tp)


@dataclass(frozen=True)
class KvLayers:
    """Layers that keep keys and values alike.

    kind : "full", "sliding window" or "MLA"
    bytes_per_token : of all these layers on one card [bytes]
    window_tokens : only so many last tokens are kept; None = all
    """

    kind: str
    num_layers: int
    bytes_per_token: float
    window_tokens: int | None = None

    def bytes_at(self, tokens: float) -> float:
        """KV of a request of that many tokens [bytes]."""
        kept = tokens if self.window_tokens is None else min(tokens, self.window_tokens)
        return self.bytes_per_token * kept


@dataclass(frozen=True)
class ModelMemory:
    """What a model takes on one card (estimated from its config).

    num_params : of the whole model, all experts included
    weight_bytes : on one card, shared out evenly [bytes]
    kv_layers : layers with a KV cache, by kind
    num_state_layers : layers with a fixed state a request instead (Mamba, linear attention)
    state_bytes : of one request in those layers, whatever its length, on one card [bytes]
    notes : what was assumed
    """

    name: str
    num_params: int
    weight_bytes: float
    kv_layers: tuple[KvLayers, ...]
    num_state_layers: int = 0
    state_bytes: float = 0.0
    tp: int = 1
    notes: tuple[str, ...] = ()

    @property
    def kv_bytes_per_token(self) -> float:
        """Of one more token of a short request; sliding-window layers stop growing later."""
        return sum(layers.bytes_per_token for layers in self.kv_layers)

    def kv_bytes_at(self, tokens: float) -> float:
        """KV and state of one request of that many tokens [bytes]."""
        return self.state_bytes + sum(layers.bytes_at(tokens) for layers in self.kv_layers)


def model_memory(
    config: Mapping[str, Any], *, tp: int = 1, kv_dtype: str | None = None
) -> ModelMemory:
    """Weights and KV cache of a model on one of `tp` cards, from its config.json.

    Dense, grouped and multi-query attention, MLA, mixtures of experts, sliding windows, and
    hybrids with Mamba or linear-attention layers. kv_dtype : None or "auto" = as the model.
    Raises ModelConfigError for what is missing, SettingError for a tp that does not divide.
    """
    if not isinstance(config, Mapping):
        raise ModelConfigError("The model config is no JSON object; paste the whole config.json.")
    if tp < 1:
        raise SettingError(f"Tensor parallel is {tp}; it must be 1 or more.")
    config = text_config(config)
    element, weight_note = weight_element(config)
    kv_name = model_dtype(config) if kv_dtype in (None, "auto") else str(kv_dtype)
    kv_element = dtype_bytes(kv_name, "The KV cache type")
    num_state = layer_kinds(config).count("state")
    state, state_notes = _state_bytes(config, tp, num_state)
    params = count_weights(config)
    return ModelMemory(
        name=str(config.get("_name_or_path") or config.get("model_type") or "model"),
        num_params=params,
        weight_bytes=params * element / tp,
        kv_layers=_kv_layers(config, tp, kv_element),
        num_state_layers=num_state,
        state_bytes=state,
        tp=tp,
        notes=(weight_note, f"KV cache in {kv_name}", *state_notes),
    )


def _kv_layers(config: Config, tp: int, element: float) -> tuple[KvLayers, ...]:
    kinds = layer_kinds(config)
    groups = []
    labels = (("full", "full", None), ("window", "sliding window", window_tokens(config)))
    for kind, label, window in labels:
        num = kinds.count(kind)
        if num and is_mla(config):
            # One latent vector a token, the same on every card: nothing to share out.
            width = whole(config, "kv_lora_rank") + whole(config, "qk_rope_head_dim", default=64)
            groups.append(KvLayers("MLA", num, num * width * element, window))
        elif num:
            heads, width = num_kv_heads(config), head_dim(config)
            per_token = kv_bytes_per_token(num, heads, width, element, tp)
            groups.append(KvLayers(label, num, per_token, window))
    return tuple(groups)


def _state_bytes(config: Config, tp: int, num: int) -> tuple[float, tuple[str, ...]]:
    """Recurrent state of a request in `num` layers on one card, and what was assumed."""
    if not num:
        return 0.0, ()
    size = _state_size(config)
    if size is None:
        return 0.0, ("the state of its recurrent layers is not in the config and counts as 0",)
    note = "recurrent state counted in float32, without convolution state"
    return 4.0 * num * size / tp, (note,)


def _state_size(config: Config) -> int | None:
    """Elements of one layer's state; None where the config does not tell."""
    if "linear_num_value_heads" in config:
        heads = whole(config, "linear_num_value_heads")
        key = whole(config, "linear_key_head_dim")
        return heads * key * whole(config, "linear_value_head_dim")
    if config.get("mamba_n_heads") or config.get("mamba_num_heads"):
        inner = whole(config, "mamba_n_heads", "mamba_num_heads")
        inner *= whole(config, "mamba_d_head", "mamba_head_dim", default=64)
        return inner * whole(config, "mamba_d_state", "ssm_state_size", default=128)
    if config.get("mamba_d_state") or config.get("state_size"):
        inner = whole(config, "mamba_expand", "expand", default=2) * hidden_size(config)
        return inner * whole(config, "mamba_d_state", "state_size")
    return None
