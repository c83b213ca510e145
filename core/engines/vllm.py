"""vLLM: what its releases capture and how its two dispatchers use it.

A bucket counts tokens: one a request in a decode step, 1 + draft tokens with speculation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines import _vllm_sizes as rule
from core.engines._vllm_batch import Batch, batch_limits
from core.engines._vllm_forms import vllm_forms
from core.engines._vllm_log import vllm_log_settings
from core.engines._vllm_memory import Runner, vllm_memory
from core.engines._vllm_modes import Modes, resolve_modes, uses_v2
from core.engines._vllm_options import OPTIONS, REWRITES
from core.engines._vllm_releases import VERSIONS
from core.engines._vllm_settings import SETTINGS
from core.engines.export import ExportForm
from core.engines.ladder import as_ranges, ladder
from core.engines.memory import GraphCost, MemoryAccount
from core.engines.plan import Finding, GraphCount, GraphList, Mode, Plan, Severity, StepKind
from core.engines.protocol import Engine
from core.engines.versions import Release
from core.logs.record import EngineLog
from core.logs.vllm import FORM
from core.records import SizeUnit


class Vllm(Engine):
    id = "vllm"
    label = "vLLM"
    position = 1
    versions = VERSIONS
    settings = SETTINGS
    list_setting = "cudagraph_capture_sizes"
    max_settings = ("max_cudagraph_capture_size",)
    options = OPTIONS
    rewrites = REWRITES
    refuses_twice = True
    log_form = FORM
    off_settings = {"enforce_eager": True}

    def forms(
        self,
        version: str,
        settings: Mapping[str, Any],
        sizes: tuple[int, ...],
        kind: StepKind = StepKind.DECODE,
    ) -> tuple[ExportForm, ...]:
        return vllm_forms(version, sizes)

    def log_settings(self, log: EngineLog) -> tuple[dict[str, Any], tuple[str, ...]]:
        settings, _ = super().log_settings(log)
        return vllm_log_settings(log, settings)

    def _memory(
        self,
        release: Release,
        values: dict[str, Any],
        plan: Plan,
        costs: Mapping[str, GraphCost],
    ) -> MemoryAccount:
        unsaid = values["runner"] == "auto" and release >= "0.23" and release < "0.29"
        return vllm_memory(release, Runner(uses_v2(release, values), unsaid), plan, costs)

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        batch = batch_limits(release, values)
        modes = resolve_modes(release, values)
        if not modes.graphs:
            return _no_graphs(batch, modes)
        config = rule.configured(release, values, batch, wanted)
        v2 = uses_v2(release, values)
        last = rule.final(release, values, batch, modes, v2, config)
        rule.check_shared_full(release, batch, modes, last)
        lists = _lists(release, modes, _decode_sizes(last.sizes, batch, v2), last.sizes, v2)
        counts = _counts(rule.lora_cases(release, values, v2), lists)
        if rule.drafts_miss_shared(release, batch, modes):
            wide = tuple(n for n in last.sizes if n >= batch.widest)
            lists = ((GraphList(Mode.FULL, wide, among=last.sizes),), lists[1])
        return Plan(
            sizes=last.sizes,
            configured=config.sizes,
            unit=SizeUnit.TOKENS,
            decode=lists[0],
            prefill=lists[1],
            tokens_per_request=batch.q,
            full_load=batch.widest,
            asked_max=config.asked_max,
            dropped=last.dropped,
            counts=counts,
            notes=(
                *batch.notes,
                *modes.notes,
                *last.notes,
                *_runner_note(release, values, batch),
            ),
            findings=_findings(config, batch, last.sizes),
            source=_source(release),
        )


def _no_graphs(batch: Batch, modes: Modes) -> Plan:
    finding = Finding(
        "graphs-off",
        Severity.WARNING,
        "No CUDA graph is captured; every step runs eager.",
        "Leave out --enforce-eager and a cudagraph_mode of NONE.",
        load="every load",
    )
    return Plan(
        sizes=(),
        unit=SizeUnit.TOKENS,
        decode=(),
        tokens_per_request=batch.q,
        full_load=batch.widest,
        notes=(*batch.notes, *modes.notes),
        findings=(finding,),
        source="vLLM: enforce_eager or cudagraph_mode NONE empties the list",
    )


def _decode_sizes(sizes: tuple[int, ...], batch: Batch, v2: bool) -> tuple[int, ...]:
    """Sizes with a full graph for uniform decode steps; the second runner rounds them up."""
    q, widest = batch.q, batch.max_num_seqs * batch.q
    usable = rule.rounded(sizes, q) if v2 else sizes
    return tuple(n for n in usable if q <= n <= widest)


def _lists(
    release: Release, modes: Modes, decode: tuple[int, ...], mixed: tuple[int, ...], v2: bool
) -> tuple[tuple[GraphList, ...], tuple[GraphList, ...]]:
    """Graphs for decode and for mixed steps, the preferred ones first.

    Up to 0.28 the second runner tries the next captured size of any mode and no further.
    """
    if modes.mixed is Mode.FULL:
        both = (GraphList(Mode.FULL, mixed),)
        return both, both
    has_mixed, has_full = modes.mixed is Mode.PIECEWISE, modes.decode is Mode.FULL
    among: tuple[int, ...] = ()
    if v2 and release < "0.29" and has_mixed and has_full:
        among = ladder((*decode, *mixed))
    piecewise = (GraphList(Mode.PIECEWISE, mixed, among=among),) if has_mixed else ()
    full = (GraphList(Mode.FULL, decode, among=among),) if has_full else ()
    return (*full, *piecewise), piecewise


def _counts(
    variants: int, lists: tuple[tuple[GraphList, ...], tuple[GraphList, ...]]
) -> tuple[GraphCount, ...]:
    unique = dict.fromkeys((*lists[1], *lists[0]))
    return tuple(GraphCount(graphs.mode.value, len(graphs.sizes), variants) for graphs in unique)


def _runner_note(release: Release, values: dict[str, Any], batch: Batch) -> tuple[str, ...]:
    notes = []
    if values["runner"] == "auto" and release >= "0.23" and release < "0.29":
        which = "some (Llama, Mistral, Qwen3)" if release < "0.25" else "dense"
        taken = "second" if uses_v2(release, values) else "first"
        notes.append(
            f"{release} uses its second model runner for {which} models that generate; without "
            f"`runner` the {taken} is assumed. The start-up log says `Using V2 Model Runner`."
        )
    if values["data_parallel_size"] > 1:
        notes.append(
            "Data parallel: every rank runs the bucket of the largest rank; one rank without a "
            "graph makes all run eager."
        )
    if values["num_layers"] is not None:
        notes.append(f"A piecewise size is {values['num_layers'] + 1} CUDA graph objects.")
    if batch.q > 1:
        which = "second" if uses_v2(release, values) else "first"
        notes.append(
            f"Speculation: a decode step holds {batch.q} tokens a request; full decode graphs are "
            f"multiples of {batch.q} ({which} model runner)."
        )
    return tuple(notes)


def _findings(config: rule.Configured, batch: Batch, mixed: tuple[int, ...]) -> tuple[Finding, ...]:
    found = []
    if mixed != config.sizes:
        found.append(
            Finding(
                "rounded-to-draft-multiple",
                Severity.WARNING,
                f"The first model runner replaces the list by multiples of {batch.q} tokens: "
                f"{as_ranges(mixed)}.",
                "Give multiples of the tokens a request takes in a decode step.",
            )
        )
    return tuple(found)


def _source(release: Release) -> str:
    return f"vLLM {release} config/vllm.py _set_cudagraph_sizes (docs/engines.md)"


ENGINE = Vllm()
