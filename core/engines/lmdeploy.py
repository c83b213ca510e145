"""LMDeploy (PyTorch engine): decode graphs by requests; the largest batch is always captured.

Source: pytorch/backends/cuda/graph_runner and pytorch/config.py of 0.18.0 and PR #4573, restated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines.export import ExportForm, flag, python_text
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.ladder import ladder, powers_of_two, steps
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
from core.engines.versions import Release
from core.errors import SettingError
from core.records import SizeUnit

SETTINGS = (
    whole("max_batch_size", 128, "Requests in a step at most; LMDeploy's own default varies."),
    size_list(
        "cudagraph_capture_batch_sizes",
        "Your own list, in requests; max_batch_size is always added.",
        minimum=None,
    ),
    whole("piecewise_max_tokens", None, "Piecewise prefill graphs up to these tokens; unset, off."),
    whole("max_prefill_token_num", 8192, "Tokens of a prefill step at most."),
    switch("eager_mode", "Capture nothing."),
)


OPTIONS = (
    Option(
        "cudagraph_capture_batch_sizes",
        "cudagraph_capture_batch_sizes",
        Form.LIST,
    ),
    Option("piecewise_cudagraph_max_tokens", "piecewise_max_tokens"),
    Option("max_batch_size", "max_batch_size"),
    Option("max_prefill_token_num", "max_prefill_token_num"),
    Option("eager_mode", "eager_mode", Form.SWITCH),
)


class LmDeploy(Engine):
    id = "lmdeploy"
    label = "LMDeploy"
    position = 4
    versions = ("0.18.0",)
    settings = SETTINGS
    common_names = {
        "max_num_seqs": "max_batch_size",
        "max_num_batched_tokens": "max_prefill_token_num",
    }
    list_setting = "cudagraph_capture_batch_sizes"
    options = OPTIONS
    memory_rule = MemoryAccount(
        rule="KV cache = free memory x cache_max_entry_count; graphs come on top of it.",
        when="graphs are captured after the KV cache is sized",
        source="LMDeploy cache engine (docs/engines.md)",
        reserved_bytes=0.0,
        effect=GraphsEffect(
            GraphsTake.SLACK,
            "The KV cache is sized first, as cache_max_entry_count of the free memory; graphs use "
            "what that leaves, so the list changes no KV token.",
        ),
    )

    def forms(
        self,
        version: str,
        settings: Mapping[str, Any],
        sizes: tuple[int, ...],
        kind: StepKind = StepKind.DECODE,
    ) -> tuple[ExportForm, ...]:
        if kind is StepKind.PREFILL:
            return ()
        values = {"cudagraph_capture_batch_sizes": list(sizes)}
        return (
            flag("--cudagraph-capture-batch-sizes", sizes),
            python_text("PytorchEngineConfig", **values),
        )

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        largest = values["max_batch_size"]
        sizes, dropped, added = built_in(largest), (), ()
        if wanted is not None:
            sizes, dropped, added = normalised(wanted, largest)
        if values["eager_mode"]:
            sizes, dropped, added = (), (), ()
        prefill = () if values["eager_mode"] else _piecewise(values)
        return Plan(
            sizes=sizes,
            unit=SizeUnit.REQUESTS,
            decode=(GraphList(Mode.FULL, sizes),) if sizes else (),
            prefill=(GraphList(Mode.PIECEWISE, prefill),) if prefill else (),
            full_load=largest,
            above=Mode.ERROR if sizes else Mode.EAGER,
            dropped=dropped,
            added=added,
            counts=_counts(sizes, prefill),
            findings=() if sizes else (EAGER,),
            source="LMDeploy 0.18.0 graph_runner/runner.py, config.py (docs/engines.md)",
        )


EAGER = Finding(
    "graphs-off",
    Severity.WARNING,
    "eager_mode: no graph is captured, every step runs eager.",
    "Leave out --eager-mode.",
    load="every load",
)


def built_in(largest: int) -> tuple[int, ...]:
    """Powers of two to 256, then strides of 256, then the largest batch itself."""
    small = powers_of_two(min(256, largest))
    return ladder([*small, *steps(2 * small[-1], largest, 256), largest])


def normalised(
    wanted: tuple[int, ...], largest: int
) -> tuple[tuple[int, ...], tuple[Dropped, ...], tuple[int, ...]]:
    """The user's list as captured, what was left out, and what was added.

    Raises SettingError for a list of which max_batch_size allows none: it does not start.
    """
    reasons = {
        "not 1 or more": sorted({n for n in wanted if n < 1}),
        f"larger than max_batch_size {largest}": sorted({n for n in wanted if n > largest}),
    }
    dropped = tuple(Dropped(tuple(sizes), why) for why, sizes in reasons.items() if sizes)
    kept = ladder(wanted, largest)
    if not kept:
        raise SettingError(
            f"No size of cudagraph_capture_batch_sizes is between 1 and max_batch_size {largest}, "
            f"so LMDeploy does not start; add {largest} or leave the list out."
        )
    added = () if largest in kept else (largest,)
    return (*kept, *added), dropped, added


def _piecewise(values: dict[str, Any]) -> tuple[int, ...]:
    """Multiples of 512 tokens and the cap itself; off unless asked for."""
    if values["piecewise_max_tokens"] is None:
        return ()
    largest = min(values["piecewise_max_tokens"], values["max_prefill_token_num"])
    return ladder([*steps(512, largest, 512), largest])


def _counts(decode: tuple[int, ...], prefill: tuple[int, ...]) -> tuple[GraphCount, ...]:
    pairs = (("decode", decode), ("piecewise prefill", prefill))
    return tuple(GraphCount(what, len(sizes)) for what, sizes in pairs if sizes)


ENGINE = LmDeploy()
