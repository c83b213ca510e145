"""What reading a file gives: the data, and an honest account of what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.logs.record import EngineLog
from core.records import BucketSet, Grade, LengthHistogram, StepHistogram, Trace


@dataclass(frozen=True)
class Reading:
    """One file, understood.

    format : short name of the format, e.g. "azure-csv"
    label : the same for people, e.g. "Azure LLM trace (CSV)"
    rows : data rows (requests, table rows, steps) seen; kept : those used
    dropped : {reason: rows}; rows == kept + sum(dropped.values())
    dropped_examples : {reason: (line or row numbers, at most 5)}
    columns : {our name: column of the file}; empty for formats without columns
    all_columns : every column name of the file, for remapping
    warnings : sentences for the user: units, ticks, clipping, assumptions made while reading
    facts : what else the file tells (capture seconds, KV tokens, engine version...), JSON types
    captured : the capture sizes an engine's log says it used
    log : what an engine's log states, each with its line; None for other files
    """

    format: str
    label: str
    grade: Grade
    rows: int
    kept: int
    trace: Trace | None = None
    prompt_lengths: LengthHistogram | None = None
    output_lengths: LengthHistogram | None = None
    steps: StepHistogram | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    dropped_examples: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    all_columns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    captured: BucketSet | None = None
    log: EngineLog | None = None
