"""A user's configuration as text: a command line, JSON, YAML or a start-up log -> settings.

What is written but does not exist in the release, is written twice, or is not known here, becomes
a finding; nothing is passed over without a word.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from core.engines.options import (
    Given,
    Option,
    Table,
    read_command,
    read_mapping,
    read_object,
)
from core.engines.plan import Finding, Severity
from core.engines.startup_log import LogReading, read_log
from core.engines.versions import Release
from core.errors import FileContentError, SettingError
from core.text.variables import variables_in
from core.text.yaml_text import check_extent, read_yaml

if TYPE_CHECKING:
    from core.engines.protocol import Engine


_KEY = re.compile(r"[\w.-]+\Z")
SLIP = 0.9
"""How alike (difflib's ratio) two names are for one to be a slip of the other."""


@dataclass(frozen=True)
class Config:
    """A configuration, understood.

    source : "command line", "JSON", "YAML", "start-up log" or another form of that engine
    version : the release the text itself names, or None
    ignored : what was written but changes no graph, as written
    unset : variables that nothing sets and on which a setting depends, or may depend
    """

    source: str
    settings: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    ignored: tuple[str, ...] = ()
    version: str | None = None
    log: LogReading | None = None
    unset: tuple[str, ...] = ()


def read_config(engine: Engine, text: str, version: str | None = None) -> Config:
    """Read a configuration of `engine`; what it is is decided by content.

    Raises FileContentError for text that is none of the forms.
    """
    if not text.strip():
        raise FileContentError(
            "The configuration is empty; give flags, JSON, YAML or a start-up log."
        )
    own = engine.read_own_form(text)
    if own is not None:
        return own
    if engine.log_marker and re.search(engine.log_marker, text):
        return _from_log(engine, text)
    table = Table(engine.options)
    source, given = _given_options(engine, text, table)
    release, *_ = engine.checked_values(version)
    config = _as_settings(engine, release, table, given)
    return replace(
        config, source=source, findings=(*_nothing(engine, text, config), *config.findings)
    )


def _nothing(engine: Engine, text: str, config: Config) -> tuple[Finding, ...]:
    """A finding for a text that sets nothing and does not even name the engine."""
    named = {engine.id, engine.label.lower()}
    if config.settings or config.findings or any(name in text.lower() for name in named):
        return ()
    says = f"No setting of {engine.label} was found in the text; its defaults are shown."
    return (Finding("nothing-read", Severity.WARNING, says, "Paste flags, a config or a log."),)


def _from_log(engine: Engine, text: str) -> Config:
    log = engine.complete_log(read_log(text, engine.log_rules))
    return Config("start-up log", dict(log.settings), version=log.version, log=log)


def _given_options(engine: Engine, text: str, table: Table) -> tuple[str, Sequence[Given]]:
    stripped = text.strip()
    if stripped.startswith("{") and not stripped.startswith("{{"):
        source, data = read_object(stripped)
        check_extent(data)
        return source, read_mapping(data, table)
    data = _yaml(stripped)
    if data is not None:
        return "YAML", read_mapping(data, table)
    return "command line", read_command(stripped, table, engine.rewrites)


def _yaml(text: str) -> dict[str, Any] | None:
    """A YAML mapping with text keys, or None for anything else."""
    try:
        data = read_yaml(text)
    except FileContentError as error:
        if re.search(r"(?:^|[\s'\"])--?\w", text):
            return None
        reason = str(error).removeprefix("YAML: ").removesuffix(".")
        raise FileContentError(f"The configuration is neither flags nor YAML: {reason}.") from error
    # A key is one word: a command line whose JSON holds ": " would else pass for one long key.
    if isinstance(data, dict) and all(isinstance(key, str) and _KEY.match(key) for key in data):
        return data
    return None


def _as_settings(engine: Engine, release: Release, table: Table, given: Sequence[Given]) -> Config:
    settings: dict[str, Any] = {}
    written: dict[str, Given] = {}
    findings: list[Finding] = []
    ignored: list[str] = []
    rank = {id(option): place for place, option in enumerate(engine.options)}
    given, moved = _in_place(engine, table, given)
    findings += moved
    known = [(option, g) for g in given if (option := table.find(g.path)) is not None]
    for option, g in sorted(known, key=lambda pair: rank[id(pair[0])]):
        findings += _release_findings(engine, release, option, g)
        if variables_in(g.value):
            findings.append(_unset(engine, g))
            continue
        for name, value in _values(option, g).items():
            if name in written and written[name].path != g.path:
                findings.append(_twice(engine, name, written[name], g))
                continue
            settings[name], written[name] = value, g
    unknown: dict[str, Finding | None] = {}
    for g in given:
        if not g.path:
            findings.append(_any_flags(engine, g))
        elif table.find(g.path) is None and g.path not in unknown:
            unknown[g.path] = finding = _unknown(engine, table, g)
            findings += [finding] if finding else []
            ignored += [] if finding else [g.written]
    asked = [name for _, g in known for name in variables_in(g.value)]
    asked += [name for g in given if not g.path for name in variables_in(g.value)]
    config = Config("", settings, tuple(findings), tuple(dict.fromkeys(ignored)))
    return replace(config, unset=tuple(dict.fromkeys(asked)))


def _in_place(
    engine: Engine, table: Table, given: Sequence[Given]
) -> tuple[tuple[Given, ...], list[Finding]]:
    """Keys that stand alone are read where they belong, and a finding says where that is."""
    placed: list[Given] = []
    findings: list[Finding] = []
    for g in given:
        path = table.nested(g.path) if table.find(g.path) is None else None
        placed.append(replace(g, path=path) if path else g)
        if path:
            holder = path.rpartition(".")[0]
            text = f"{g.written} is a key of {holder} in {engine.label}; it was read as such."
            fix = f"Write it inside {holder}."
            findings.append(Finding("key-misplaced", Severity.WARNING, text, fix))
    return tuple(placed), findings


UNSET = "variable-unset"


def _unset(engine: Engine, given: Given) -> Finding:
    """A value that is a variable: asked for by name, never taken for a value."""
    names = _names(given)
    shown = given.value if isinstance(given.value, str) else " ".join(map(str, given.value))
    text = (
        f"{given.written} is {shown[:80]}, and nothing here sets {names}; it was not read, so the "
        f"answer stands on {engine.label}'s own default for it."
    )
    return Finding(UNSET, Severity.WARNING, text, f"Give the value of {names}.")


def _names(given: Given) -> str:
    """The variables of a value, in words; $1 and $@ are the script's own arguments."""
    names = variables_in(given.value)
    return ", ".join(f"${n}" if n.isdigit() or n in ("@", "*") else n for n in names)


def _any_flags(engine: Engine, given: Given) -> Finding:
    """A word that is a variable alone may hold any flags."""
    names = _names(given)
    text = f"{given.written} may hold further flags, and nothing here sets {names}."
    return Finding(UNSET, Severity.WARNING, text, f"Give the value of {names}.")


def _values(option: Option, given: Given) -> dict[str, Any]:
    """{setting: value}. Raises SettingError for a value that has no meaning."""
    value = given.value
    if option.form.value == "switch" and value == "":
        value = True
    try:
        value = option.convert(value) if option.convert else value
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        shown = reprlib.repr(given.value)
        raise SettingError(f"{given.written} is {shown}, which cannot be read.") from error
    if option.setting is None:
        return value if isinstance(value, dict) else {}
    return {option.setting: value}


def _release_findings(
    engine: Engine, release: Release, option: Option, given: Given
) -> list[Finding]:
    instead = f"Use {option.instead}." if option.instead else f"Leave out {given.written}."
    if option.until is not None and release >= option.until:
        text = f"{given.written} is gone since {engine.label} {option.until}; {release} refuses it."
        return [Finding("flag-removed", Severity.ERROR, text, instead)]
    if option.since is not None and release < option.since:
        text = f"{given.written} does not exist in {engine.label} {release} (from {option.since})."
        return [Finding("flag-too-new", Severity.ERROR, text, instead)]
    if option.deprecated is not None and release >= option.deprecated:
        text = f"{given.written} is announced as going since {engine.label} {option.deprecated}."
        return [Finding("flag-deprecated", Severity.WARNING, text, instead)]
    return []


def _twice(engine: Engine, name: str, first: Given, second: Given) -> Finding:
    text = f"{first.written} and {second.written} both give {name}"
    if engine.refuses_twice:
        return Finding(
            "set-twice",
            Severity.ERROR,
            f"{text}; {engine.label} does not start.",
            f"Leave out {second.written}.",
        )
    return Finding(
        "set-twice",
        Severity.WARNING,
        f"{text}; {first.written} wins.",
        f"Leave out {second.written}.",
    )


def _unknown(engine: Engine, table: Table, given: Given) -> Finding | None:
    """A finding for an unknown name that looks like graphs or like a slip; None for any other."""
    graphs = re.search(r"graph|capture|bucket", given.path) is not None
    cutoff = 0.75 if graphs else SLIP
    near = difflib.get_close_matches(given.path, list(table.by_name), n=1, cutoff=cutoff)
    if not graphs and not near:
        return None
    return Finding(
        "unknown-graph-option" if graphs else "misspelt-option",
        Severity.WARNING,
        f"{given.written} is not known here for {engine.label}; it was not read.",
        f"Did you mean {near[0]}?" if near else "Check its spelling and release.",
    )
