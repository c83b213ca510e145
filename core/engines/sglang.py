"""SGLang: decode graphs by requests, prefill graphs by tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines import _sglang_limits as limit
from core.engines import _sglang_prefill as tokens
from core.engines import _sglang_sizes as rule
from core.engines._sglang_memory import sglang_memory
from core.engines._sglang_text import ALGORITHMS, MARKER, OPTIONS, RULES, sglang_forms
from core.engines.export import ExportForm
from core.engines.memory import GraphCost, MemoryAccount
from core.engines.plan import Finding, GraphCount, GraphList, Mode, Plan, Severity, StepKind
from core.engines.protocol import Engine
from core.engines.settings import choice, number, size_list, switch, whole
from core.engines.versions import Release
from core.errors import SettingError
from core.records import SizeUnit

SETTINGS = (
    whole("max_running_requests", None, "Requests in a step at most; unset, memory decides."),
    number("gpu_memory_gib", 80.0, "Memory of the card [GiB]; decides unset limits; 0: unknown."),
    whole("tp_size", 1, "Tensor-parallel size; 4 and more raises the default maximum."),
    size_list("cuda_graph_bs", "Your own list of decode sizes, in requests."),
    whole("cuda_graph_max_bs", None, "Largest decode size; unset, the card's memory decides."),
    whole("num_draft_tokens", 0, "Tokens of a request in a verification step; 0 without.", 0, 1024),
    choice("speculative_algorithm", "none", ALGORITHMS, "How drafts are made; none: no drafts."),
    whole("speculative_num_steps", None, "Draft steps before a verification."),
    whole("speculative_eagle_topk", None, "Branches a draft step keeps; 1 is a chain."),
    switch(
        "disable_cuda_graph",
        "Capture no graph; a prefill backend that is given stays from 0.5.14 on.",
    ),
    switch("disable_cuda_graph_padding", "Replay exact sizes only."),
    choice(
        "prefill_backend",
        "auto",
        ("auto", "breakable", "full", "tc_piecewise", "disabled"),
        "Graphs for prefill; auto: breakable from 0.5.15 on, tc_piecewise from 0.5.10, else off.",
    ),
    switch("enforce_piecewise_cuda_graph", "0.5.10 to 0.5.13: prefill graphs whatever forbids."),
    choice(
        "disaggregation_mode",
        "null",
        ("null", "prefill", "decode"),
        "Role of a server that prefills or decodes only; the other phase gets no graphs.",
    ),
    switch("disable_decode_cuda_graph", "Capture no decode graph (prefill graphs stay)."),
    size_list("cuda_graph_bs_prefill", "Your own list of prefill sizes, in tokens."),
    whole("cuda_graph_max_bs_prefill", None, "Largest prefill size; unset, a chunk."),
    whole("chunked_prefill_size", None, "Tokens of a prefill chunk; unset, memory decides."),
    whole("max_total_tokens", None, "Tokens the KV cache holds; caps prefill sizes."),
    whole("pp_size", 1, "Pipeline-parallel size; above 1 there are no prefill graphs."),
    whole("dp_size", 1, "Data-parallel size."),
    whole("attn_cp_size", 1, "Context-parallel size of attention."),
    switch("enable_dp_attention", "Data-parallel attention: sizes follow the attention group."),
    whole("attn_dp_size", 1, "Data-parallel groups of attention, from 0.5.22 on."),
    switch("enable_two_batch_overlap", "Sizes must be even; no prefill graphs."),
    switch("mla", "A model with multi-head latent attention (DeepSeek)."),
    switch("deepep", "DeepEP all-to-all: prefill sizes become multiples of 8."),
    choice(
        "post_capture_kv_sizing",
        "auto",
        ("auto", "on", "off"),
        "Size the KV cache after capture; auto: from 0.5.23 on, except with latent attention.",
    ),
    choice("device", "cuda", ("cuda", "cpu"), "cpu: graphs of torch.compile, on their own grid."),
    switch("enable_lora", "Serve LoRA adapters: graphs with and without."),
)


class SGLang(Engine):
    id = "sglang"
    label = "SGLang"
    position = 2
    versions = (
        *("0.5.23", "0.5.22", "0.5.21", "0.5.20", "0.5.19", "0.5.18", "0.5.17", "0.5.16"),
        *("0.5.15", "0.5.14", "0.5.13", "0.5.12", "0.5.11", "0.5.10", "0.5.9", "0.5.8"),
        *("0.5.7", "0.5.6", "0.5.5", "0.5.4", "0.4.10", "0.4.6.post5"),
    )
    settings = SETTINGS
    common_names = {
        "max_num_seqs": "max_running_requests",
        "tensor_parallel_size": "tp_size",
        "data_parallel_size": "dp_size",
        "max_bs": "cuda_graph_max_bs",
    }
    list_setting = "cuda_graph_bs"
    max_settings = ("cuda_graph_max_bs",)
    options = OPTIONS
    log_rules = RULES
    log_marker = MARKER

    def forms(
        self,
        version: str,
        settings: Mapping[str, Any],
        sizes: tuple[int, ...],
        kind: StepKind = StepKind.DECODE,
    ) -> tuple[ExportForm, ...]:
        return sglang_forms(version, sizes, kind)

    def _memory(
        self,
        release: Release,
        values: dict[str, Any],
        plan: Plan,
        costs: Mapping[str, GraphCost],
    ) -> MemoryAccount:
        return sglang_memory(release, values, plan)

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        notes: list[str] = []
        _check_offered(release, values)
        backend = tokens.prefill_kind(release, values, notes)
        prefill = tokens.prefill_list(release, values) if backend != "disabled" else ()
        no_decode = _no_decode(release, values)
        decode = rule.DecodeList(()) if no_decode else rule.decode_list(release, values, wanted)
        return Plan(
            sizes=decode.sizes,
            unit=SizeUnit.REQUESTS,
            decode=_decode_graphs(values, decode),
            prefill=_prefill_graphs(release, backend, prefill),
            full_load=limit.request_pool(release, values),
            asked_max=None if wanted or decode.dropped else values["cuda_graph_max_bs"],
            dropped=decode.dropped,
            added=decode.added,
            counts=_counts(values, decode.sizes, prefill),
            notes=(*_limit_notes(release, values, wanted), *notes),
            findings=_findings(no_decode),
            source=f"SGLang {release} memory_hook, cuda_graph_hook (docs/engines.md)",
        )


def _check_offered(release: Release, values: dict[str, Any]) -> None:
    """Raises SettingError for settings with which a release before 0.5.4 does not start."""
    if release >= rule.BUILT_LIST:
        return
    missing = ["cuda_graph_bs_prefill", "cuda_graph_max_bs_prefill"]
    if release < "0.4.10":
        missing.append("enable_two_batch_overlap")
    for name in missing:
        if values[name]:
            raise SettingError(f"SGLang {release} has no {name}; leave it out.")
    if release < "0.4.10" and values["enable_lora"] and not values["disable_cuda_graph"]:
        raise SettingError(
            f"SGLang {release} serves adapters without graphs only; give disable_cuda_graph."
        )


def _no_decode(release: Release, values: dict[str, Any]) -> str:
    """Why no decode graph is captured; empty where they are."""
    if values["disable_cuda_graph"] or values["disable_decode_cuda_graph"]:
        return "disable_cuda_graph is set"
    if values["disaggregation_mode"] == "prefill":
        return "the server has the prefill role"
    return ""


def _decode_graphs(values: dict[str, Any], decode: rule.DecodeList) -> tuple[GraphList, ...]:
    if not decode.sizes:
        return ()
    return (GraphList(Mode.FULL, decode.sizes, exact=values["disable_cuda_graph_padding"]),)


def _prefill_graphs(
    release: Release, backend: str, sizes: tuple[int, ...]
) -> tuple[GraphList, ...]:
    """From 0.5.16 on a prefill step runs eager rather than more than double its tokens."""
    if not sizes:
        return ()
    mode = Mode.FULL if backend == "full" else Mode.PIECEWISE
    return (GraphList(mode, sizes, max_ratio=2.0 if release >= tokens.TWOFOLD_AT_MOST else None),)


def _counts(
    values: dict[str, Any], decode: tuple[int, ...], prefill: tuple[int, ...]
) -> tuple[GraphCount, ...]:
    """Speculation keeps the same list three times: verification, draft, draft extend."""
    variants = 2 if values["enable_lora"] else 1
    names = ["decode"]
    if limit.speculative(values):
        names = ["verification", "draft", "draft extend"]
    counts = [GraphCount(name, len(decode), variants) for name in names if decode]
    return (*counts, *([GraphCount("prefill", len(prefill), 1)] if prefill else []))


def _limit_notes(
    release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
) -> tuple[str, ...]:
    notes = []
    if wanted is None and values["cuda_graph_max_bs"] is None and release >= rule.BUILT_LIST:
        notes.append(
            f"cuda_graph_max_bs not given: {rule.default_max_bs(release, values)} for this card."
        )
    if limit.attention_groups(release, values) > 1:
        notes.append(
            "Data-parallel attention: every rank runs the bucket of the largest rank, and all run "
            "eager when one cannot replay."
        )
    if values["max_running_requests"] is None:
        notes.append(_unset_running(values))
    if values["speculative_algorithm"] != "none" and not values["num_draft_tokens"]:
        width = limit.verified_tokens(values)
        notes.append(f"speculative_num_draft_tokens not given: {width} taken (assumed).")
    return tuple(notes)


def _unset_running(values: dict[str, Any]) -> str:
    if limit.speculative(values):
        return (
            f"max_running_requests not given: {limit.SPECULATIVE_RUNNING} with speculation, and "
            "sizes above it are dropped at capture."
        )
    return (
        "max_running_requests not given: SGLang derives it from memory, and sizes above it are "
        "dropped at capture."
    )


def _findings(no_decode: str) -> tuple[Finding, ...]:
    if not no_decode:
        return ()
    text = f"No decode graph is captured ({no_decode}); every decode step runs eager."
    fix = "Leave out --disable-cuda-graph and --disable-decode-cuda-graph."
    if "role" in no_decode:
        return (Finding("graphs-off", Severity.INFO, text, "None needed: it decodes nothing."),)
    return (Finding("graphs-off", Severity.WARNING, text, fix, load="every load"),)


ENGINE = SGLang()
