"""TensorRT-LLM's YAML keys, start-up messages and exports, 0.20 to 1.2 and later."""

from __future__ import annotations

from typing import Any

from core.engines.export import ExportForm, python_text, yaml_text
from core.engines.options import Form, Option
from core.engines.plan import StepKind
from core.engines.startup_log import LogRule
from core.engines.versions import Release

CONFIG = "cuda_graph_config"
COMPILE = "torch_compile_config"
NESTED = "1.0"


def _config(value: Any) -> dict[str, object]:
    """`cuda_graph_config: null` switches graphs off."""
    return {"disable_cuda_graph": True} if value is None else {}


def _keys(value: Any) -> list[int]:
    """Batch sizes of {batch: draft length}."""
    return [int(key) for key in value]


def _flat(path: str, setting: str | None, instead: str, **more: Any) -> Option:
    """A key of 0.20 and before."""
    return Option(path, setting, until=NESTED, instead=f"{CONFIG}: {{{instead}}}", **more)


OPTIONS = (
    Option(CONFIG, form=Form.JSON, since=NESTED, convert=_config),
    Option(f"{CONFIG}.batch_sizes", "batch_sizes"),
    Option(f"{CONFIG}.max_batch_size", "cuda_graph_max_batch_size"),
    Option(f"{CONFIG}.enable_padding", "enable_padding", aliases=(f"{CONFIG}.padding_enabled",)),
    Option(f"{CONFIG}.mode"),
    _flat("cuda_graph_batch_sizes", "batch_sizes", "batch_sizes: [..]"),
    _flat("cuda_graph_max_batch_size", "cuda_graph_max_batch_size", "max_batch_size: N"),
    _flat("cuda_graph_padding_enabled", "enable_padding", "enable_padding: true"),
    _flat(
        "use_cuda_graph",
        None,
        "batch_sizes: [..]",
        convert=lambda on: {"disable_cuda_graph": str(on).lower() not in ("true", "1", "yes")},
    ),
    Option(COMPILE, form=Form.JSON),
    Option(f"{COMPILE}.enable_piecewise_cuda_graph", "enable_piecewise"),
    Option(f"{COMPILE}.capture_num_tokens", "capture_num_tokens"),
    Option("max_batch_size", "max_batch_size"),
    Option("max_num_tokens", "max_num_tokens"),
    Option("max_seq_len", "max_seq_len"),
    Option("enable_attention_dp", "enable_attention_dp"),
    Option("speculative_config", form=Form.JSON),
    Option("speculative_config.max_draft_len", "num_draft_tokens"),
    Option("speculative_config.num_nextn_predict_layers", "num_draft_tokens"),
    Option("speculative_config.draft_len_schedule", "draft_len_schedule", convert=_keys),
)

MARKER = r"Creating CUDA graph instances|generation[- ]only CUDA graph warmup|\[TRT-LLM\]"

RULES = (
    LogRule(
        r"Run generation[- ]only CUDA graph warmup[^\n]*?batch size=(\d+)",
        "captured",
        int,
        every=True,
    ),
    LogRule(r"Creating CUDA graph instances for (\d+) batch sizes", "facts.batch_sizes", int),
    LogRule(r"\bmax_num_tokens=(\d+)", "settings.max_num_tokens", int),
    LogRule(r"\bmax_seq_len=(\d+), max_num_requests=", "settings.max_seq_len", int),
    LogRule(r"max_num_tokens=\d+, max_batch_size=(\d+)", "settings.max_batch_size", int),
)


def trtllm_forms(version: str, sizes: tuple[int, ...], kind: StepKind) -> tuple[ExportForm, ...]:
    """YAML first; padding is always switched on, or only exact sizes would replay."""
    if kind is StepKind.PREFILL:
        tokens = {"enable_piecewise_cuda_graph": True, "capture_num_tokens": list(sizes)}
        return (yaml_text({COMPILE: tokens}),)
    if Release(version) < NESTED:
        flat = {"use_cuda_graph": True, "cuda_graph_batch_sizes": list(sizes)}
        return (yaml_text({**flat, "cuda_graph_padding_enabled": True}),)
    config = {"enable_padding": True, "batch_sizes": list(sizes)}
    return (yaml_text({CONFIG: config}), python_text("CudaGraphConfig", **config))
