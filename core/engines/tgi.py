"""Text Generation Inference: decode graphs by rows, a row a request and drafted token.

Source: launcher and server at db931fcf (2026-01-08, after 3.3.7), restated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines.export import ExportForm, comma
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.ladder import ladder
from core.engines.memory import MemoryAccount
from core.engines.options import Option
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
from core.engines.startup_log import LogRule
from core.engines.startup_log import sizes as printed_sizes
from core.engines.versions import Release
from core.records import SizeUnit

DEFAULT = (1, 2, 4, 8, 16, 32)

SETTINGS = (
    size_list("cuda_graphs", "Your own list, in rows; 0 switches graphs off.", minimum=0),
    whole("speculate", 0, "Draft tokens of a request in a decode step.", 0, 1024),
    choice(
        "quantize",
        "none",
        ("none", "bitsandbytes", "bitsandbytes-nf4", "bitsandbytes-fp4", "exl2", "other"),
        "bitsandbytes (8 bits) and exl2 capture nothing unless a list is given.",
    ),
    switch("lora_adapters", "Serve LoRA adapters: no graphs."),
    whole("max_batch_size", None, "Requests in a step at most; unset, memory decides."),
)


OPTIONS = (
    Option("cuda_graphs", "cuda_graphs"),
    Option("speculate", "speculate"),
    Option("quantize", "quantize", convert=lambda value: _quantisation(str(value))),
    Option("lora_adapters", "lora_adapters", convert=bool),
    Option("max_batch_size", "max_batch_size"),
)

MARKER = r"Cuda Graphs are (?:enabled|disabled)|Using default cuda graphs"

RULES = (
    LogRule(r"Using default cuda graphs \[([\d, ]*)\]", "captured", printed_sizes),
    LogRule(r"Cuda Graphs are enabled for sizes \[([\d, ]*)\]", "captured", printed_sizes),
    LogRule(r"Cuda Graphs are (disabled)", "settings.cuda_graphs", lambda _: (0,)),
    LogRule(r"KV-cache blocks: (\d+)", "facts.kv_blocks", int),
)


class Tgi(Engine):
    id = "tgi"
    label = "TGI"
    aliases = ("text-generation-inference",)
    position = 5
    versions = ("3.3.7",)
    settings = SETTINGS
    common_names = {
        "max_num_seqs": "max_batch_size",
        "num_speculative_tokens": "speculate",
    }
    list_setting = "cuda_graphs"
    options = OPTIONS
    log_rules = RULES
    log_marker = MARKER
    memory_rule = MemoryAccount(
        rule="KV blocks = free memory x fraction x TGI_WIGGLE_ROOM (0.90) after a prefill warm-up; "
        "graphs come on top, and running out of memory is only logged.",
        when="graphs are captured after the KV cache is sized",
        source="TGI server warmup (docs/engines.md)",
        reserved_bytes=0.0,
        effect=GraphsEffect(
            GraphsTake.SLACK,
            "The KV cache is sized first; graphs use the tenth that TGI_WIGGLE_ROOM leaves, so the "
            "list changes no KV token. Where they do not fit, steps run without graphs.",
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
        variable = "CUDA_GRAPHS=" + ",".join(map(str, sizes))
        return (
            ExportForm("flag", comma("--cuda-graphs", sizes)),
            ExportForm("env", variable),
        )

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        rows = 1 + values["speculate"]
        asked = _asked(values, wanted)
        sizes = tuple(n for n in asked if n >= rows)
        small = tuple(n for n in asked if n < rows)
        dropped = (Dropped(small, f"smaller than {rows}, the rows of one request"),)
        requests = values["max_batch_size"]
        return Plan(
            sizes=sizes,
            unit=SizeUnit.REQUESTS if rows == 1 else SizeUnit.TOKENS,
            decode=(GraphList(Mode.FULL, sizes),) if sizes else (),
            tokens_per_request=rows,
            full_load=requests * rows if requests else None,
            dropped=dropped if small else (),
            counts=(GraphCount("decode", len(sizes)),) if sizes else (),
            notes=() if rows == 1 else (f"A request takes {rows} rows with speculation.",),
            findings=() if sizes else (_off(values),),
            source="TGI launcher and server after 3.3.7 (docs/engines.md)",
        )


def _quantisation(name: str) -> str:
    """The setting's word for TGI's many names; the two 4-bit ones keep the default list."""
    return name if name.startswith("bitsandbytes") or name == "exl2" else "other"


def _asked(values: dict[str, Any], wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    if values["lora_adapters"]:
        return ()
    if wanted is not None:
        return ladder(wanted)  # 0 is filtered, so 0 alone switches graphs off
    return () if values["quantize"] in ("bitsandbytes", "exl2") else DEFAULT


def _off(values: dict[str, Any]) -> Finding:
    if values["lora_adapters"]:
        reason, fix = "LoRA adapters switch graphs off", "Serve merged weights to have graphs."
    elif values["cuda_graphs"] is not None:
        reason, fix = "the list leaves none", "--cuda-graphs 1,2,4,8,16,32"
    else:
        reason, fix = f"{values['quantize']} captures none", "--cuda-graphs 1,2,4,8,16,32"
    text = f"No graph is captured ({reason}); every step runs eager."
    return Finding("graphs-off", Severity.WARNING, text, fix, load="every load")


ENGINE = Tgi()
