"""Weights and KV cache from config.json: published sizes of known models, and by hand."""

from __future__ import annotations

import json

import pytest

from core.errors import ModelConfigError, SettingError
from core.memory import request_kv_bytes
from core.model.memory import kv_bytes_per_token, model_memory
from tests.conftest import DATA
from tests.core.cases import case

CONFIGS = json.loads((DATA / "model_configs" / "configs.json").read_text("utf-8"))
GIB = 2**30


@pytest.mark.parametrize("name", CONFIGS)
def test_parameters_of_known_models(name):
    """The count lies within 1 % of the size that the model's card gives."""
    entry = CONFIGS[name]
    assert model_memory(entry["config"]).num_params == pytest.approx(entry["params"], rel=0.01)


@pytest.mark.parametrize("name", [n for n in CONFIGS if "kv_bytes_per_token" in CONFIGS[n]])
def test_kv_bytes_of_known_models(name):
    """Bytes of one token by the published shape (worked out beside each in the data README)."""
    entry = CONFIGS[name]
    assert model_memory(entry["config"]).kv_bytes_per_token == entry["kv_bytes_per_token"]


def test_kv_bytes_per_token():
    """2 x layers x KV heads x head dim x bytes; 2 GiB of graphs cost 16,384 tokens."""
    given_, expect = case("D-KV-02")
    per_token = kv_bytes_per_token(
        given_["layers"], given_["kv_heads"], given_["head_dim"], given_["bytes"], given_["tp"]
    )
    assert per_token == expect["bytes_per_token"]
    assert given_["graphs_GiB"] * GIB / per_token == expect["tokens_lost"]
    assert model_memory(CONFIGS["llama-3.1-8b"]["config"]).kv_bytes_per_token == per_token


def test_tensor_parallel_shares_heads_out_until_each_card_has_one():
    """8 KV heads: half a token's bytes on 2 cards, an eighth on 8, and no less on 16."""
    config = CONFIGS["llama-3.1-8b"]["config"]
    sizes = [model_memory(config, tp=tp).kv_bytes_per_token for tp in (1, 2, 8, 16)]
    assert sizes == [131072, 65536, 16384, 16384]
    with pytest.raises(SettingError, match="8 KV heads"):
        model_memory(config, tp=3)


def test_latent_attention_is_the_same_on_every_card():
    """MLA keeps one latent vector a token; tensor parallel does not make it smaller."""
    config = CONFIGS["deepseek-v3"]["config"]
    one, eight = model_memory(config), model_memory(config, tp=8)
    # 61 layers x (512 + 64) x 2 bytes, whatever the cards
    assert one.kv_bytes_per_token == eight.kv_bytes_per_token == 61 * 576 * 2
    assert eight.weight_bytes == one.weight_bytes / 8


def test_a_window_stops_growing():
    """Gemma 2: half of the layers keep the last 4096 tokens only."""
    model = model_memory(CONFIGS["gemma-2-9b"]["config"])
    kinds = {layers.kind: layers.num_layers for layers in model.kv_layers}
    assert kinds == {"full": 21, "sliding window": 21}
    layer = 2 * 8 * 256 * 2  # keys and values, 8 heads, 256 wide, 2 bytes
    assert model.kv_bytes_at(1000) == 42 * layer * 1000
    assert model.kv_bytes_at(10_000) == 21 * layer * (10_000 + 4096)


def test_requests_at_their_own_lengths():
    """Whole blocks of 16 tokens, windows counted: 1 token takes a block, 10,000 stop in half."""
    model = model_memory(CONFIGS["gemma-2-9b"]["config"])
    layer = 2 * 8 * 256 * 2
    found = request_kv_bytes(model, [1, 10_000])
    assert found.tolist() == [42 * layer * 16, 21 * layer * (10_000 + 4096)]
    assert request_kv_bytes(model, [10_000], 1)[0] == model.kv_bytes_at(10_000)


def test_hybrid_layers_keep_a_state_instead():
    """Qwen3-Next: every fourth of 48 layers keeps keys and values, the others a fixed state."""
    model = model_memory(CONFIGS["qwen3-next-80b-a3b"]["config"])
    assert (model.kv_layers[0].num_layers, model.num_state_layers) == (12, 36)
    # 32 value heads x 128 x 128 float32 in each of 36 layers
    assert model.state_bytes == 36 * 32 * 128 * 128 * 4
    assert model.kv_bytes_at(0) == model.state_bytes


def test_kv_type_and_quantised_weights():
    """An fp8 cache halves bf16's bytes; 4-bit weights take half a byte each; both are noted."""
    config = CONFIGS["llama-3.1-8b"]["config"]
    assert model_memory(config, kv_dtype="fp8").kv_bytes_per_token == 65536
    quantised = {**config, "quantization_config": {"quant_method": "awq", "bits": 4}}
    model = model_memory(quantised)
    assert model.weight_bytes == model.num_params / 2
    assert model.notes == ("weights in 4 bits (awq)", "KV cache in bfloat16")


def test_layer_types_are_read_one_by_one():
    """`layer_types` decides where a config lists them; an unknown kind is refused by name."""
    config = {
        **CONFIGS["llama-3.1-8b"]["config"],
        "layer_types": ["full_attention", "sliding_attention"] * 16,
        "sliding_window": 512,
    }
    assert [group.num_layers for group in model_memory(config).kv_layers] == [16, 16]
    with pytest.raises(ModelConfigError, match="'quantum_attention'"):
        model_memory({**config, "layer_types": ["quantum_attention"] * 32})


def test_a_multimodal_config_is_read_by_its_text_part():
    """The language model sits under text_config; the rest does not change the KV cache."""
    inner = CONFIGS["llama-3.1-8b"]["config"]
    outer = {"model_type": "llava", "vision_config": {"hidden_size": 1}, "text_config": inner}
    assert model_memory(outer).kv_bytes_per_token == 131072


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vocab_size": None}, "vocab_size"),
        ({"num_hidden_layers": -3}, "num_hidden_layers is -3"),
        ({"torch_dtype": "float7"}, "float7"),
        ({"hidden_size": "big"}, "hidden_size is 'big'"),
    ],
)
def test_what_is_missing_or_wrong_is_named(change, words):
    """The sentence names the field and its value."""
    with pytest.raises(ModelConfigError, match=words):
        model_memory({**CONFIGS["llama-3.1-8b"]["config"], **change})


def test_a_config_that_is_no_object():
    """A list is no config."""
    with pytest.raises(ModelConfigError, match="no JSON object"):
        model_memory([1, 2])  # pyright: ignore
