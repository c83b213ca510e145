"""One decode step of a Llama-shaped model with random weights and a paged KV cache.

Block 0 of the cache belongs to no request: rows that only pad a bucket point there, so that
they can neither read nor write a live request's blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.nn import functional

from core.errors import SettingError
from core.records import MeasureSpec, ModelShape
from gpu_worker.targets import ops

ROPE_BASE = 500_000.0
KV_SHARE_OF_FREE = 0.75
"""The cache takes at most this share of what is free after the weights; graphs need the rest."""


@dataclass(frozen=True)
class Layer:
    """Weights of one layer, each (out, in)."""

    norm_in: torch.Tensor
    qkv: torch.Tensor
    out: torch.Tensor
    norm_ffn: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


def build(spec: MeasureSpec, device: torch.device) -> LlamaStep:
    """Raises SettingError on a shape that cannot be built or does not fit the device."""
    return LlamaStep(spec, device)


def dtype_of(name: str) -> torch.dtype:
    """Raises SettingError unless it is a floating dtype that the step can run in."""
    known = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
    if name not in known:
        raise SettingError(f"dtype {name!r} is not supported; use one of {', '.join(known)}.")
    return known[name]


class LlamaStep:
    """Weights, cache and the step. Follows gpu_worker.targets.Target."""

    def __init__(self, spec: MeasureSpec, device: torch.device) -> None:
        self.shape = spec.model
        self.device = device
        self.dtype = dtype_of(spec.model.dtype)
        _check(spec.model)
        self._spec = spec
        self.ops = ops.choose(device, spec.model)
        self._generator = torch.Generator(device).manual_seed(spec.seed)
        self._blocks_a_request = -(-spec.context_tokens // spec.block_size_tokens)
        self._make_weights()
        self._make_cache()

    # What a batch is ------------------------------------------------------------------------

    def fields(self) -> Mapping[str, tuple[tuple[int, ...], torch.dtype]]:
        whole = torch.int32
        return {
            "tokens": ((), whole),
            "positions": ((), whole),
            "slots": ((), whole),
            "lengths": ((), whole),
            "tables": ((self._blocks_a_request,), whole),
        }

    def padding(self) -> Mapping[str, int]:
        """Token 0 at position 0, one live token, all in block 0, which no request owns."""
        return {"tokens": 0, "positions": 0, "slots": 0, "lengths": 1, "tables": 0}

    def capacity(self) -> int:
        return (self.num_blocks - 1) // self._blocks_a_request

    def batch(self, size: int, round: int) -> Mapping[str, torch.Tensor]:
        """Requests of the spec's context length, each on blocks of its own, in mixed order."""
        generator = torch.Generator().manual_seed(self._spec.seed * 1_000_003 + round)
        count = self._spec.context_tokens
        block = self._spec.block_size_tokens
        owned = torch.randperm(self.num_blocks - 1, generator=generator) + 1
        tables = owned[: size * self._blocks_a_request].view(size, -1)
        last = count - 1
        return {
            "tokens": torch.randint(self.shape.vocab_size, (size,), generator=generator),
            "positions": torch.full((size,), last),
            "slots": tables[:, last // block] * block + last % block,
            "lengths": torch.full((size,), count),
            "tables": tables,
        }

    # The step -------------------------------------------------------------------------------

    def step(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Returns logits (rows, vocabulary)."""
        do = self.ops
        x = functional.embedding(inputs["tokens"], self._embedding)
        residual = None
        for layer, (keys, values) in zip(self._layers, self._cache, strict=True):
            x, residual = do.add_norm(x, residual, layer.norm_in)
            qkv = do.linear(x, layer.qkv)
            query = do.rotate_and_store(
                qkv, inputs["positions"], self._cos_sin, inputs["slots"], keys, values
            )
            x = do.attend(query, keys, values, inputs["tables"], inputs["lengths"])
            x = do.linear(x, layer.out)
            x, residual = do.add_norm(x, residual, layer.norm_ffn)
            x = do.gated_activation(do.linear(x, layer.gate_up))
            x = do.linear(x, layer.down)
        x, _ = do.add_norm(x, residual, self._norm_out)
        return do.linear(x, self._head)

    def state(self) -> list[torch.Tensor]:
        """Keys and values of every layer, (blocks, slots, KV heads, head_dim) each."""
        return [tensor for pair in self._cache for tensor in pair]

    # Bytes ----------------------------------------------------------------------------------

    def weight_bytes(self) -> int:
        """Weights that every step reads; of the embedding table it reads a row a request."""
        tensors = [t for layer in self._layers for t in vars(layer).values()]
        return sum(t.nbytes for t in [*tensors, self._norm_out, self._head])

    def kv_bytes_per_token(self) -> int:
        shape = self.shape
        itemsize = self.dtype.itemsize
        return 2 * shape.num_layers * shape.num_kv_heads * shape.head_dim * itemsize

    def bytes_moved(self, size: int) -> int:
        kv = size * self._spec.context_tokens * self.kv_bytes_per_token()
        return self.weight_bytes() + kv

    # Building -------------------------------------------------------------------------------

    def _make_weights(self) -> None:
        shape = self.shape
        heads = (shape.num_heads + 2 * shape.num_kv_heads) * shape.head_dim
        wide = shape.num_heads * shape.head_dim
        self._embedding = self._weight(shape.vocab_size, shape.hidden_size)
        self._head = self._weight(shape.vocab_size, shape.hidden_size)
        self._norm_out = self._ones(shape.hidden_size)
        self._layers = [
            Layer(
                norm_in=self._ones(shape.hidden_size),
                qkv=self._weight(heads, shape.hidden_size),
                out=self._weight(shape.hidden_size, wide),
                norm_ffn=self._ones(shape.hidden_size),
                gate_up=self._weight(2 * shape.ffn_size, shape.hidden_size),
                down=self._weight(shape.hidden_size, shape.ffn_size),
            )
            for _ in range(shape.num_layers)
        ]
        self._cos_sin = rotary_table(self._spec.context_tokens, shape.head_dim).to(self.device)

    def _make_cache(self) -> None:
        shape, block = self.shape, self._spec.block_size_tokens
        wanted = max(self._spec.sizes) * self._blocks_a_request + 1
        block_bytes = block * self.kv_bytes_per_token()
        self.num_blocks = min(wanted, int(self._free_bytes() * KV_SHARE_OF_FREE) // block_bytes)
        if self.capacity() < 1:
            raise SettingError(
                f"The KV cache of one request of {self._spec.context_tokens} tokens does not fit "
                "beside the weights; take a shorter context or a smaller model."
            )
        size = (self.num_blocks, block, shape.num_kv_heads, shape.head_dim)
        self._cache = [(self._random(size), self._random(size)) for _ in range(shape.num_layers)]

    def _free_bytes(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.mem_get_info(self.device)[0]
        return 2 * 2**30  # CPU rows are for orientation: a bounded cache, not all of the memory

    def _random(self, size: tuple[int, ...]) -> torch.Tensor:
        out = torch.empty(size, dtype=self.dtype, device=self.device)
        return out.normal_(generator=self._generator)

    def _weight(self, rows: int, columns: int) -> torch.Tensor:
        # Scaled so that activations keep their size through the layers.
        return self._random((rows, columns)).mul_(columns**-0.5)

    def _ones(self, size: int) -> torch.Tensor:
        return torch.ones(size, dtype=self.dtype, device=self.device)


def rotary_table(positions: int, head_dim: int) -> torch.Tensor:
    """(positions, head_dim) float32: cosines, then sines, of each position's angles."""
    frequency = ROPE_BASE ** (-torch.arange(0, head_dim, 2).double() / head_dim)
    angle = torch.outer(torch.arange(positions).double(), frequency)
    return torch.cat([angle.cos(), angle.sin()], -1).float()


def _check(shape: ModelShape) -> None:
    if shape.num_heads % shape.num_kv_heads:
        raise SettingError(
            f"{shape.num_heads} heads cannot share {shape.num_kv_heads} KV heads evenly."
        )
    if shape.head_dim % 2:
        raise SettingError(f"head_dim is {shape.head_dim}; rotary embedding needs an even one.")
