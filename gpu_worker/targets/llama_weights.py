"""Random weights of a Llama-shaped decoder, or of one tensor-parallel shard of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from core.errors import SettingError
from core.records import ModelShape

ROPE_BASE = 500_000.0


@dataclass(frozen=True)
class Layer:
    """Weights of one layer, each (out, in); with experts gate_up and down are (experts, out, in).

    router : (experts, hidden), None in a dense layer
    """

    norm_in: torch.Tensor
    qkv: torch.Tensor
    out: torch.Tensor
    norm_ffn: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor
    router: torch.Tensor | None

    def tensors(self) -> Iterator[torch.Tensor]:
        """All weights there are."""
        return (t for t in vars(self).values() if t is not None)


@dataclass(frozen=True)
class Weights:
    """embedding, head : (vocabulary, hidden)."""

    embedding: torch.Tensor
    layers: list[Layer]
    norm_out: torch.Tensor
    head: torch.Tensor


def shard_of(shape: ModelShape) -> ModelShape:
    """What one of the tensor-parallel ranks holds: its heads, FFN columns and vocabulary.

    Fewer KV heads than ranks are repeated, one a rank. Raises SettingError where a length does
    not divide, or a shape makes no sense.
    """
    ranks = shape.tensor_parallel
    for what in ("num_heads", "ffn_size", "vocab_size"):
        if getattr(shape, what) % ranks:
            raise SettingError(f"{what} is {getattr(shape, what)}; {ranks} ranks cannot share it.")
    if shape.num_kv_heads % ranks and ranks % shape.num_kv_heads:
        raise SettingError(f"{shape.num_kv_heads} KV heads cannot be spread over {ranks} ranks.")
    if shape.num_heads % shape.num_kv_heads:
        raise SettingError(
            f"{shape.num_heads} heads cannot share {shape.num_kv_heads} KV heads evenly."
        )
    if shape.head_dim % 2:
        raise SettingError(f"head_dim is {shape.head_dim}; rotary embedding needs an even one.")
    if shape.experts_per_token > shape.num_experts:
        raise SettingError(
            f"experts_per_token is {shape.experts_per_token}, but there are {shape.num_experts}."
        )
    return replace(
        shape,
        num_heads=shape.num_heads // ranks,
        num_kv_heads=max(1, shape.num_kv_heads // ranks),
        ffn_size=shape.ffn_size // ranks,
        vocab_size=shape.vocab_size // ranks,
    )


def dtype_of(name: str) -> torch.dtype:
    """Raises SettingError unless it is a floating dtype that the step can run in."""
    known = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
    if name not in known:
        raise SettingError(f"dtype {name!r} is not supported; use one of {', '.join(known)}.")
    return known[name]


class Random:
    """Tensors from one generator, on the device."""

    def __init__(self, seed: int, dtype: torch.dtype, device: torch.device) -> None:
        self._generator = torch.Generator(device).manual_seed(seed)
        self._dtype = dtype
        self._device = device

    def normal(self, *size: int) -> torch.Tensor:
        """Standard normal values."""
        out = torch.empty(size, dtype=self._dtype, device=self._device)
        return out.normal_(generator=self._generator)

    def weight(self, *size: int) -> torch.Tensor:
        """Scaled by the width that is summed over, so that activations keep their size."""
        return self.normal(*size).mul_(size[-1] ** -0.5)

    def ones(self, size: int) -> torch.Tensor:
        """A norm's weight."""
        return torch.ones(size, dtype=self._dtype, device=self._device)


def make_weights(shape: ModelShape, random: Random) -> Weights:
    """Weights of a shard's shape."""
    embedding = random.weight(shape.vocab_size, shape.hidden_size)
    head = random.weight(shape.vocab_size, shape.hidden_size)
    layers = [_layer(shape, random) for _ in range(shape.num_layers)]
    return Weights(embedding, layers, random.ones(shape.hidden_size), head)


def _layer(shape: ModelShape, random: Random) -> Layer:
    hidden, ffn = shape.hidden_size, shape.ffn_size
    experts = (shape.num_experts,) if shape.num_experts > 1 else ()
    heads = shape.num_heads + 2 * shape.num_kv_heads
    return Layer(
        norm_in=random.ones(hidden),
        qkv=random.weight(heads * shape.head_dim, hidden),
        out=random.weight(hidden, shape.num_heads * shape.head_dim),
        norm_ffn=random.ones(hidden),
        gate_up=random.weight(*experts, 2 * ffn, hidden),
        down=random.weight(*experts, hidden, ffn),
        router=random.weight(shape.num_experts, hidden) if experts else None,
    )


def rotary_table(positions: int, head_dim: int) -> torch.Tensor:
    """(positions, head_dim) float32: cosines, then sines, of each position's angles."""
    frequency = ROPE_BASE ** (-torch.arange(0, head_dim, 2).double() / head_dim)
    angle = torch.outer(torch.arange(positions).double(), frequency)
    return torch.cat([angle.cos(), angle.sin()], -1).float()
