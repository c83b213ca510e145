"""TensorRT-LLM (PyTorch backend): decode graphs by requests, padding off unless asked for.

Source: llmapi/llm_args.py and _torch/pyexecutor of 2025 and 2026, restated as rules. The files
carry no release: "main" is after PR #12895 (+64 steps), "1.2.1" doubles beyond 128 up to
ceil(log2(max)), "1.0" and "0.20" up to floor(log2(max)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines._trtllm_text import MARKER, OPTIONS, RULES, trtllm_forms
from core.engines.export import ExportForm
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.ladder import ladder, powers_of_two, steps
from core.engines.memory import MemoryAccount
from core.engines.plan import (
    Dropped,
    Finding,
    GraphCount,
    GraphList,
    Mode,
    Plan,
    Severity,
    StepKind,
)
from core.engines.protocol import Engine
from core.engines.settings import size_list, switch, whole
from core.engines.versions import Release
from core.errors import SettingError
from core.records import SizeUnit

SETTINGS = (
    whole("max_batch_size", 2048, "Requests in a step at most (the engine's max_batch_size)."),
    whole("max_num_tokens", 8192, "Tokens in a step at most."),
    whole("max_seq_len", None, "Longest sequence; caps piecewise sizes when given."),
    size_list("batch_sizes", "Your own list (cuda_graph_config.batch_sizes), in requests."),
    whole(
        "cuda_graph_max_batch_size",
        None,
        "cuda_graph_config.max_batch_size: largest size of the built-in list; unset or 0 is 128.",
        minimum=0,
    ),
    switch("enable_padding", "Pad batches up to the next captured size (off by default)."),
    whole("num_draft_tokens", 0, "Draft tokens of a request in a decode step.", 0, 1024),
    size_list("draft_len_schedule", "Batch sizes of a draft length schedule; joined to the list."),
    whole("num_draft_lengths", 1, "Draft lengths captured for each size."),
    switch("capture_greedy", "Graphs for all-greedy batches beside the general ones."),
    switch("capture_lora", "Graphs with and without adapters."),
    switch("disable_cuda_graph", "cuda_graph_config: null."),
    switch("enable_piecewise", "torch_compile_config.enable_piecewise_cuda_graph."),
    size_list("capture_num_tokens", "Your own piecewise list, in tokens."),
    switch("enable_attention_dp", "Attention data parallelism."),
)


class TensorRtLlm(Engine):
    id = "trtllm"
    label = "TensorRT-LLM"
    aliases = ("tensorrt-llm", "tensorrt_llm", "trt-llm")
    position = 3
    versions = ("main", "1.2.1", "1.0", "0.20")
    assumed = dict.fromkeys(
        ("1.0", "0.20"),
        "The rule is borrowed from a text of 2025 before 1.2.1 that carries no release; which "
        "release changed it is assumed.",
    )
    settings = SETTINGS
    common_names = {
        "max_num_seqs": "max_batch_size",
        "max_num_batched_tokens": "max_num_tokens",
        "num_speculative_tokens": "num_draft_tokens",
    }
    list_setting = "batch_sizes"
    max_settings = ("cuda_graph_max_batch_size",)
    options = OPTIONS
    log_rules = RULES
    log_marker = MARKER
    export_settings = {"enable_padding": True, "disable_cuda_graph": False}
    memory_rule = MemoryAccount(
        rule="KV cache = (memory - peak + temporary KV) x free_gpu_memory_fraction (0.9); the peak "
        "comes from a run that already captured graphs, so they are counted as they are.",
        when="graphs are captured before the KV cache is sized",
        source="TensorRT-LLM resource manager (docs/engines.md)",
        reserved_bytes=0.0,
        effect=GraphsEffect(
            GraphsTake.KV_TOKENS,
            "Graphs are captured before the KV cache is sized, which takes "
            "free_gpu_memory_fraction (0.9) of what they leave: a shorter list gives KV tokens.",
            kv_per_graph_byte=0.9,
        ),
    )

    def forms(
        self,
        version: str,
        settings: Mapping[str, Any],
        sizes: tuple[int, ...],
        kind: StepKind = StepKind.DECODE,
    ) -> tuple[ExportForm, ...]:
        return trtllm_forms(version, sizes, kind)

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        asked = () if values["disable_cuda_graph"] else _asked(release, values, wanted)
        limit = decode_limit(values)
        sizes, dropped, added = _within(asked, limit, values["enable_padding"])
        piecewise = _piecewise(release, values, asked)
        decode = (GraphList(Mode.FULL, sizes, exact=not values["enable_padding"]),)
        return Plan(
            sizes=sizes,
            unit=SizeUnit.REQUESTS,
            decode=decode if sizes else (),
            prefill=(GraphList(Mode.PIECEWISE, piecewise),) if piecewise else (),
            full_load=limit,
            dropped=dropped,
            added=added,
            counts=_counts(values, sizes, piecewise),
            notes=_notes(values),
            findings=_findings(values, sizes),
            source=f"TensorRT-LLM {release} llm_args.py (docs/engines.md)",
        )


def _notes(values: dict[str, Any]) -> tuple[str, ...]:
    notes = []
    if values["enable_attention_dp"]:
        rule = "runs the bucket of the largest" if values["enable_padding"] else "must be equal"
        notes.append(f"Attention data parallel: every rank {rule}, or all run eager.")
    return tuple(notes)


def _asked(
    release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
) -> tuple[int, ...]:
    """The list before the engine's limit. Raises SettingError when list and maximum disagree."""
    largest = values["cuda_graph_max_batch_size"]
    if wanted is None:
        return generated(release, largest or 128, values)
    if largest and largest != max(wanted):
        raise SettingError(
            f"cuda_graph_config has max_batch_size {largest} but batch_sizes up to {max(wanted)}, "
            f"so TensorRT-LLM does not start; drop max_batch_size, set it to {max(wanted)}, or "
            f"append {largest} to the list."
        )
    return _with_schedule(values, ladder(wanted), max(wanted))


