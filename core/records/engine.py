"""An engine that is driven to measure it: how it shall be started, and what its start told.

Settings are a closed list under the engine's own names; there is no command line and no code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from core.errors import SettingError
from core.records.traffic import normalised_sizes

CUDAGRAPH_MODES = ("", "NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")
"""Empty: what the engine chooses itself."""
KV_CACHE_DTYPES = ("auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2")
MAX_CONFIG_CHARS = 1 << 20
MAX_PRINTED_CHARS = 1 << 16
"""Kept of what an engine printed while it started."""
MOST = 2**24
"""Bound of every number of requests or tokens."""


@dataclass(frozen=True)
class EngineSpec:
    """How an installed engine is started.

    config : a model's config.json as JSON text, for random weights; empty: made from the shape
    model_dir : a model on the worker's disk instead, below a folder that the worker was told of
    capture_sizes : the list; None: the engine's own
    enforce_eager : no graphs at all
    block_size : slots of a KV block; None: the engine's own
    cudagraph_mode : one of CUDAGRAPH_MODES
    ngram_tokens : draft tokens found in the prompt, a step; 0: no speculation
    ngram_max : longest run of tokens that is looked for
    max_loras : adapters that graphs are copied for; 0: none. None is loaded: memory and capture
    mixed_decoding : requests that decode in a measured step that also takes in a prompt
    """

    config: str = ""
    model_dir: str = ""
    capture_sizes: tuple[int, ...] | None = None
    enforce_eager: bool = False
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    max_model_len: int = 16384
    gpu_memory_utilization: float = 0.85
    tensor_parallel_size: int = 1
    block_size: int | None = None
    kv_cache_dtype: str = "auto"
    cudagraph_mode: str = ""
    enable_prefix_caching: bool = False
    ngram_tokens: int = 0
    ngram_max: int = 4
    max_loras: int = 0
    max_lora_rank: int = 16
    mixed_decoding: int = 16

    def __post_init__(self) -> None:
        if self.capture_sizes is not None:
            object.__setattr__(self, "capture_sizes", normalised_sizes(self.capture_sizes))
        if self.enforce_eager and self.capture_sizes:
            raise SettingError("enforce_eager and capture_sizes contradict each other; drop one.")
        if self.config and self.model_dir:
            raise SettingError("config and model_dir are both given; one of them is the model.")
        self._check_numbers()
        for name, known in (
            ("cudagraph_mode", CUDAGRAPH_MODES),
            ("kv_cache_dtype", KV_CACHE_DTYPES),
        ):
            if getattr(self, name) not in known:
                words = ", ".join(repr(word) for word in known)
                raise SettingError(f"{name} is {getattr(self, name)!r}; use one of {words}.")
        _check_config(self.config)

    def _check_numbers(self) -> None:
        least = {"ngram_tokens": 0, "max_loras": 0}
        for name in (
            *("max_num_seqs", "max_num_batched_tokens", "max_model_len", "tensor_parallel_size"),
            *("block_size", "ngram_tokens", "ngram_max", "max_loras", "max_lora_rank"),
            "mixed_decoding",
        ):
            value, low = getattr(self, name), least.get(name, 1)
            if value is not None and not low <= value <= MOST:
                raise SettingError(f"{name} is {value:,}; it must be {low} to {MOST:,}.")
        if not 0 < self.gpu_memory_utilization <= 1:
            raise SettingError(
                f"gpu_memory_utilization is {self.gpu_memory_utilization}; it is a share of the "
                "card's memory, above 0 and at most 1."
            )
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise SettingError(
                f"max_num_batched_tokens {self.max_num_batched_tokens:,} is below max_num_seqs "
                f"{self.max_num_seqs:,}; a step needs a token for each request."
            )


def _check_config(text: str) -> None:
    """Raises SettingError for what is no config.json, or names code to run."""
    if not text:
        return
    if len(text) > MAX_CONFIG_CHARS:
        raise SettingError(f"config has {len(text):,} characters; {MAX_CONFIG_CHARS:,} at most.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingError(f"config is no JSON ({error}); give a model's config.json.") from error
    if not isinstance(document, dict) or not document.get("architectures"):
        raise SettingError("config names no architectures; give a model's whole config.json.")
    if "auto_map" in document:
        raise SettingError("config has an auto_map, which names code to run; take it out.")


@dataclass(frozen=True)
class GraphGroup:
    """Graphs of one kind that an engine captured when it started.

    kind : "FULL" or "PIECEWISE"
    sizes : capture sizes that have one
    gib : device memory that the driver gave while they were captured; None: not told [GiB]
    first_gib : of that the first one's, which holds what all of them share [GiB]
    """

    kind: str
    sizes: int
    seconds: float | None = None
    gib: float | None = None
    first_gib: float | None = None


@dataclass(frozen=True)
class Phase:
    """A part of an engine's start, in its order."""

    name: str
    seconds: float


@dataclass(frozen=True)
class EngineFacts:
    """What an engine's start told.

    capture_sizes : the list it runs with; empty: it runs eager
    graph_gib, capture_s : as the engine itself prints them; None: it prints none
    startup, eager_startup : phases of its start with graphs, and of that without, which gave the
        eager times
    printed : what it printed meanwhile, cut in the middle where it was long
    notes : sentences on what could not be measured
    """

    name: str
    release: str
    capture_sizes: tuple[int, ...] = ()
    kv_tokens: int | None = None
    block_size_tokens: int | None = None
    graphs: tuple[GraphGroup, ...] = ()
    capture_s: float | None = None
    graph_gib: float | None = None
    startup: tuple[Phase, ...] = ()
    eager_startup: tuple[Phase, ...] = ()
    printed: str = ""
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.name} {self.release}"


def cut_text(text: str, most: int = MAX_PRINTED_CHARS) -> str:
    """The beginning and the end of a text, with the number of characters between them."""
    if len(text) <= most:
        return text
    head = most * 3 // 4
    left_out = len(text) - most
    return f"{text[:head]}\n... {left_out:,} characters left out ...\n{text[head + left_out :]}"
