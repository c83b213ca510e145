"""Flags and keys of vLLM that change what it captures, with the releases they exist in."""

from __future__ import annotations

from typing import Any

from core.engines.options import Form, Option
from core.engines.settings import sizes_of

CONFIG = "compilation_config"

REWRITES = (
    (r"^-O[ =]?(\d)$", r"--optimization-level=\1"),
    (r"^-(?:O|cc)(?=$|[.=])", "--compilation-config"),
)
"""-O3, -O 3 and -O=3 are a level; -O and -cc stand for the compilation config."""

_MODES = {0: "NONE", 1: "PIECEWISE", 2: "FULL"}


def _sizes_or_max(value: Any) -> dict[str, Any]:
    """--cuda-graph-sizes: one value is a maximum, several are the list."""
    sizes = sizes_of(value)
    if len(sizes) == 1:
        return {"max_cudagraph_capture_size": sizes[0]}
    return {"cudagraph_capture_sizes": sizes}


def mode_name(value: Any) -> Any:
    """A mode by name or number, also as `CUDAGraphMode.FULL`."""
    text = str(value).rpartition(".")[2].strip()
    return _MODES.get(int(text), text) if text.isdigit() else text.upper()


def _family(value: Any) -> dict[str, Any]:
    """What a model's name alone decides about the list."""
    return {"gpt_oss": True} if "gpt-oss" in str(value).lower() else {}


_OF_VLLM_ALONE = ("model", "VLLM_USE_V2_MODEL_RUNNER")


def _level(value: Any) -> dict[str, Any]:
    """A compilation level or mode: 3 compiles piecewise, which the default graphs need.

    A cudagraph_mode beside it decides by itself, as it does beside -O0.
    """
    names = {"NONE": 0, "STOCK_TORCH_COMPILE": 1, "DYNAMO_TRACE_ONCE": 2, "VLLM_COMPILE": 3}
    text = str(value).rpartition(".")[2].strip()
    level = names[text.upper()] if text.upper() in names else int(text)
    return {} if level == 3 else {"optimization_level": 0}


def _yes(value: Any) -> bool:
    """A switch inside a config. Raises ValueError for another word."""
    words = {"true": True, "1": True, "false": False, "0": False, "none": False}
    if str(value).strip().lower() not in words:
        raise ValueError
    return words[str(value).strip().lower()]


_NO_LIST_CHANGE = (
    *("cudagraph_num_of_warmups", "cudagraph_copy_inputs", "use_inductor_graph_partition"),
    *("compile_mm_encoder", "cudagraph_mm_encoder"),
)
"""Keys with "graph" in their name that leave the list alone."""

_FLAG_LIST = "--cudagraph-capture-sizes"

OPTIONS = (
    Option("cudagraph_capture_sizes", "cudagraph_capture_sizes", Form.LIST, since="0.11.1"),
    Option("max_cudagraph_capture_size", "max_cudagraph_capture_size", since="0.11.1"),
    Option(
        "cuda_graph_sizes",
        form=Form.LIST,
        since="0.9",
        deprecated="0.11.1",
        until="0.13",
        instead=_FLAG_LIST,
        convert=_sizes_or_max,
    ),
    Option(CONFIG, form=Form.JSON, number="level"),
    Option(f"{CONFIG}.cudagraph_capture_sizes", "cudagraph_capture_sizes"),
    Option(f"{CONFIG}.max_cudagraph_capture_size", "max_cudagraph_capture_size", since="0.11.1"),
    Option(f"{CONFIG}.cudagraph_mode", "cudagraph_mode", convert=mode_name),
    Option(
        f"{CONFIG}.full_cuda_graph",
        deprecated="0.10.2",
        instead="cudagraph_mode FULL",
        convert=lambda on: {"cudagraph_mode": "FULL"} if _yes(on) else {},
    ),
    Option(
        f"{CONFIG}.use_cudagraph",
        deprecated="0.10.2",
        instead="cudagraph_mode NONE",
        convert=lambda on: {} if _yes(on) else {"cudagraph_mode": "NONE"},
    ),
    *(Option(f"{CONFIG}.{key}", convert=_level) for key in ("level", "mode")),
    Option(f"{CONFIG}.cudagraph_specialize_lora", "cudagraph_specialize_lora"),
    Option(f"{CONFIG}.pass_config.enable_sp", "enable_sp"),
    *(Option(f"{CONFIG}.{key}") for key in _NO_LIST_CHANGE),
    Option("cudagraph_metrics", form=Form.SWITCH),
    Option("model", convert=_family),
    Option("max_num_seqs", "max_num_seqs"),
    Option("max_num_batched_tokens", "max_num_batched_tokens"),
    Option("speculative_config", form=Form.JSON, aliases=("-sc",)),
    Option("speculative_config.num_speculative_tokens", "num_speculative_tokens"),
    Option("num_speculative_tokens", "num_speculative_tokens"),
    Option("tensor_parallel_size", "tensor_parallel_size", aliases=("-tp",)),
    Option("data_parallel_size", "data_parallel_size", aliases=("-dp",)),
    Option("enforce_eager", "enforce_eager", Form.SWITCH),
    Option("performance_mode", "performance_mode", since="0.17"),
    Option("optimization_level", "optimization_level"),
    Option("enable_lora", "enable_lora", Form.SWITCH),
    Option("max_loras", "max_loras"),
    Option("specialize_active_lora", "specialize_active_lora", Form.SWITCH),
    Option(
        "VLLM_USE_V2_MODEL_RUNNER",
        form=Form.VALUE,
        convert=lambda value: {"runner": "v2" if str(value) == "1" else "v1"},
    ),
)


def options_for(names: frozenset[str]) -> tuple[Option, ...]:
    """Those options whose settings another engine on vLLM declares too."""
    return tuple(
        option
        for option in OPTIONS
        if (option.setting in names if option.setting else option.path not in _OF_VLLM_ALONE)
    )
