"""One decode step of a Llama-shaped model with random weights and a paged KV cache.

Block 0 of the cache belongs to no request: rows that only pad a bucket point there, so that
they can neither read nor write a live request's blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch.nn import functional

from core.errors import SettingError
from core.model.step_bounds import CPU_CACHE_BYTES, KV_SHARE_OF_FREE, Device, check_weights
from core.records import MeasureSpec
from gpu_worker import device as device_facts
from gpu_worker.recording import START, Carry, Piece, Views
from gpu_worker.targets import ops
from gpu_worker.targets.llama_weights import (
    Layer,
    Random,
    dtype_of,
    make_weights,
    rotary_table,
    shard_of,
)


def build(spec: MeasureSpec, device: torch.device) -> LlamaStep:
    """Raises SettingError on a shape that cannot be built or does not fit the device."""
    return LlamaStep(spec, device)


class LlamaStep:
    """Weights, cache and the step. Follows gpu_worker.targets.Target."""

    def __init__(self, spec: MeasureSpec, device: torch.device) -> None:
        self.shape = shard_of(spec.model)
        self.device = device
        self.spec = spec
        self.dtype = dtype_of(spec.model.dtype)
        self.ops = ops.choose(device, self.shape)
        # Before anything is allocated: a host that runs out of memory kills more than this process.
        free = device_facts.free_bytes(device)
        if free is not None:
            check_weights(spec.model, Device("the device now", free))
        random = Random(spec.seed, self.dtype, device)
        self.weights = make_weights(self.shape, random)
        self.cos_sin = rotary_table(self.positions(), self.shape.head_dim).to(device)
        self._make_cache(random)

    # What a batch is ------------------------------------------------------------------------

    def positions(self) -> int:
        """Tokens that a request can have."""
        return self.spec.context_tokens

    def requests(self) -> int:
        """Requests that the largest batch has."""
        return max(self.spec.sizes)

    @property
    def blocks_a_request(self) -> int:
        return -(-self.positions() // self.spec.block_size_tokens)

    def fields(self) -> Mapping[str, tuple[tuple[int, ...], torch.dtype]]:
        whole = torch.int32
        return {
            "tokens": ((), whole),
            "positions": ((), whole),
            "slots": ((), whole),
            "lengths": ((), whole),
            "tables": ((self.blocks_a_request,), whole),
        }

    def padding(self) -> Mapping[str, int]:
        """Token 0 at position 0, one live token, all in block 0, which no request owns."""
        return {"tokens": 0, "positions": 0, "slots": 0, "lengths": 1, "tables": 0}

    def capacity(self) -> int:
        return (self.num_blocks - 1) // self.blocks_a_request

    def batch(self, size: int, round: int) -> Mapping[str, torch.Tensor]:
        """Requests of the spec's context length, each on blocks of its own, in mixed order."""
        generator = torch.Generator().manual_seed(self.spec.seed * 1_000_003 + round)
        count = self.spec.context_tokens
        block = self.spec.block_size_tokens
        owned = torch.randperm(self.num_blocks - 1, generator=generator) + 1
        tables = owned[: size * self.blocks_a_request].view(size, -1)
        last = count - 1
        return {
            "tokens": torch.randint(self.shape.vocab_size, (size,), generator=generator),
            "positions": torch.full((size,), last),
            "slots": tables[:, last // block] * block + last % block,
            "lengths": torch.full((size,), count),
            "tables": tables,
        }

    # The step -------------------------------------------------------------------------------

    def step(self, inputs: Views) -> torch.Tensor:
        """Returns logits (rows, vocabulary)."""
        carry = START
        for piece in self.pieces():
            carry = piece.run(inputs, carry)
        return carry[0]

    def pieces(self) -> list[Piece]:
        """The step cut before and after each attention, as engines cut it."""
        pieces = [Piece(self._enter, captured=True)]
        last = self.shape.num_layers - 1
        for index in range(self.shape.num_layers):
            pieces.append(Piece(partial(self._attend, index), captured=False))
            after = self._leave if index == last else partial(self._between, index)
            pieces.append(Piece(after, captured=True))
        return pieces

    def _enter(self, inputs: Views, carry: Carry) -> Carry:
        x = functional.embedding(inputs["tokens"], self.weights.embedding)
        return self._to_query(0, x, None, inputs)

    def _between(self, index: int, inputs: Views, carry: Carry) -> Carry:
        x, residual = self._from_attended(index, *carry)
        return self._to_query(index + 1, x, residual, inputs)

    def _leave(self, inputs: Views, carry: Carry) -> Carry:
        x, residual = self._from_attended(self.shape.num_layers - 1, *carry)
        x, _ = self.ops.add_norm(x, residual, self.weights.norm_out)
        return (self.ops.linear(x, self.weights.head),)

    def _attend(self, index: int, inputs: Views, carry: Carry) -> Carry:
        query, residual = carry
        keys, values = self.cache[index]
        out = self.ops.attend(query, keys, values, inputs["tables"], inputs["lengths"])
        return out, residual

    def _to_query(
        self, index: int, x: torch.Tensor, residual: torch.Tensor | None, inputs: Views
    ) -> Carry:
        layer, (keys, values) = self.weights.layers[index], self.cache[index]
        x, residual = self.ops.add_norm(x, residual, layer.norm_in)
        qkv = self.ops.linear(x, layer.qkv)
        query = self.ops.rotate_and_store(
            qkv, inputs["positions"], self.cos_sin, inputs["slots"], keys, values
        )
        return query, residual

    def _from_attended(self, index: int, attended: torch.Tensor, residual: torch.Tensor) -> Carry:
        layer = self.weights.layers[index]
        x = self.ops.linear(attended, layer.out)
        x, residual = self.ops.add_norm(x, residual, layer.norm_ffn)
        return self._ffn(layer, x), residual

    def _ffn(self, layer: Layer, x: torch.Tensor) -> torch.Tensor:
        if layer.router is not None:
            chosen = self.shape.experts_per_token
            return self.ops.experts(x, layer.router, layer.gate_up, layer.down, chosen)
        x = self.ops.gated_activation(self.ops.linear(x, layer.gate_up))
        return self.ops.linear(x, layer.down)

    def state(self) -> list[torch.Tensor]:
        """Keys and values of every layer, (blocks, slots, KV heads, head_dim) each."""
        return [tensor for pair in self.cache for tensor in pair]

    # Bytes ----------------------------------------------------------------------------------

    def weight_bytes(self, rows: int = 1) -> int:
        """Weights that a step of so many rows reads; of the embedding it reads a row a request.

        With experts: the share of them that random routing is expected to reach.
        """
        experts, chosen = self.shape.num_experts, self.shape.experts_per_token
        reached = 1.0 - (1.0 - chosen / experts) ** rows if experts > 1 else 1.0
        total = self.weights.norm_out.nbytes + self.weights.head.nbytes
        for layer in self.weights.layers:
            expert_bytes = layer.gate_up.nbytes + layer.down.nbytes
            total += sum(t.nbytes for t in layer.tensors()) - round(expert_bytes * (1 - reached))
        return total

    def kv_bytes_per_token(self) -> int:
        shape = self.shape
        itemsize = self.dtype.itemsize
        return 2 * shape.num_layers * shape.num_kv_heads * shape.head_dim * itemsize

    def bytes_moved(self, size: int) -> int:
        kv = size * self.spec.context_tokens * self.kv_bytes_per_token()
        return self.weight_bytes(size) + kv

    def _make_cache(self, random: Random) -> None:
        shape, block = self.shape, self.spec.block_size_tokens
        wanted = self.requests() * self.blocks_a_request + 1
        block_bytes = block * self.kv_bytes_per_token()
        self.num_blocks = min(wanted, int(self._free_bytes() * KV_SHARE_OF_FREE) // block_bytes)
        if (self.num_blocks - 1) // self.blocks_a_request < 1:
            raise SettingError(
                f"The KV cache of one request of {self.positions()} tokens does not fit beside "
                "the weights; take a shorter context or a smaller model."
            )
        size = (self.num_blocks, block, shape.num_kv_heads, shape.head_dim)
        self.cache = [(random.normal(*size), random.normal(*size)) for _ in range(shape.num_layers)]

    def _free_bytes(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.mem_get_info(self.device)[0]
        return CPU_CACHE_BYTES
