"""Prompt tokens that a prefix cache without limits would already hold."""

from __future__ import annotations

from typing import Any


class PrefixCache:
    """Remembers block ids in the order of the file; `usable` is False when they do not fit.

    block_tokens : prompt tokens a block stands for
    """

    def __init__(self, block_tokens: int) -> None:
        self.block_tokens = block_tokens
        self._seen: set[Any] = set()
        self._blocks = self._hits = self._rows = self._fitting = 0

    def hit(self, prompt_tokens: Any, hash_ids: Any) -> int:
        """Tokens of the leading blocks that were seen before; the blocks are then remembered."""
        if not isinstance(hash_ids, list) or not hash_ids:
            return 0
        self._rows += 1
        ids = [value for value in hash_ids if isinstance(value, (int, str))]
        leading = 0
        for value in ids:
            if value not in self._seen:
                break
            leading += 1
        self._seen.update(ids[leading:])
        self._blocks += len(ids)
        self._hits += leading
        if not isinstance(prompt_tokens, int):
            return 0
        self._fitting += len(ids) == -(-prompt_tokens // self.block_tokens)
        return min(leading * self.block_tokens, max(prompt_tokens, 0))

    @property
    def usable(self) -> bool:
        """Whether ids were there and stand for blocks of the expected size."""
        return self._rows > 0 and self._fitting >= 0.99 * self._rows

    @property
    def facts(self) -> dict[str, Any]:
        if not self._rows:
            return {}
        return {
            "block_tokens": self.block_tokens,
            "prefix_blocks": self._blocks,
            "prefix_block_hits": self._hits,
            "prefix_hit_ratio": round(self._hits / self._blocks, 6) if self._blocks else 0.0,
        }

    @property
    def warnings(self) -> list[str]:
        if not self._rows:
            return []
        if not self.usable:
            return [
                f"The number of hash ids does not fit blocks of {self.block_tokens} tokens, so "
                "what a prefix cache would save was left out."
            ]
        if not self._hits:
            return []
        return [
            f"{self._hits / self._blocks:.1%} of the prompt blocks repeat an earlier prefix: with "
            "prefix caching that much less is computed in prefill."
        ]
