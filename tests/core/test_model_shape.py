"""config.json -> the shape that is captured, for dense and expert models."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import ModelConfigError
from core.model.shape import shape_of_config

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}


def test_dense() -> None:
    """head_dim is hidden size over heads; one expert, one rank."""
    read = shape_of_config(LLAMA, name="llama-8b")
    shape = read.shape
    assert (shape.name, shape.num_layers, shape.head_dim) == ("llama-8b", 32, 128)
    assert (shape.num_kv_heads, shape.ffn_size, shape.vocab_size) == (8, 14336, 128256)
    assert (shape.num_experts, shape.experts_per_token, shape.tensor_parallel) == (1, 1, 1)
    assert shape.dtype == "bfloat16" and read.notes == ()


def test_experts() -> None:
    """The FFN is one expert's; shared experts are said to be left out."""
    config = {
        **LLAMA,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 768,
        "n_shared_experts": 1,
    }
    read = shape_of_config(config)
    assert (read.shape.num_experts, read.shape.experts_per_token) == (128, 8)
    assert read.shape.ffn_size == 768 and read.shape.name == "llama"
    assert read.notes == ("Shared experts are left out.",)


def test_what_is_left_out_is_said() -> None:
    """Windows, quantisation and the exchange between ranks are no part of the measured step."""
    config = {**LLAMA, "sliding_window": 4096, "quantization_config": {"quant_method": "fp8"}}
    notes = " ".join(shape_of_config(config, tensor_parallel=4).notes)
    for word in ("bfloat16", "windows", "exchange between ranks"):
        assert word in notes


@pytest.mark.parametrize(
    ("change", "text"),
    [({"kv_lora_rank": 512}, "latent attention"), ({"vocab_size": None}, "no vocab_size")],
)
def test_configs_that_cannot_be_measured(change: dict[str, Any], text: str) -> None:
    """One sentence."""
    with pytest.raises(ModelConfigError, match=text):
        shape_of_config({**LLAMA, **change})
