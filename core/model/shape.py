"""A model's config.json as the shape that a worker captures."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import ModelConfigError
from core.model import config as mc
from core.records import ModelShape

RUNNABLE = ("bfloat16", "float16", "float32")


@dataclass(frozen=True)
class ShapeReading:
    """The shape, and sentences on what of the model the captured step does not do."""

    shape: ModelShape
    notes: tuple[str, ...]


def shape_of_config(config: mc.Config, *, name: str = "", tensor_parallel: int = 1) -> ShapeReading:
    """The decoder of a Hugging Face config.

    Raises ModelConfigError for a config without the lengths that are needed, or an attention that
    the step does not have.
    """
    text = mc.text_config(config)
    if mc.is_mla(text):
        raise ModelConfigError(
            "The model config has latent attention (kv_lora_rank), which the captured step does "
            "not have; measure the engine itself, or a model with keys and values."
        )
    experts = mc.whole(text, "num_local_experts", "num_experts", "n_routed_experts", default=1)
    ffn = mc.whole(
        text, "intermediate_size", "ffn_dim", "n_inner", default=4 * mc.hidden_size(text)
    )
    shape = ModelShape(
        name=name or str(text.get("_name_or_path") or text.get("model_type") or "model"),
        num_layers=mc.num_layers(text),
        hidden_size=mc.hidden_size(text),
        num_heads=mc.num_heads(text),
        num_kv_heads=mc.num_kv_heads(text),
        head_dim=mc.head_dim(text),
        ffn_size=mc.whole(text, "moe_intermediate_size", default=ffn) if experts > 1 else ffn,
        vocab_size=mc.whole(text, "vocab_size"),
        dtype=_dtype(text),
        num_experts=experts,
        experts_per_token=mc.whole(text, "num_experts_per_tok", "top_k", default=1)
        if experts > 1
        else 1,
        tensor_parallel=tensor_parallel,
    )
    return ShapeReading(shape, _notes(text, shape))


def _dtype(config: mc.Config) -> str:
    name = mc.model_dtype(config).removeprefix("torch.")
    return name if name in RUNNABLE else "bfloat16"


def _notes(config: mc.Config, shape: ModelShape) -> tuple[str, ...]:
    notes = []
    if mc.model_dtype(config).removeprefix("torch.") not in RUNNABLE or config.get(
        "quantization_config"
    ):
        notes.append(f"Weights are measured in {shape.dtype}; the model's are quantised.")
    if mc.window_tokens(config) is not None:
        notes.append("Every layer reads the whole context; the model's windows are left out.")
    if any(kind in mc.STATE_KINDS for kind in config.get("layer_types") or ()):
        notes.append("Layers without a KV cache are measured as attention layers.")
    if config.get("n_shared_experts") or config.get("shared_expert_intermediate_size"):
        notes.append("Shared experts are left out.")
    if shape.tensor_parallel > 1:
        notes.append("One shard is measured, without the exchange between ranks.")
    return tuple(notes)
