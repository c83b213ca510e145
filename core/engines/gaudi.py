"""vLLM on Gaudi: three-dimensional buckets; what no bucket holds is compiled while serving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.engines import _gaudi_buckets as rule
from core.engines._gaudi_ladders import run_time_bucket
from core.engines._gaudi_text import (
    OPTIONS,
    bucket_file,
    looks_like_bucket_file,
    read_bucket_file,
    variable,
)
from core.engines.config import Config
from core.engines.export import ExportForm
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.ladder import ladder
from core.engines.memory import GraphCost, MemoryAccount
from core.engines.plan import Finding, GraphCount, GraphList, Mode, Plan, Severity, StepKind
from core.engines.protocol import Engine
from core.engines.settings import (
    LARGEST,
    Setting,
    SettingType,
    choice,
    number,
    size_list,
    switch,
    whole,
)
from core.engines.versions import Release
from core.errors import FileContentError
from core.logs.gaudi import FORM
from core.records import SizeUnit

_PART_HELP = {
    "min": "Smallest bucket",
    "step": "Step of the buckets",
    "max": "Largest bucket",
    "pad_max": "Padding allowed, absolute (strategy pad)",
    "pad_percent": "Padding allowed, in percent (strategy pad)",
}


def _variables() -> tuple[Setting, ...]:
    """VLLM_<PHASE>_<DIMENSION>_BUCKET_<PART>, all unset."""
    return tuple(
        Setting(
            f"{name}_{part}",
            SettingType.INT,
            None,
            f"{_PART_HELP[part]} of {name}.",
            minimum=1 if part in ("step", "pad_max") else 0,
            maximum=50 if part == "pad_percent" else LARGEST,
        )
        for name in rule.DIMENSIONS
        for part in rule.FIELDS
    )


SETTINGS = (
    whole("max_num_seqs", 256, "Requests in a step at most."),
    whole("max_num_batched_tokens", 8192, "Tokens in a step at most.", minimum=2),
    whole("max_model_len", 4096, "Longest sequence in tokens.", 2, 2**24),
    whole("block_size", 128, "Tokens of a KV block."),
    whole("max_num_prefill_seqs", 1, "Prompts in a prefill step at most."),
    whole("num_hpu_blocks", None, "KV blocks on the device; unset, memory decides."),
    whole("num_speculative_tokens", 0, "Draft tokens of a request in a decode step.", 0, 1024),
    choice("strategy", "exp", ("exp", "lin", "pad"), "How each dimension is laid out."),
    switch("contiguous_pa", "Contiguous paged attention.", default=True),
    size_list("decode_bs", "Decode batches of a bucket file, in requests."),
    number("graph_reserved_mem", 0.1, "Part of usable memory held back for graphs.", maximum=1),
    switch("enforce_eager", "Capture nothing."),
    *_variables(),
)


class Gaudi(Engine):
    id = "gaudi"
    label = "vLLM Gaudi"
    aliases = ("vllm-gaudi", "hpu")
    position = 7
    versions = ("0.26",)
    settings = SETTINGS
    list_setting = "decode_bs"
    options = OPTIONS
    log_form = FORM
    off_settings = {"enforce_eager": True}

    def forms(
        self,
        version: str,
        settings: Mapping[str, Any],
        sizes: tuple[int, ...],
        kind: StepKind = StepKind.DECODE,
    ) -> tuple[ExportForm, ...]:
        if kind is StepKind.PREFILL:
            return ()
        _, values, _ = self.checked_values(version, settings)
        blocks = ladder(ctx for *_, ctx in rule.decode_buckets(values, sizes))
        text = bucket_file(sizes, blocks, rule.prompt_buckets(values))
        return (
            ExportForm("file", text),
            ExportForm("env", "VLLM_BUCKETING_FROM_FILE=buckets.txt"),
        )

    def fix_line(self, version: str, settings: Mapping[str, Any], sizes: tuple[int, ...]) -> str:
        return f"Give a bucket file with the decode batches {', '.join(map(str, sizes))}."

    def read_own_form(self, text: str) -> Config | None:
        """A bucket file: its decode batches become the list."""
        if not looks_like_bucket_file(text):
            return None
        decode = ladder(bs for bs, query, _ in read_bucket_file(text) if query == 1)
        if not decode:
            raise FileContentError("The bucket file holds no decode bucket (query 1).")
        return Config("bucket file", {"decode_bs": decode})

    def _memory(
        self,
        release: Release,
        values: dict[str, Any],
        plan: Plan,
        costs: Mapping[str, GraphCost],
    ) -> MemoryAccount:
        part = values["graph_reserved_mem"]
        return MemoryAccount(
            rule=f"{part:.0%} of usable memory is held back for graphs (VLLM_GRAPH_RESERVED_MEM), "
            "however many buckets there are; the KV cache takes the rest.",
            when="graphs are captured after the KV cache is sized",
            source="vllm-gaudi worker (docs/engines.md)",
            kv_fraction=1 - part,
            effect=GraphsEffect(
                GraphsTake.RESERVE,
                f"{part:.0%} of the usable memory is held back for graphs whatever the buckets "
                "are: fewer buckets free no KV token, a smaller VLLM_GRAPH_RESERVED_MEM does.",
            ),
        )

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        sizes = ladder(wanted or rule.dimension(values, "decode_bs"))
        if values["enforce_eager"]:
            sizes = ()
        decode = rule.decode_buckets(values, sizes) if sizes else ()
        prompt = rule.prompt_buckets(values) if sizes else ()
        queries = ladder(query for _, query, _ in prompt)
        batches = ladder(bs for bs, _, _ in decode)
        return Plan(
            sizes=sizes,
            unit=SizeUnit.REQUESTS,
            decode=(GraphList(Mode.FULL, batches),) if sizes else (),
            prefill=(GraphList(Mode.FULL, queries),) if queries else (),
            prefill_unit=SizeUnit.LENGTH,
            full_load=values["max_num_seqs"],
            above=Mode.RECOMPILE if sizes else Mode.EAGER,
            counts=(GraphCount("decode", len(decode)), GraphCount("prompt", len(prompt))),
            notes=_notes(values),
            findings=_findings(values, sizes),
            source="vllm-gaudi 091bbadd extension/bucketing (docs/engines.md)",
        )

    def run_time_size(self, size: int) -> int:
        return run_time_bucket(size, 2)

    def buckets(
        self,
        kind: StepKind,
        version: str | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> tuple[rule.Bucket, ...]:
        """Every (batch, query, context blocks) that is warmed up. Raises SettingError."""
        _, values, wanted = self.checked_values(version, settings)
        if kind is StepKind.PREFILL:
            return rule.prompt_buckets(values)
        return rule.decode_buckets(values, wanted or rule.dimension(values, "decode_bs"))


def _notes(values: dict[str, Any]) -> tuple[str, ...]:
    notes = ["Buckets are (batch, query, KV blocks); the list shown is the decode batch."]
    if values["max_model_len"] >= 8192:
        notes.append("From a max_model_len of 8192 the context is limited per query; not modelled.")
    if values["num_hpu_blocks"] is None:
        notes.append("num_hpu_blocks not given: block buckets follow max_model_len alone.")
    return tuple(notes)


def _findings(values: dict[str, Any], sizes: tuple[int, ...]) -> tuple[Finding, ...]:
    if not sizes:
        text = "enforce_eager: no graph is captured, every step runs eager."
        fix = "Leave out --enforce-eager."
        return (Finding("graphs-off", Severity.WARNING, text, fix, load="every load"),)
    given = [
        variable(name, part)
        for name in rule.DIMENSIONS
        for part in rule.FIELDS
        if values[f"{name}_{part}"] is not None
        and not (name == "prompt_query" and part == "min" and values["prompt_query_min"] == 1)
    ]
    if values["strategy"] != "exp" or not given:
        return ()
    text = f"The exponential strategy ignores {', '.join(given)}."
    return (
        Finding(
            "ignored-under-exp",
            Severity.WARNING,
            text,
            "VLLM_BUCKETING_STRATEGY=lin",
            load="every load",
        ),
    )


ENGINE = Gaudi()