def generated(release: Release, largest: int, values: dict[str, Any]) -> tuple[int, ...]:
    """The built-in list up to `largest`, which is always part of it."""
    if values["enable_padding"]:
        sizes = [1, 2, 4] + steps(8, 128, 8)
        sizes += steps(192, largest, 64) if release >= "main" else _doubling(release, largest)
    else:
        sizes = steps(1, 32, 1) + [64, 128] + _doubling(release, largest)
    return _with_schedule(values, ladder([*sizes, largest], largest), largest)


def _doubling(release: Release, largest: int) -> list[int]:
    """Powers of two from 256 below the bound of the exponent."""
    ceil_log2, floor_log2 = (largest - 1).bit_length(), largest.bit_length() - 1
    bound = ceil_log2 if release >= "1.2" else floor_log2
    return [1 << i for i in range(8, bound)]


def _with_schedule(values: dict[str, Any], sizes: tuple[int, ...], largest: int) -> tuple[int, ...]:
    return ladder([*sizes, *(n for n in values["draft_len_schedule"] or () if n <= largest)])


def decode_limit(values: dict[str, Any]) -> int:
    """Requests of the widest decode step the engine runs."""
    by_tokens = values["max_num_tokens"] // (1 + values["num_draft_tokens"])
    return min(values["max_batch_size"], by_tokens)


def _within(
    asked: tuple[int, ...], limit: int, padding: bool
) -> tuple[tuple[int, ...], tuple[Dropped, ...], tuple[int, ...]]:
    """Sizes above the engine's limit are cut; with padding the limit itself takes their place."""
    cut = tuple(n for n in asked if n > limit)
    if not cut:
        return asked, (), ()
    kept = tuple(n for n in asked if n <= limit)
    added = (limit,) if padding and limit and limit not in kept else ()
    reason = f"larger than {limit}, the widest decode step of max_batch_size and max_num_tokens"
    return (*kept, *added), (Dropped(cut, reason),), added


def _piecewise(
    release: Release, values: dict[str, Any], batch_sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """Token counts for steps with prompt tokens."""
    if not values["enable_piecewise"]:
        return ()
    sizes = values["capture_num_tokens"]
    if sizes is None and release >= "main":
        sizes = powers_of_two(128) + steps(256, 3072, 256)
    elif sizes is None:
        sizes = batch_sizes
    ceiling = values["max_num_tokens"]
    if values["max_seq_len"]:
        ceiling = min(ceiling, values["max_batch_size"] * (values["max_seq_len"] - 1))
    if release >= "main":
        # Beyond the token budget a size goes; beyond what requests can fill it is lowered.
        return ladder(min(n, ceiling) for n in sizes if n <= values["max_num_tokens"])
    return ladder([*sizes, ceiling], ceiling)


def _counts(
    values: dict[str, Any], decode: tuple[int, ...], piecewise: tuple[int, ...]
) -> tuple[GraphCount, ...]:
    variants = values["num_draft_lengths"]
    variants *= 2 if values["capture_greedy"] else 1
    variants *= 2 if values["capture_lora"] else 1
    counts = [GraphCount("decode", len(decode), variants)] if decode else []
    return (*counts, *([GraphCount("piecewise", len(piecewise))] if piecewise else []))


def _findings(values: dict[str, Any], sizes: tuple[int, ...]) -> tuple[Finding, ...]:
    if values["disable_cuda_graph"]:
        text = "cuda_graph_config is null: no graph is captured, every step runs eager."
        fix = "Leave cuda_graph_config out or give it batch_sizes."
        return (Finding("graphs-off", Severity.WARNING, text, fix, load="every load"),)
    if decode_limit(values) < 1:
        return (_no_request_fits(values),)
    if values["enable_padding"] or not sizes:
        return ()
    gaps = [b for a, b in zip((0, *sizes), sizes, strict=False) if b - a > 1]
    if not gaps:
        return ()
    text = (
        "Padding is off (the default): a batch replays only when its size is in the list, any "
        "other size runs eager."
    )
    return (
        Finding(
            "padding-off",
            Severity.WARNING,
            text,
            "cuda_graph_config: {enable_padding: true}",
            load="every batch size that is not in the list",
        ),
    )


def _no_request_fits(values: dict[str, Any]) -> Finding:
    width = 1 + values["num_draft_tokens"]
    return Finding(
        "graphs-off",
        Severity.WARNING,
        f"max_num_tokens {values['max_num_tokens']} holds no request of {width} tokens, so no "
        "decode graph is captured and every decode step runs eager.",
        f"max_num_tokens: {width * values['max_batch_size']}",
        load="every load",
    )


ENGINE = TensorRtLlm()
