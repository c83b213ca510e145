"""Settings of an EngineSpec under the names of the installed vLLM's EngineArgs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from core.errors import SettingError
from core.records import EngineSpec

HELPFUL = ("cudagraph_metrics",)
"""Left out where the release has none: it tells more, and changes no step."""


def arguments(
    engine: EngineSpec, model_path: str, dummy: bool, known: Collection[str], release: str
) -> dict[str, Any]:
    """Keywords of EngineArgs.

    dummy : random weights
    known : names that this release's EngineArgs has
    Raises SettingError for a setting that is asked for and that this release does not have.
    """
    values: dict[str, Any] = {
        "model": model_path,
        "skip_tokenizer_init": True,
        "max_model_len": engine.max_model_len,
        "max_num_seqs": engine.max_num_seqs,
        "max_num_batched_tokens": engine.max_num_batched_tokens,
        "gpu_memory_utilization": engine.gpu_memory_utilization,
        "tensor_parallel_size": engine.tensor_parallel_size,
        "kv_cache_dtype": engine.kv_cache_dtype,
        "enable_prefix_caching": engine.enable_prefix_caching,
        # Each call of step() is then one step of the engine, begun and ended.
        "async_scheduling": False,
        "disable_log_stats": False,
        "seed": 0,
        "cudagraph_metrics": True,
        **({"load_format": "dummy"} if dummy else {}),
        **({"block_size": engine.block_size} if engine.block_size is not None else {}),
        **_graphs(engine),
        **_extras(engine),
    }
    for name in HELPFUL:
        if name not in known:
            values.pop(name, None)
    missing = sorted(set(values) - set(known))
    if missing:
        raise SettingError(
            f"vLLM {release} has no setting {missing[0]}, which the measurement needs; measure "
            "with another release."
        )
    return values


def _graphs(engine: EngineSpec) -> dict[str, Any]:
    if engine.enforce_eager:
        return {"enforce_eager": True}
    compilation: dict[str, Any] = {}
    if engine.capture_sizes is not None:
        compilation["cudagraph_capture_sizes"] = list(engine.capture_sizes)
    if engine.cudagraph_mode:
        compilation["cudagraph_mode"] = engine.cudagraph_mode
    return {"compilation_config": compilation} if compilation else {}


def _extras(engine: EngineSpec) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if engine.ngram_tokens:
        extras["speculative_config"] = {
            "method": "ngram",
            "num_speculative_tokens": engine.ngram_tokens,
            "prompt_lookup_max": engine.ngram_max,
        }
    if engine.max_loras:
        extras |= {
            "enable_lora": True,
            "max_loras": engine.max_loras,
            "max_lora_rank": engine.max_lora_rank,
        }
    return extras
