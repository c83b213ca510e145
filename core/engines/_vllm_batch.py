"""vLLM's scheduler limits, release by release: given, or defaulted from the card's memory.

Source: engine/arg_utils.py and config of the published wheels 0.8.5 to 0.33.0, restated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.engines.versions import Release
from core.errors import SettingError


@dataclass(frozen=True)
class Batch:
    """Scheduler limits after the engine's own defaults.

    q : tokens of one request in a decode step, 1 + draft tokens
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    q: int
    notes: tuple[str, ...] = ()

    @property
    def widest(self) -> int:
        """Tokens of a decode step of all requests."""
        return self.max_num_seqs * self.q


def batch_limits(release: Release, values: dict[str, Any]) -> Batch:
    """max_num_seqs and max_num_batched_tokens, defaulted from the card's memory.

    Raises SettingError where the scheduler refuses them.
    """
    seqs, server_tokens, offline_tokens = _memory_tier(release, values)
    tokens = offline_tokens if values["offline"] else server_tokens
    if values["performance_mode"] == "throughput" and release >= "0.17":
        seqs, tokens = 2 * seqs, 2 * tokens
    defaults = {"max_num_seqs": seqs, "max_num_batched_tokens": tokens}
    notes = [
        f"{name} not given: {default}, what {release} takes on a card of "
        f"{values['gpu_memory_gib']:g} GiB; give it if your engine runs with another."
        for name, default in defaults.items()
        if values[name] is None
    ]
    tokens = values["max_num_batched_tokens"] or tokens
    given = values["max_num_seqs"]
    if given is None and seqs > tokens and release >= "0.10.2":
        notes.append(f"max_num_seqs {seqs} is lowered to max_num_batched_tokens {tokens}.")
        seqs = tokens
    batch = Batch(given or seqs, tokens, 1 + values["num_speculative_tokens"], tuple(notes))
    _check_limits(release, values, batch)
    return batch


def _check_limits(release: Release, values: dict[str, Any], batch: Batch) -> None:
    if values["specialize_active_lora"] and release < "0.16":
        raise SettingError(
            f"vLLM {release} has no specialize_active_lora; leave it out or use 0.16 or later."
        )
    seqs, tokens, widest = batch.max_num_seqs, batch.max_num_batched_tokens, batch.widest
    if seqs > tokens:
        raise SettingError(
            f"max_num_batched_tokens {tokens} is below max_num_seqs {seqs}, so vLLM {release} does "
            f"not start; use --max-num-batched-tokens {seqs} or --max-num-seqs {tokens}."
        )
    if values["enable_lora"] and batch.q > 1 and widest > tokens and release >= "0.11.1":
        raise SettingError(
            f"With LoRA and {batch.q} tokens a request, max_num_batched_tokens {tokens} is below "
            f"max_num_seqs x {batch.q} = {widest}, so vLLM {release} does not start; use "
            f"--max-num-batched-tokens {widest}."
        )


def _memory_tier(release: Release, values: dict[str, Any]) -> tuple[int, int, int]:
    """Default (max_num_seqs, max_num_batched_tokens of the server, of the offline class)."""
    gib, name = values["gpu_memory_gib"], values["gpu_name"].upper()
    if gib >= 160 and release >= "0.28":
        return 1024, 16384, 16384
    if gib >= 70 and "A100" not in name and "GB10" not in name:
        return 1024, 8192, 16384
    return 256, 2048, 8192
