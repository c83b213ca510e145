"""The engine that is simulated: its KV cache, its limits, how it mixes prefill and decode."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from core.errors import SettingError

Mode = Literal["chunked", "separate"]
MODES: tuple[Mode, ...] = ("chunked", "separate")
EMIT_DENOMINATOR = 1 << 20
"""Tokens a step emits, in parts: the expectation is kept to within a millionth of a token."""


@dataclass(frozen=True)
class Machine:
    """Limits of the engine, by vLLM's names.

    kv_tokens : KV cache; whole blocks of it are used [tokens]
    mode : "chunked", decodes first and prompts in what is left of a step (vLLM), or "separate",
        a step is prefill, which goes first, or decode (SGLang's default)
    whole_prompt_must_fit : admit a request only if blocks for its whole prompt are free, as vLLM
        does (scheduler_reserve_full_isl); False asks for its first chunk alone
    prefix_cache : prompt tokens that the trace says are shared are not computed again; False
        ignores what the trace says
    draft_tokens : speculated tokens a decode step verifies; 0 is no speculation
    acceptance : chance that a draft is accepted, given that those before it were (0 to 1)
    Raises SettingError.
    """

    kv_tokens: int
    block_size_tokens: int = 16
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    mode: Mode = "chunked"
    whole_prompt_must_fit: bool = True
    prefix_cache: bool = True
    draft_tokens: int = 0
    acceptance: float = 0.0

    def __post_init__(self) -> None:
        for name in ("kv_tokens", "block_size_tokens", "max_num_seqs", "max_num_batched_tokens"):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value or not 1 <= value < 2**40:
                raise SettingError(f"{name} is {value}; it must be a whole number of 1 or more.")
            object.__setattr__(self, name, int(value))
        if self.mode not in MODES:
            raise SettingError(f"mode is {self.mode!r}; use one of {', '.join(MODES)}.")
        if self.draft_tokens < 0 or int(self.draft_tokens) != self.draft_tokens:
            raise SettingError(f"draft_tokens is {self.draft_tokens}; it must be 0 or more.")
        if not 0.0 <= self.acceptance <= 1.0:
            raise SettingError(f"acceptance is {self.acceptance}; it must be between 0 and 1.")
        if self.kv_tokens < self.block_size_tokens:
            raise SettingError(
                f"The KV cache of {self.kv_tokens} tokens is smaller than one block of "
                f"{self.block_size_tokens}; raise kv_tokens or make blocks smaller."
            )
        if self.max_num_batched_tokens < self.max_num_seqs * self.tokens_per_decode:
            raise SettingError(
                f"max_num_batched_tokens is {self.max_num_batched_tokens}, but {self.max_num_seqs} "
                f"requests decoding {self.tokens_per_decode} tokens each need "
                f"{self.max_num_seqs * self.tokens_per_decode}; raise it or lower max_num_seqs."
            )

    @property
    def blocks(self) -> int:
        """Whole KV blocks."""
        return self.kv_tokens // self.block_size_tokens

    @property
    def tokens_per_decode(self) -> int:
        """Tokens a decoding request puts into a step: one, and its drafts."""
        return 1 + int(self.draft_tokens)

    @property
    def tokens_emitted(self) -> float:
        """Expected tokens a decode step gives each request: 1 + a + a^2 + ... + a^drafts."""
        return sum(self.acceptance**i for i in range(self.tokens_per_decode))

    @property
    def emit_fraction(self) -> tuple[int, int]:
        """tokens_emitted as a fraction; requests emit floor(steps x fraction) tokens.

        Every request accepts alike, at the expected rate: the mean is right, the spread between
        requests is not modelled.
        """
        exact = Fraction(self.acceptance).limit_denominator(10**9)
        tokens = sum((exact**i for i in range(self.tokens_per_decode)), Fraction(0))
        return round(tokens * EMIT_DENOMINATOR), EMIT_DENOMINATOR

    def blocks_needed(self, tokens: int) -> int:
        """KV blocks that hold `tokens` tokens."""
        return -(-tokens // self.block_size_tokens)
