"""A chunk of one prompt: sizes are tokens, the spec's context lies before the chunk.

A chunk shorter than its bucket ends in padding: rows at position 0 that see the first token, are
seen by none, and write into block 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.nn import functional

from core.records import MeasureSpec
from gpu_worker.recording import Carry, Views
from gpu_worker.targets.llama import LlamaStep


def build(spec: MeasureSpec, device: torch.device) -> LlamaPrefill:
    """Raises SettingError on a shape that cannot be built or does not fit the device."""
    return LlamaPrefill(spec, device)


class LlamaPrefill(LlamaStep):
    """The decoder's step over the tokens of one chunk. Follows gpu_worker.targets.Target."""

    def __init__(self, spec: MeasureSpec, device: torch.device) -> None:
        super().__init__(spec, device)
        generator = torch.Generator().manual_seed(spec.seed)
        # The one request's blocks, in mixed order; fixed, so that they are no input of the step.
        self._table = (torch.randperm(self.num_blocks - 1, generator=generator) + 1).to(device)

    def positions(self) -> int:
        return self.spec.context_tokens + max(self.spec.sizes)

    def requests(self) -> int:
        return 1

    def fields(self) -> Mapping[str, tuple[tuple[int, ...], torch.dtype]]:
        return {name: ((), torch.int32) for name in ("tokens", "positions", "slots")}

    def padding(self) -> Mapping[str, int]:
        """Token 0, stored in block 0, which no request owns."""
        return {"tokens": 0, "positions": 0, "slots": 0}

    def capacity(self) -> int:
        return max(self.spec.sizes)

    def batch(self, size: int, round: int) -> Mapping[str, torch.Tensor]:
        """The next `size` tokens of the prompt."""
        generator = torch.Generator().manual_seed(self.spec.seed * 1_000_003 + round)
        block = self.spec.block_size_tokens
        position = torch.arange(self.spec.context_tokens, self.spec.context_tokens + size)
        return {
            "tokens": torch.randint(self.shape.vocab_size, (size,), generator=generator),
            "positions": position,
            "slots": self._table.cpu()[position // block] * block + position % block,
        }

    def bytes_moved(self, size: int) -> int:
        kv = (self.spec.context_tokens + size) * self.kv_bytes_per_token()
        return self.weight_bytes(size) + kv

    def _attend(self, index: int, inputs: Views, carry: Carry) -> Carry:
        query, residual = carry
        keys, values = self.cache[index]
        tokens = self.spec.context_tokens + len(query)
        blocks = self._table[: -(-tokens // self.spec.block_size_tokens)]
        group = query.shape[1] // keys.shape[2]

        def heads_first(cache: torch.Tensor) -> torch.Tensor:
            # Repeated for the query heads of a group: fused kernels with a mask want equal heads.
            chosen = cache[blocks].flatten(0, 1)[:tokens]
            return chosen.repeat_interleave(group, 1).transpose(0, 1).unsqueeze(0)

        out = functional.scaled_dot_product_attention(
            query.transpose(0, 1).unsqueeze(0),
            heads_first(keys),
            heads_first(values),
            attn_mask=torch.arange(tokens, device=query.device) <= inputs["positions"].unsqueeze(1),
        )
        return out[0].transpose(0, 1).reshape(len(query), -1), residual
