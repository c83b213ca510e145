"""A stand-in for vLLM with the surface that the worker drives: a small engine whose steps take
known times. Its behaviour is set by the environment variable STAND_IN_VLLM, as JSON:

    version, fail ("oom", "elsewhere"), die_at_step with marker, dies_always_at, child_pid_file,
    shutdown_file, hangs_at
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

BEHAVIOUR: dict[str, Any] = json.loads(os.environ.get("STAND_IN_VLLM", "{}"))
__version__ = BEHAVIOUR.get("version", "0.23.0")


@dataclass
class EngineArgs:
    """The settings that the worker may use, and no others."""

    model: str = ""
    load_format: str = "auto"
    skip_tokenizer_init: bool = False
    max_model_len: int = 0
    max_num_seqs: int = 0
    max_num_batched_tokens: int = 0
    gpu_memory_utilization: float = 0.9
    tensor_parallel_size: int = 1
    kv_cache_dtype: str = "auto"
    enable_prefix_caching: bool = True
    async_scheduling: bool = True
    disable_log_stats: bool = True
    seed: int = 1
    enforce_eager: bool = False
    block_size: int = 16
    compilation_config: dict[str, Any] = field(default_factory=dict)
    speculative_config: dict[str, Any] | None = None
    enable_lora: bool = False
    max_loras: int = 1
    max_lora_rank: int = 16


@dataclass
class SamplingParams:
    """Of a request."""

    max_tokens: int
    min_tokens: int
    ignore_eos: bool
    temperature: float
    detokenize: bool
