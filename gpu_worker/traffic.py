"""Small decode traffic that meets every hazard: requests grow, end, and leave their blocks to
others; the batch shrinks and grows within and across buckets; tables hold garbage past the end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch


@dataclass
class Request:
    """One request: its blocks in order and its tokens so far."""

    blocks: list[int]
    length: int
    end: int


def live_counts(capture_sizes: Sequence[int], rounds: int) -> Iterator[int]:
    """Requests a step: for each bucket full, one, one less than full; neighbours alternate."""
    sizes = sorted(capture_sizes)
    for _ in range(rounds):
        for below, size in zip([1, *sizes], sizes, strict=False):
            yield from (size, 1, max(1, size - 1), below, size)


class Traffic:
    """Batches of a paged decode step (gpu_worker.targets.llama), one a step."""

    def __init__(
        self,
        context_tokens: int,
        block_tokens: int,
        num_blocks: int,
        vocab_size: int,
        seed: int,
    ) -> None:
        """num_blocks counts block 0, which no request gets."""
        self._context = context_tokens
        self._block = block_tokens
        self._width = -(-context_tokens // block_tokens)
        self._num_blocks = num_blocks
        self._free = list(range(1, num_blocks))
        self._vocab = vocab_size
        self._random = random.Random(seed)
        self._random.shuffle(self._free)
        self._live: list[Request] = []

    def batches(self, counts: Sequence[int]) -> list[dict[str, torch.Tensor]]:
        """One batch a step, with that many live requests."""
        return [self._step(count) for count in counts]

    def _step(self, count: int) -> dict[str, torch.Tensor]:
        self._live = [r for r in self._live if not self._ended(r)]
        while len(self._live) > count:
            # Any request may end, so that rows move and slots change owners.
            self._release(self._live.pop(self._random.randrange(len(self._live))))
        while len(self._live) < count:
            self._live.append(self._admit())
        rows = [self._advance(request) for request in self._live]
        return {name: torch.tensor([row[name] for row in rows]) for name in rows[0]}

    def _admit(self) -> Request:
        """A request in the middle of its life: its first tokens are what the blocks hold."""
        start = self._random.randrange(self._context)
        return Request([], start, self._random.randrange(start, self._context) + 1)

    def _ended(self, request: Request) -> bool:
        ended = request.length >= request.end
        if ended:
            self._release(request)
        return ended

    def _release(self, request: Request) -> None:
        self._free.extend(request.blocks)
        request.blocks = []

    def _advance(self, request: Request) -> dict[str, int | list[int]]:
        position = request.length
        request.length += 1
        while len(request.blocks) * self._block < request.length:
            # The block that was freed last, so that owners change as soon as they can.
            request.blocks.append(self._free.pop())
        garbage = [self._random.randrange(self._num_blocks) for _ in range(self._width)]
        slot = request.blocks[position // self._block] * self._block + position % self._block
        return {
            "tokens": self._random.randrange(self._vocab),
            "positions": position,
            "slots": slot,
            "lengths": request.length,
            "tables": (request.blocks + garbage)[: self._width],
        }
