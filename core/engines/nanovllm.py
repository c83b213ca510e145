"""nano-vllm: decode graphs by requests on a fixed grid, with a gap above its last size.

Source: repository at bb823b3e (2026-04-26), restated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.ladder import ladder, steps
from core.engines.memory import MemoryAccount
from core.engines.options import Form, Option
from core.engines.plan import Finding, GraphCount, GraphList, Mode, Plan, Severity
from core.engines.protocol import Engine
from core.engines.settings import switch, whole
from core.engines.versions import Release
from core.records import SizeUnit

LARGEST = 512
"""Batches above it run eager; batches up to it must find a graph."""

SETTINGS = (
    whole("max_num_seqs", 512, "Requests in a step at most; sizes end at the multiple of 16."),
    switch("enforce_eager", "Capture nothing."),
)

OFF = Finding(
    "graphs-off",
    Severity.WARNING,
    "enforce_eager: no graph is captured, every step runs eager.",
    "Leave out enforce_eager.",
    load="every load",
)

NO_LIST = "nano-vllm takes no list of sizes; this one is a what-if."


class NanoVllm(Engine):
    id = "nano-vllm"
    label = "nano-vllm"
    aliases = ("nanovllm",)
    position = 10
    versions = ("2026-04-26",)
    settings = SETTINGS
    options = (
        Option("max_num_seqs", "max_num_seqs"),
        Option("enforce_eager", "enforce_eager", Form.SWITCH),
    )
    memory_rule = MemoryAccount(
        rule="KV cache = memory x utilization - used - peak + current; graphs come on top of it.",
        when="graphs are captured after the KV cache is sized",
        source="nano-vllm model runner (docs/engines.md)",
        reserved_bytes=0.0,
        effect=GraphsEffect(
            GraphsTake.SLACK,
            "The KV cache is sized first, from gpu_memory_utilization; graphs use the memory that "
            "it leaves, so the list changes no KV token.",
        ),
    )

    def fix_line(self, version: str, settings: Mapping[str, Any], sizes: tuple[int, ...]) -> str:
        return "Make max_num_seqs a multiple of 16."

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        requests = values["max_num_seqs"]
        # The first four sizes are there whatever the limit.
        sizes = (1, 2, 4, 8, *steps(16, min(requests, LARGEST), 16))
        sizes = sizes if wanted is None else ladder(wanted)
        if values["enforce_eager"]:
            sizes = ()
        return Plan(
            sizes=sizes,
            unit=SizeUnit.REQUESTS,
            decode=(GraphList(Mode.FULL, sizes),) if sizes else (),
            full_load=requests,
            above=Mode.ERROR if sizes else Mode.EAGER,
            eager_above=LARGEST,
            counts=(GraphCount("decode", len(sizes)),) if sizes else (),
            notes=(NO_LIST,) if wanted is not None else (),
            findings=() if sizes else (OFF,),
            source="nano-vllm bb823b3e model runner (docs/engines.md)",
        )


ENGINE = NanoVllm()
