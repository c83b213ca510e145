"""What engines capture by default under the limits of this session."""

from __future__ import annotations

from app import compute
from app.serving.inputs import serving_limits
from core.engines import ENGINES
from core.records import SizeUnit


def engine_default(name: str, unit: SizeUnit) -> compute.EngineDefault:
    """What an engine captures under the limits of this session, for decode or prefill graphs."""
    return compute.engine_default(name, None, shared_settings(name), unit)


def shared_settings(engine: str) -> dict[str, int]:
    """The limits of this session under the names that the engine has for them."""
    known = {setting.name for setting in ENGINES[engine].settings}
    limits = serving_limits()
    names = {
        "max_num_seqs": limits.max_num_seqs,
        "max_running_requests": limits.max_num_seqs,
        "max_batch_size": limits.max_num_seqs,
        "max_num_batched_tokens": limits.max_num_batched_tokens,
        "max_num_tokens": limits.max_num_batched_tokens,
    }
    if limits.draft_tokens:
        names |= dict.fromkeys(("num_speculative_tokens", "num_draft_tokens"), limits.draft_tokens)
    return {name: value for name, value in names.items() if name in known}
