"""What a Hugging Face config.json says of a decoder's shape, under its many names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.errors import ModelConfigError

Config = Mapping[str, Any]

DTYPE_BYTES = {
    "float32": 4.0,
    "float": 4.0,
    "bfloat16": 2.0,
    "float16": 2.0,
    "half": 2.0,
    "fp8": 1.0,
    "fp8_e4m3": 1.0,
    "fp8_e5m2": 1.0,
    "float8_e4m3fn": 1.0,
    "float8_e5m2": 1.0,
    "int8": 1.0,
    "fp4": 0.5,
    "nvfp4": 0.5,
    "mxfp4": 0.5,
    "int4": 0.5,
}
"""Bytes an element; scales of quantised formats are left out."""

FULL_KINDS = ("full_attention", "attention", "global_attention", "full", "global")
WINDOW_KINDS = ("sliding_attention", "sliding_window", "local_attention", "chunked_attention")
STATE_KINDS = ("linear_attention", "mamba", "mamba2", "recurrent", "conv", "ssm")


def dtype_bytes(name: object, where: str) -> float:
    """Bytes an element. Raises ModelConfigError for a type that is not known."""
    key = str(name).lower().removeprefix("torch.")
    if key not in DTYPE_BYTES:
        raise ModelConfigError(f"{where} is {name!r}; known are {', '.join(sorted(DTYPE_BYTES))}.")
    return DTYPE_BYTES[key]


def model_dtype(config: Config) -> str:
    """The type of the weights as published; bfloat16 where the config is silent."""
    return str(config.get("torch_dtype") or config.get("dtype") or "bfloat16")


def weight_element(config: Config) -> tuple[float, str]:
    """Bytes a weight and a note; a quantised type that is not known counts as 2 bytes, said so."""
    quantised = config.get("quantization_config")
    if not isinstance(quantised, Mapping):
        name = model_dtype(config)
        return dtype_bytes(name, "The model config's torch_dtype"), f"weights in {name}"
    method = str(quantised.get("quant_method", "")).lower()
    bits = quantised.get("bits") or quantised.get("w_bit")
    if bits:
        return float(bits) / 8, f"weights in {bits} bits ({method or 'quantised'})"
    words = f"{method} {quantised.get('quant_algo', '')}".lower()
    for name, size in (("fp8", 1.0), ("int8", 1.0), ("mxfp4", 0.5), ("nvfp4", 0.5)):
        if name in words:
            return size, f"weights in {name}"
    if quantised.get("load_in_8bit"):
        return 1.0, "weights in 8 bits"
    if quantised.get("load_in_4bit"):
        return 0.5, "weights in 4 bits"
    return 2.0, f"quantisation {method!r} is not known, so weights count 2 bytes each"


def text_config(config: Config) -> Config:
    """The language model's part of a multimodal config; the config itself otherwise."""
    for key in ("text_config", "llm_config", "language_config"):
        inner = config.get(key)
        if isinstance(inner, Mapping) and "num_hidden_layers" in inner:
            return {**{k: v for k, v in config.items() if k not in inner}, **inner}
    return config


def whole(config: Config, *names: str, default: int | None = None) -> int:
    """The first of several names that the config gives, 1 or more.

    Raises ModelConfigError if none is there and there is no default, or one is no such number.
    """
    for name in names:
        value = config.get(name)
        if value is None:
            continue
        if isinstance(value, Sequence) and not isinstance(value, str) and value:
            value = value[0]  # some configs give one per layer; the first stands for all
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 1:
            raise ModelConfigError(
                f"The model config's {name} is {value!r}; a number of 1 or more is expected."
            )
        return int(value)
    if default is None:
        raise ModelConfigError(
            f"The model config gives no {' or '.join(names)}; paste the whole config.json."
        )
    return default


def hidden_size(config: Config) -> int:
    return whole(config, "hidden_size", "n_embd", "d_model")


def num_layers(config: Config) -> int:
    return whole(config, "num_hidden_layers", "n_layer", "num_layers", "n_layers")


def num_heads(config: Config) -> int:
    return whole(config, "num_attention_heads", "n_head", "num_heads", "n_heads")


def head_dim(config: Config) -> int:
    """Given, or hidden size / heads."""
    return whole(config, "head_dim", default=hidden_size(config) // num_heads(config))


def num_kv_heads(config: Config) -> int:
    """Given; else 1 for multi-query attention, else one a query head."""
    if config.get("multi_query") and not config.get("new_decoder_architecture"):
        return 1
    return whole(config, "num_key_value_heads", "num_kv_heads", default=num_heads(config))


def is_mla(config: Config) -> bool:
    """Latent attention (DeepSeek): one compressed vector a token instead of keys and values."""
    return bool(config.get("kv_lora_rank"))


def window_tokens(config: Config) -> int | None:
    """The sliding window or attention chunk; None where every token is kept."""
    if config.get("use_sliding_window") is False:
        return None
    size = config.get("sliding_window") or config.get("attention_chunk_size")
    return int(size) if size else None


def layer_kinds(config: Config) -> tuple[str, ...]:
    """ "full", "window", "state" or "none" for each layer.

    Read from `layer_types`, the intervals of Qwen3-Next and Jamba, Nemotron-H's pattern, Gemma's
    pattern, or one window for all.
    Raises ModelConfigError for a layer type that is not known.
    """
    listed = config.get("layer_types") or config.get("layers_block_type")
    if listed:
        return tuple(_kind(name, window_tokens(config)) for name in listed)
    if isinstance(config.get("hybrid_override_pattern"), str):
        marks = {"*": "full", "M": "state"}
        return tuple(marks.get(mark, "none") for mark in config["hybrid_override_pattern"])
    return _by_period(config, range(num_layers(config)))


def _by_period(config: Config, layers: range) -> tuple[str, ...]:
    if interval := config.get("full_attention_interval"):
        return tuple("full" if (i + 1) % int(interval) == 0 else "state" for i in layers)
    if period := config.get("attn_layer_period"):
        offset = int(config.get("attn_layer_offset", 0))
        return tuple("full" if i % int(period) == offset else "state" for i in layers)
    if window_tokens(config) is None:
        return ("full",) * len(layers)
    if pattern := config.get("sliding_window_pattern"):
        return tuple("full" if (i + 1) % int(pattern) == 0 else "window" for i in layers)
    if config.get("model_type") in ("gemma2", "gpt_oss"):
        return tuple("window" if i % 2 == 0 else "full" for i in layers)
    first_windows = int(config.get("max_window_layers") or 0)  # Qwen2: the first layers are full
    if config.get("use_sliding_window"):
        return tuple("full" if i < first_windows else "window" for i in layers)
    return ("window",) * len(layers)


def _kind(name: object, window: int | None) -> str:
    if name in FULL_KINDS:
        return "full"
    if name in WINDOW_KINDS:
        return "window" if window else "full"
    if name in STATE_KINDS:
        return "state"
    raise ModelConfigError(
        f"The model config's layer type {name!r} is not known; known are "
        f"{', '.join(FULL_KINDS + WINDOW_KINDS + STATE_KINDS)}."
    )
