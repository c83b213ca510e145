"""A user's configuration as text: a command line, JSON, YAML or a start-up log -> settings.

What is written but does not exist in the release, is written twice, or is not known here, becomes
a finding; nothing is passed over without a word.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import yaml

from core.engines.options import Given, Option, Table, read_command, read_mapping
from core.engines.plan import Finding, Severity
from core.engines.versions import Release
from core.errors import FileContentError, SettingError
from core.logs.record import EngineLog

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
    log, notes : of a start-up log; what was assumed beside it
    """

    source: str
    settings: dict[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    ignored: tuple[str, ...] = ()
    version: str | None = None
    log: EngineLog | None = None
    notes: tuple[str, ...] = ()


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
    if engine.log_form is not None and engine.log_form.shows(text):
        return config_of_log(engine, engine.log_form.read(text))
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


def config_of_log(engine: Engine, log: EngineLog) -> Config:
    """What a start-up log states, as a configuration of `engine`."""
    settings, notes = engine.log_settings(log)
    version = log.release.value if log.release is not None else None
    return Config("start-up log", settings, version=version, log=log, notes=notes)


def _given_options(engine: Engine, text: str, table: Table) -> tuple[str, Sequence[Given]]:
    stripped = text.strip()
    if stripped.startswith("{"):
        try:
            data = json.loads(stripped)
        except (ValueError, RecursionError) as error:
            raise FileContentError(
                f"The configuration looks like JSON but is none: {error}."
            ) from error
        return "JSON", read_mapping(data, table)
    data = _yaml(stripped)
    if data is not None:
        return "YAML", read_mapping(data, table)
    return "command line", read_command(stripped, table, engine.rewrites)


def _yaml(text: str) -> dict[str, Any] | None:
    """A YAML mapping with text keys, or None for anything else."""
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if re.search(r"(?:^|\s)--?\w", text):
            return None
        reason = " ".join(str(error).split())
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
    known = [(option, g) for g in given if (option := table.find(g.path)) is not None]
    for option, g in sorted(known, key=lambda pair: rank[id(pair[0])]):
        findings += _release_findings(engine, release, option, g)
        for name, value in _values(option, g).items():
            if name in written and written[name].path != g.path:
                findings.append(_twice(engine, name, written[name], g))
                continue
            settings[name], written[name] = value, g
    for g in given:
        if table.find(g.path) is None:
            finding = _unknown(engine, table, g)
            findings += [finding] if finding else []
            ignored += [] if finding else [g.written]
    return Config("", settings, tuple(findings), tuple(dict.fromkeys(ignored)))


def _values(option: Option, given: Given) -> dict[str, Any]:
    """{setting: value}. Raises SettingError for a value that has no meaning."""
    value = given.value
    if option.form.value == "switch" and value == "":
        value = True
    try:
        value = option.convert(value) if option.convert else value
    except (TypeError, ValueError, AttributeError) as error:
        raise SettingError(f"{given.written} is {given.value!r}, which cannot be read.") from error
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
