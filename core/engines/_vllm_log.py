"""What a start-up log of vLLM states, as settings of the engine."""

from __future__ import annotations

from typing import Any

from core.engines._vllm_options import mode_name
from core.engines._vllm_sizes import rounded
from core.logs.record import EngineLog

LEAST_DEFAULT = 256
"""The lowest max_num_seqs that a release chooses by itself."""


def vllm_log_settings(
    log: EngineLog, settings: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """With the graph mode as resolved, and limits that follow from counts of graphs."""
    settings = dict(settings)
    if "runner" in settings:
        settings["runner"] = str(settings["runner"]).lower()
    if log.mode is not None:
        settings["cudagraph_mode"] = mode_name(log.mode.value)
    if log.off is not None:
        return settings, ()
    if log.captured is not None:
        return _with_batch_limit(log, settings)
    return _from_counts(log, settings)


def _with_batch_limit(
    log: EngineLog, settings: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """max_num_seqs from the number of full decode graphs, where the log does not state it.

    Full decode graphs exist up to max_num_seqs requests, so their count brackets it; where every
    size has one, or the list was cut for another reason, it only tells the least.
    """
    full = log.plain_graphs.get("full")
    if "max_num_seqs" in settings or not full or not log.sizes:
        return settings, ()
    q = 1 + settings.get("num_speculative_tokens", 0)
    usable = [n for n in rounded(log.sizes, q) if n >= q]
    if full > len(usable):
        return settings, ()
    least = usable[full - 1] // q
    if full < len(usable):
        note = (
            f"max_num_seqs is not in the log; {full} full graphs mean {least} or more and below "
            f"{-(-usable[full] // q)}; {least} is assumed."
        )
        return {**settings, "max_num_seqs": least}, (note,)
    means = (
        f"max_num_seqs is not in the log; all {full} sizes have a full graph, which only means "
        f"{least} or more"
    )
    if least <= LEAST_DEFAULT:
        return settings, (f"{means}; the release's default is assumed.",)
    return {**settings, "max_num_seqs": least}, (f"{means}; {least} is assumed.",)


def _from_counts(
    log: EngineLog, settings: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """From the largest graphs that are named, where the list itself is not printed."""
    largest, full = log.number("largest_piecewise"), log.number("largest_full")
    tops = [int(n) for n in (largest, full) if n]
    caps = [cap.value.largest for cap in log.caps]
    if not tops and not caps:
        return settings, ()
    top = min(caps) if caps else max(tops)
    settings["max_cudagraph_capture_size"] = top
    notes = [f"The list is not in the log; its largest size is {top}."]
    if full and "max_num_seqs" not in settings:
        settings["max_num_seqs"] = int(full) // (1 + settings.get("num_speculative_tokens", 0)) or 1
        notes.append(
            f"max_num_seqs is not in the log; the largest full graph holds {int(full)} tokens, so "
            f"{settings['max_num_seqs']} is assumed."
        )
    return settings, tuple(notes)
