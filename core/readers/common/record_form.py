"""Any JSON with an object a request -> a Reading, by the paths that a format or the user names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.readers.common.clock import Clock
from core.readers.common.columns import unit_in_name
from core.readers.common.drops import Drops
from core.readers.common.head import Head
from core.readers.common.records_in import RecordCollector, dig, iter_objects, only_model
from core.readers.common.requests import Notes, requests_reading
from core.readers.common.source import Source
from core.readers.common.table import add_models
from core.readers.options import ReadOptions
from core.readers.reading import Reading

Rule = Callable[[Mapping[str, Any]], str | None]
Get = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class RecordForm:
    """How a file of objects is read.

    column_map : {our name: path, "a.b" for an object in an object}
    rule : an object -> the reason to leave it out
    prompt, output, arrival : take the place of a path where a path is not enough
    time_unit : unit of numeric arrivals where the format fixes it
    """

    name: str
    label: str
    column_map: Mapping[str, str]
    rule: Rule | None = None
    model: str | None = None
    time_unit: str | None = None
    prompt: Get | None = None
    output: Get | None = None
    arrival: Get | None = None
    notes: tuple[str, ...] = ()


def read_records(source: Source, head: Head, form: RecordForm, options: ReadOptions) -> Reading:
    """Texts and ids of the objects are dropped as soon as its numbers are taken."""
    columns = {**form.column_map, **options.columns}
    get = {
        role: _getter(role, columns, options, own)
        for role, own in (
            ("prompt_tokens", form.prompt),
            ("output_tokens", form.output),
            ("arrival", form.arrival),
        )
    }
    has_arrival = "arrival" in columns or form.arrival is not None
    known = form.time_unit or unit_in_name(columns.get("arrival", ""))
    drops, tally = Drops(), {}
    clock = Clock(options.time_unit, known)
    rows = RecordCollector(clock, drops, wants_arrival=has_arrival)
    model_rule = only_model(options.model, tally)
    names: tuple[str, ...] = ()
    for number, row in iter_objects(source, head, drops):
        names = names or tuple(str(key) for key in row)
        reason = form.rule(row) if form.rule else None
        if reason is None and form.model:
            reason = model_rule(dig(row, form.model))
        if reason:
            drops.add(reason, number)
            continue
        rows.add(number, *(get[r](row) for r in ("prompt_tokens", "output_tokens", "arrival")))
    requests = rows.finish()
    notes = Notes(list(form.notes), {}, columns, names)
    if has_arrival:
        notes.facts["time_unit"] = clock.description
        notes.warnings += clock.warnings
    if tally:
        add_models(notes, tally)
    return requests_reading(form.name, form.label, source.name, requests, drops, notes, options)


def _getter(role: str, columns: Mapping[str, str], options: ReadOptions, own: Get | None) -> Get:
    if own is not None and role not in options.columns:
        return own
    path = columns.get(role)
    return (lambda row: dig(row, path)) if path else (lambda row: None)
