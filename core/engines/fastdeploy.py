"""FastDeploy: graphs by tokens, one dictionary from every real size to its padded size.

Source: fastdeploy/config.py GraphOptimizationConfig, restated; "main" is 0009064e, "2.0" the list
before PR #2844, which skipped 288 to 512 and knew no drafts (its release is assumed).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines.export import ExportForm, json_flag
from core.engines.ladder import ladder, steps
from core.engines.memory import MemoryAccount
from core.engines.options import Form, Option
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
from core.engines.startup_log import LogRule
from core.engines.startup_log import sizes as printed_sizes
from core.engines.versions import Release
from core.records import SizeUnit

DEFAULT_PREFILL = (1, 2, 4, 8)

SETTINGS = (
    whole("max_num_seqs", 256, "Requests in a step at most; the largest size captured."),
    whole("num_speculative_tokens", 0, "Draft tokens of a request in a decode step.", 0, 1024),
    size_list("cudagraph_capture_sizes", "Your own list, in tokens."),
    switch("use_cudagraph", "Capture graphs.", default=True),
    whole("graph_opt_level", 0, "0 captures decode steps; 1 may split the graph.", minimum=0),
    switch("full_cuda_graph", "At level 1: whole graphs, for decode steps only.", default=True),
    switch("cudagraph_only_prefill", "Capture prefill steps with the prefill list."),
    size_list("cudagraph_capture_sizes_prefill", "Your own prefill list, in tokens."),
    whole("max_capture_shape_prefill", 512, "Largest prefill size, in tokens."),
    switch("enable_tsp", "Tensor and sequence parallel: sizes are multiples of its width."),
    whole("tensor_parallel_size", 1, "Cards that share each layer."),
)


CONFIG = "graph_optimization_config"

OPTIONS = (
    Option(CONFIG, form=Form.JSON),
    *(
        Option(f"{CONFIG}.{key}", key)
        for key in (
            *("cudagraph_capture_sizes", "use_cudagraph", "graph_opt_level", "full_cuda_graph"),
            *("cudagraph_only_prefill", "cudagraph_capture_sizes_prefill"),
            "max_capture_shape_prefill",
        )
    ),
    *(
        Option(f"{CONFIG}.{key}")
        for key in (
            *("use_unique_memory_pool", "draft_model_use_cudagraph", "cudagraph_num_of_warmups"),
        )
    ),
    Option("max_num_seqs", "max_num_seqs"),
    Option("tensor_parallel_size", "tensor_parallel_size"),
    Option("speculative_config", form=Form.JSON),
    Option("speculative_config.num_speculative_tokens", "num_speculative_tokens"),
)

MARKER = r"\[CUDA GRAPH\]"

RULES = (LogRule(r"CUDAGraph capture list \[([\d, ]*)\]", "captured", printed_sizes),)


class FastDeploy(Engine):
    id = "fastdeploy"
    label = "FastDeploy"
    position = 6
    versions = ("main", "2.0")
    assumed = {
        "2.0": "The rule is borrowed from a text before PR 2844 that carries no release; that 2.0 "
        "has it is assumed."
    }
    settings = SETTINGS
    list_setting = "cudagraph_capture_sizes"
    options = OPTIONS
    log_rules = RULES
    log_marker = MARKER
    memory_rule = MemoryAccount(
        rule="What FastDeploy holds back for graphs is not known here.",
        when="not known",
        source="not read",
    )

    def forms(
        self,
        version: str,
        settings: Mapping[str, Any],
        sizes: tuple[int, ...],
        kind: StepKind = StepKind.DECODE,
    ) -> tuple[ExportForm, ...]:
        config: dict[str, Any] = {"use_cudagraph": True}
        if kind is StepKind.PREFILL:
            # Without a decode list the engine would replace the prefill list by its own.
            own = self.plan(version, {**settings, "cudagraph_only_prefill": False}).sizes
            config |= {"cudagraph_only_prefill": True, "cudagraph_capture_sizes": list(own)}
            config |= {"cudagraph_capture_sizes_prefill": list(sizes)}
        else:
            config |= {"graph_opt_level": settings.get("graph_opt_level") or 0}
            config |= {"cudagraph_capture_sizes": list(sizes)}
        return (json_flag("--graph-optimization-config", config),)

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        q = 1 + values["num_speculative_tokens"]
        largest = values["max_num_seqs"] * q
        sizes, dropped, added = _sizes(release, values, wanted, largest)
        if not values["use_cudagraph"]:
            sizes, dropped, added = (), (), ()
        prefill = _prefill(release, values, wanted, sizes)
        decode = sizes if not values["cudagraph_only_prefill"] else ()
        split = prefill and prefill[0].sizes == sizes
        decode_mode = Mode.PIECEWISE if split else Mode.FULL
        return Plan(
            sizes=sizes,
            unit=SizeUnit.TOKENS,
            decode=(GraphList(decode_mode, decode),) if decode else (),
            prefill=prefill,
            tokens_per_request=q,
            full_load=largest,
            dropped=dropped,
            added=added,
            counts=_counts(decode, () if split else prefill),
            notes=("FastDeploy prints the list in descending order.",),
            findings=() if sizes else (NONE_FITS if values["use_cudagraph"] else OFF,),
            source=f"FastDeploy {release} fastdeploy/config.py (docs/engines.md)",
        )


OFF = Finding(
    "graphs-off",
    Severity.WARNING,
    "use_cudagraph is false: no graph is captured, every step runs eager.",
    "--graph-optimization-config '{\"use_cudagraph\":true}'",
    load="every load",
)

NONE_FITS = Finding(
    "graphs-off",
    Severity.WARNING,
    "No size of cudagraph_capture_sizes is usable: no graph is captured, every step runs eager.",
    "Give sizes up to the widest decode step, or leave the list out.",
    load="every load",
)


def _sizes(
    release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None, largest: int
) -> tuple[tuple[int, ...], tuple[Dropped, ...], tuple[int, ...]]:
    """The list, what was dropped, what was added. From main on a list is kept as it is given."""
    asked = candidates(release, largest, 1 + values["num_speculative_tokens"])
    if wanted is not None:
        asked = ladder(wanted if release >= "main" else [*wanted, largest])
    cut = tuple(n for n in asked if n > largest)
    dropped = [Dropped(cut, f"larger than {largest}, the widest decode step")] if cut else []
    sizes = tuple(n for n in asked if n <= largest)
    tp = values["tensor_parallel_size"]
    odd = tuple(n for n in sizes if values["enable_tsp"] and n % tp)
    if odd:
        dropped.append(Dropped(odd, f"not a multiple of tensor_parallel_size {tp}"))
    sizes = tuple(n for n in sizes if n not in odd)
    added = tuple(n for n in sizes if wanted is not None and n not in wanted)
    return sizes, tuple(dropped if wanted is not None else dropped[:0]), added


def candidates(release: Release, largest: int, q: int = 1) -> tuple[int, ...]:
    """The built-in list up to `largest`, which is always part of it.

    q : tokens of a request; main lays the list out in requests and multiplies
    """
    main = release >= "main"
    wide = steps(288, 1024, 32) if main else steps(544, 1024, 32)
    requests = [1, 2, 4, *steps(8, 128, 8), *steps(144, 256, 16), *wide]
    return ladder([*(n * (q if main else 1) for n in requests), largest], largest)


def _prefill(
    release: Release,
    values: dict[str, Any],
    wanted: tuple[int, ...] | None,
    sizes: tuple[int, ...],
) -> tuple[GraphList, ...]:
    """A prefill list counts only beside a decode list; without one main lays out its own."""
    if not sizes:
        return ()
    if values["cudagraph_only_prefill"]:
        largest = values["max_capture_shape_prefill"]
        if wanted is None and release >= "main":
            asked = candidates(release, largest, 1 + values["num_speculative_tokens"])
        else:
            asked = values["cudagraph_capture_sizes_prefill"] or DEFAULT_PREFILL
        return (GraphList(Mode.FULL, ladder(asked, largest)),)
    if values["graph_opt_level"] >= 1 and not values["full_cuda_graph"]:
        return (GraphList(Mode.PIECEWISE, sizes),)
    return ()


def _counts(decode: tuple[int, ...], prefill: tuple[GraphList, ...]) -> tuple[GraphCount, ...]:
    counts = [GraphCount("decode", len(decode))] if decode else []
    return (*counts, *(GraphCount("prefill", len(graphs.sizes)) for graphs in prefill))


ENGINE = FastDeploy()
