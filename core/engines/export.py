"""A chosen list as an engine's own setting, quoted and dumped by libraries, ready to paste."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from core.engines.config import read_config
from core.engines.findings import plan_findings
from core.engines.ladder import as_ranges
from core.engines.plan import Plan, Severity, StepKind
from core.errors import SettingError
from core.records import IntArray, normalised_sizes

if TYPE_CHECKING:
    from core.engines.protocol import Engine


@dataclass(frozen=True)
class ExportForm:
    """One way to tell an engine. name : flag, json, yaml, env, file or python."""

    name: str
    text: str

    @property
    def language(self) -> str:
        """For highlighting."""
        return {"yaml": "yaml", "python": "python", "file": "text"}.get(self.name, "sh")


@dataclass(frozen=True)
class Export:
    """A list as an engine takes it; the first form is the recommended one.

    warnings : what the engine would do to the list, or leave without a graph
    """

    forms: tuple[ExportForm, ...]
    warnings: tuple[str, ...]
    plan: Plan

    @property
    def text(self) -> str:
        return self.forms[0].text

    def form(self, name: str) -> ExportForm:
        """Raises SettingError that lists the forms there are."""
        for form in self.forms:
            if form.name == name:
                return form
        known = ", ".join(form.name for form in self.forms)
        raise SettingError(f"There is no form {name!r} here; known are {known}.")


def export(
    engine: Engine,
    sizes: Sequence[int] | IntArray,
    version: str | None = None,
    settings: Mapping[str, object] | None = None,
    kind: StepKind = StepKind.DECODE,
) -> Export:
    """The list as the release's own setting, with what the engine would change about it.

    sizes : in the unit of the engine's list for `kind`
    Raises SettingError for an engine that takes no list, CaptureSizesError for a bad one.
    """
    wanted = normalised_sizes(sizes)
    release, values, _ = engine.checked_values(version, settings)
    forms = engine.forms(str(release), values, wanted, kind)
    if not forms:
        what = "prefill sizes" if kind is StepKind.PREFILL else "a list of capture sizes"
        raise SettingError(f"{engine.label} {release} has no setting for {what}.")
    given = {**(settings or {}), **engine.export_settings}
    plan = engine.plan(version, given, wanted if kind is StepKind.DECODE else None)
    note = engine.version_note(version)
    warnings = [note] if note else []
    if kind is StepKind.DECODE:
        if engine.list_setting is None:
            plan = engine.plan(version, {**given, **read_config(engine, forms[0].text).settings})
            warnings.append(f"{engine.label} takes no list; this makes it {as_ranges(plan.sizes)}.")
        warnings += _changes(engine, plan, wanted)
    return Export(forms, tuple(dict.fromkeys(warnings)), plan)


def _changes(engine: Engine, plan: Plan, wanted: tuple[int, ...]) -> list[str]:
    """Sentences for everything the engine would alter or leave uncovered."""
    found = plan_findings(plan, lambda sizes: "")
    graver = [f.text for f in found if f.severity is not Severity.INFO or f.id == "sizes-added"]
    listed = engine.list_setting is not None
    if listed and plan.sizes != wanted and not (plan.dropped or plan.added):
        graver.append(f"{engine.label} captures {len(plan.sizes)} sizes instead of this list.")
    return graver


def flag(name: str, sizes: Sequence[int]) -> ExportForm:
    """--name 1 2 4"""
    return ExportForm("flag", shlex.join([name, *map(str, sizes)]))


def comma(name: str, sizes: Sequence[int]) -> str:
    """--name 1,2,4"""
    return shlex.join([name, ",".join(map(str, sizes))])


def json_flag(name: str, data: Mapping[str, Any]) -> ExportForm:
    """--name '{"key":[1,2,4]}'"""
    return ExportForm("json", shlex.join([name, json.dumps(data, separators=(",", ":"))]))


def yaml_text(data: Mapping[str, Any]) -> ExportForm:
    """A block mapping with lists in one line."""
    text = yaml.safe_dump(dict(data), default_flow_style=None, sort_keys=False, width=10**6)
    return ExportForm("yaml", text)


def python_text(call: str, **values: Any) -> ExportForm:
    """call(name=value, ...)"""
    inside = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return ExportForm("python", f"{call}({inside})")
