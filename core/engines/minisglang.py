"""mini-sglang: decode graphs by requests on a fixed grid, without a list of one's own.

Source: repository at 20fcd7f3 (2026-03-13), restated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines.export import ExportForm, flag
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.ladder import ceil_to, ladder, steps
from core.engines.memory import MemoryAccount
from core.engines.options import Option
from core.engines.plan import Finding, GraphCount, GraphList, Mode, Plan, Severity, StepKind
from core.engines.protocol import Engine
from core.engines.settings import number, whole
from core.engines.startup_log import LogRule
from core.engines.startup_log import sizes as printed_sizes
from core.engines.versions import Release
from core.records import SizeUnit

FIRST = (1, 2, 4)
"""Captured whatever maximum of 1 or more is given."""

SETTINGS = (
    whole("cuda_graph_max_bs", None, "Largest size; 0 switches graphs off.", minimum=0),
    number("free_memory_gib", 72.0, "Free memory before capture [GiB]; above 80 allows 256."),
    whole("max_running_requests", None, "Requests in a step at most; unset, memory decides."),
)

OFF = Finding(
    "graphs-off",
    Severity.WARNING,
    "--cuda-graph-max-bs 0: no graph is captured, every step runs eager.",
    "Leave out --cuda-graph-max-bs.",
    load="every load",
)


OPTIONS = (
    Option("cuda_graph_max_bs", "cuda_graph_max_bs"),
    Option("max_running_requests", "max_running_requests"),
)

MARKER = r"Start capturing CUDA graphs with sizes"

RULES = (
    LogRule(r"Start capturing CUDA graphs with sizes: \[([\d, ]*)\]", "captured", printed_sizes),
    LogRule(
        r"Free GPU memory before capturing CUDA graphs: ([\d.]+) GiB",
        "settings.free_memory_gib",
        float,
    ),
)


class MiniSglang(Engine):
    id = "mini-sglang"
    label = "mini-sglang"
    aliases = ("minisglang",)
    position = 9
    versions = ("2026-03-13",)
    settings = SETTINGS
    common_names = {
        "max_num_seqs": "max_running_requests",
    }
    max_settings = ("cuda_graph_max_bs",)
    options = OPTIONS
    log_rules = RULES
    log_marker = MARKER
    memory_rule = MemoryAccount(
        rule="KV cache = free memory x memory ratio; graphs come on top of it.",
        when="graphs are captured after the KV cache is sized",
        source="mini-sglang engine (docs/engines.md)",
        reserved_bytes=0.0,
        effect=GraphsEffect(
            GraphsTake.SLACK,
            "The KV cache is sized first, as a share of the free memory; graphs use what that "
            "leaves, so the list changes no KV token.",
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
        # 1, 2 and 4 are captured under any maximum; above them only multiples of 8 are.
        largest = FIRST[-1] if sizes[-1] <= FIRST[-1] else ceil_to(sizes[-1], 8)
        return (flag("--cuda-graph-max-bs", [largest]),)

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        largest = values["cuda_graph_max_bs"]
        if largest is None:
            largest = 256 if values["free_memory_gib"] > 80 else 160
        grid = ladder([*FIRST, *steps(8, largest, 8)]) if largest else ()
        sizes = grid if wanted is None else ladder(wanted)
        return Plan(
            sizes=sizes,
            unit=SizeUnit.REQUESTS,
            decode=(GraphList(Mode.FULL, sizes),) if sizes else (),
            asked_max=largest if wanted is None and largest > FIRST[-1] else None,
            full_load=values["max_running_requests"],
            counts=(GraphCount("decode", len(sizes)),) if sizes else (),
            notes=(NO_LIST,) if wanted is not None else (),
            findings=() if sizes else (OFF,),
            source="mini-sglang 20fcd7f3 engine graph runner (docs/engines.md)",
        )


NO_LIST = "mini-sglang takes no list of sizes; this one is a what-if."

ENGINE = MiniSglang()
