"""vllm-ascend: vLLM's grid under a ceiling of its own, without vLLM's factor of two.

Source: repository at 182b75ea (2026-08-22, 0.25.1rc1), restated; older releases limited the number
of sizes by hardware streams, which `stream_budget` stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines._vllm_forms import vllm_forms
from core.engines._vllm_log import MARKER, rules_for
from core.engines._vllm_modes import Modes
from core.engines._vllm_options import REWRITES, options_for
from core.engines._vllm_settings import MODES
from core.engines._vllm_sizes import rounded, stepped
from core.engines.export import ExportForm
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.ladder import ladder
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
from core.engines.settings import choice, size_list, switch, whole
from core.engines.versions import Release
from core.errors import SettingError
from core.records import Origin, SizeUnit

CAP = 512
SIZES_ON_950 = 4

SETTINGS = (
    whole("max_num_seqs", 256, "Requests in a step at most."),
    whole("max_num_batched_tokens", 8192, "Tokens in a step at most."),
    whole("num_speculative_tokens", 0, "Draft tokens of a request in a decode step.", 0, 1024),
    size_list("cudagraph_capture_sizes", "Your own list of capture sizes, in tokens."),
    whole("max_cudagraph_capture_size", None, "Largest capture size of the built-in grid."),
    whole("tensor_parallel_size", 1, "Cards that share each layer."),
    switch("tp_aligned", "Sequence parallelism, shared-expert DP or DSA-CP: multiples of TP."),
    switch("device_950", "A 950 device: the list is thinned to 4 sizes."),
    whole("stream_budget", None, "Older releases: 1920, later 1800 streams for all graphs."),
    whole("num_layers", 32, "Layers of the model, for the stream budget."),
    whole("parallel_factor", 1, "Communication streams a layer, for the stream budget."),
    choice("cudagraph_mode", None, MODES, "Which graphs are captured; unset, full and piecewise."),
    whole("optimization_level", 2, "-O0 captures nothing unless a mode is given.", minimum=0),
    switch("enforce_eager", "Capture nothing."),
)


def _off(reason: str, fix: str) -> Finding:
    text = f"{reason}: no graph is captured, every step runs eager."
    return Finding("graphs-off", Severity.WARNING, text, fix, load="every load")


NONE_FITS = Finding(
    "graphs-off",
    Severity.WARNING,
    "No capture size is max_num_batched_tokens or less: no graph is captured, every step runs "
    "eager.",
    "Give smaller sizes in --cudagraph-capture-sizes, or raise --max-num-batched-tokens.",
    load="every load",
)


NAMES = frozenset(setting.name for setting in SETTINGS)


class VllmAscend(Engine):
    id = "ascend"
    label = "vllm-ascend"
    aliases = ("vllm_ascend",)
    position = 8
    versions = ("0.25.1rc1",)
    settings = SETTINGS
    list_setting = "cudagraph_capture_sizes"
    max_settings = ("max_cudagraph_capture_size",)
    options = options_for(NAMES)
    rewrites = REWRITES
    refuses_twice = True
    log_rules = rules_for(NAMES)
    log_marker = MARKER
    memory_rule = MemoryAccount(
        rule="vLLM's sum for the KV cache; what vllm-ascend adds for graphs is not known here.",
        when="not known",
        source="not read",
        effect=GraphsEffect(
            GraphsTake.SLACK,
            "The KV cache is taken to be sized first, as in vLLM's first runner, and graphs to use "
            "what gpu_memory_utilization leaves; vllm-ascend's own rule was not read.",
            Origin.ASSUMED,
        ),
    )

    def forms(
        self,
        version: str,
        settings: Mapping[str, Any],
        sizes: tuple[int, ...],
        kind: StepKind = StepKind.DECODE,
    ) -> tuple[ExportForm, ...]:
        return vllm_forms("0.23.0", sizes)

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        q = 1 + values["num_speculative_tokens"]
        widest = values["max_num_seqs"] * q
        mode, off = _mode(values)
        sizes, dropped = _sizes(values, wanted, widest) if mode.graphs else ((), ())
        graphs = rounded(sizes, q)
        full = tuple(n for n in graphs if q <= n <= widest) if mode.decode is Mode.FULL else ()
        mixed = graphs if mode.mixed is Mode.PIECEWISE else ()
        return Plan(
            sizes=sizes,
            unit=SizeUnit.TOKENS,
            decode=_lists(full, mixed),
            prefill=_lists(graphs if mode.mixed is Mode.FULL else (), mixed),
            tokens_per_request=q,
            full_load=widest,
            asked_max=values["max_cudagraph_capture_size"] or min(widest, CAP),
            dropped=dropped,
            counts=_counts(graphs if mode.mixed is Mode.FULL else full, mixed),
            findings=off or (() if sizes else (NONE_FITS,)),
            source="vllm-ascend 0.25.1rc1 platform (docs/engines.md)",
        )


def _mode(values: dict[str, Any]) -> tuple[Modes, tuple[Finding, ...]]:
    """What decode and mixed steps replay, and the finding where nothing is captured."""
    if values["enforce_eager"]:
        return Modes("NONE"), (_off("enforce_eager", "Leave out --enforce-eager."),)
    default = "NONE" if values["optimization_level"] == 0 else "FULL_AND_PIECEWISE"
    mode = Modes(values["cudagraph_mode"] or default)
    fix = '--compilation-config \'{"cudagraph_mode":"FULL_DECODE_ONLY"}\''
    return mode, () if mode.graphs else (_off("cudagraph_mode NONE", fix),)


def ceiling(max_num_seqs: int, q: int) -> int:
    """The injected maximum [tokens]: the widest decode step, at most 512."""
    return min(max_num_seqs * q, CAP)


def _sizes(
    values: dict[str, Any], wanted: tuple[int, ...] | None, widest: int
) -> tuple[tuple[int, ...], tuple[Dropped, ...]]:
    """The list and what was dropped; empty where max_num_batched_tokens holds none of it.

    Raises SettingError for a list and a maximum that disagree, and when the alignment leaves none.
    """
    tokens, scalar = values["max_num_batched_tokens"], values["max_cudagraph_capture_size"]
    if wanted is not None and scalar not in (None, max(wanted)):
        raise SettingError(
            f"max_cudagraph_capture_size {scalar} and the largest of cudagraph_capture_sizes "
            f"{max(wanted)} disagree, so vllm-ascend does not start; give the list alone."
        )
    asked = wanted
    if asked is None:
        largest = scalar or min(widest, CAP)
        asked = tuple(stepped(min(largest, tokens)))
    sizes, dropped = _keep(ladder(asked), lambda n: n <= tokens, f"larger than {tokens} tokens")
    if not sizes:
        return (), dropped
    tp = values["tensor_parallel_size"]
    if values["tp_aligned"]:
        why = f"not a multiple of tensor_parallel_size {tp}"
        sizes, more = _keep(sizes, lambda n: n % tp == 0, why)
        dropped += more
    if not sizes:
        raise SettingError(
            f"No capture size is a multiple of tensor_parallel_size {tp}, so vllm-ascend does not "
            f"start; give --cudagraph-capture-sizes {tp} {2 * tp} and more."
        )
    thinned = _thinned(sizes, values)
    gone = tuple(n for n in sizes if n not in thinned)
    why = f"the device holds {len(thinned)} sizes"
    return thinned, (*dropped, Dropped(gone, why)) if gone else dropped


def _keep(sizes: tuple[int, ...], test: Any, why: str) -> tuple[Any, tuple[Dropped, ...]]:
    gone = tuple(n for n in sizes if not test(n))
    return tuple(n for n in sizes if test(n)), (Dropped(gone, why),) if gone else ()


def _thinned(sizes: tuple[int, ...], values: dict[str, Any]) -> tuple[int, ...]:
    """Evenly chosen sizes, first and last included, where the device limits their number."""
    room = SIZES_ON_950 if values["device_950"] else len(sizes)
    if values["stream_budget"]:
        a_size = (values["num_layers"] + 1) * values["parallel_factor"]
        room = min(room, max(values["stream_budget"] // a_size, 1))
    if room >= len(sizes):
        return sizes
    if room == 1:
        return sizes[-1:]
    return tuple(sizes[round(i * (len(sizes) - 1) / (room - 1))] for i in range(room))


def _lists(decode: tuple[int, ...], mixed: tuple[int, ...]) -> tuple[GraphList, ...]:
    pairs = ((Mode.FULL, decode), (Mode.PIECEWISE, mixed))
    return tuple(GraphList(mode, sizes) for mode, sizes in pairs if sizes)


def _counts(decode: tuple[int, ...], mixed: tuple[int, ...]) -> tuple[GraphCount, ...]:
    pairs = (("piecewise", mixed), ("full", decode))
    return tuple(GraphCount(what, len(sizes)) for what, sizes in pairs if sizes)


ENGINE = VllmAscend()
