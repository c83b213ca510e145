"""What would really happen with a configuration, without a card: the plan and its findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.engines.config import Config, config_of_log, read_config
from core.engines.findings import Fix, plan_findings
from core.engines.log_findings import log_findings, memory_finding, reasoned, roomy
from core.engines.plan import Finding, Plan, Severity
from core.engines.traffic_findings import with_shares
from core.errors import SettingError
from core.logs.record import EngineLog
from core.records import SizeUnit, StepHistogram

if TYPE_CHECKING:
    from core.engines.protocol import Engine

KEEPS_FROM_STARTING = ("start-refused", "flag-removed", "flag-too-new", "set-twice")
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True)
class CheckReport:
    """The answer for one engine, release and configuration.

    version : the release whose rule answered; source : where the settings came from
    plan : None when the engine would not start
    findings : gravest first
    ignored : what was written but changes no graph
    """

    engine: str
    version: str
    source: str
    settings: Mapping[str, Any]
    plan: Plan | None
    findings: tuple[Finding, ...]
    ignored: tuple[str, ...] = ()
    log: EngineLog | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def sizes(self) -> tuple[int, ...]:
        """The list the engine ends up with; empty when it would not start."""
        return self.plan.sizes if self.plan else ()

    @property
    def unit(self) -> SizeUnit | None:
        return self.plan.unit if self.plan else None

    @property
    def starts(self) -> bool:
        """Whether the engine would start at all."""
        return not any(
            finding.id in KEEPS_FROM_STARTING and finding.severity is Severity.ERROR
            for finding in self.findings
        )


def check(
    engine: Engine,
    version: str | None = None,
    settings: Mapping[str, object] | None = None,
    text: str | None = None,
    histogram: StepHistogram | None = None,
    log: EngineLog | None = None,
) -> CheckReport:
    """Check settings, and a configuration text whose settings they complete and override.

    log : a start-up log that was read before, in place of a text
    version : None takes the release that the text names, else the newest known
    Raises FileContentError for text that cannot be read, SettingError for settings that are unknown
    or out of range. A combination with which the engine does not start is a finding.
    """
    config = _config(engine, text, version, log)
    version = version or config.version
    values = _joined(engine, config, settings or {})
    release, *_ = engine.checked_values(version, values)
    found = [*config.findings, *_release_note(engine, version)]
    plan = None
    try:
        plan = engine.plan(version, values)
    except SettingError as error:
        found.append(Finding("start-refused", Severity.ERROR, str(error), load="at start"))
    if plan is not None:
        found += _all_findings(engine, version, values, plan, config, histogram)
    if config.log is not None:
        found += log_findings(engine.label, str(release), version, config.log)
    found.sort(key=lambda finding: _ORDER[finding.severity])
    return CheckReport(
        engine=engine.id,
        version=str(release),
        source=config.source,
        settings=values,
        plan=plan,
        findings=tuple(found),
        ignored=config.ignored,
        log=config.log,
        notes=(*config.notes, *(plan.notes if plan else ())),
    )


def _config(engine: Engine, text: str | None, version: str | None, log: EngineLog | None) -> Config:
    if log is not None:
        return config_of_log(engine, log)
    return read_config(engine, text, version) if text is not None else Config("settings")


def _release_note(engine: Engine, version: str | None) -> tuple[Finding, ...]:
    note = engine.version_note(version)
    if not note:
        return ()
    return (Finding("nearest-rule", Severity.INFO, note, "Compare with your start-up log."),)


def _all_findings(
    engine: Engine,
    version: str | None,
    values: Mapping[str, Any],
    plan: Plan,
    config: Config,
    histogram: StepHistogram | None,
) -> tuple[Finding, ...]:
    """From the plan, the log, the memory rule and, if there are any, the user's steps."""
    release, *_ = engine.checked_values(version, values)
    fix = roomy(fix_text(engine, str(release), values), plan, config.log)
    found = (
        *reasoned(plan_findings(plan, fix), config.log, _admits(engine, values)),
        *_against_log(engine, version, values, plan, config),
        memory_finding(engine.memory(version, values), config.log),
    )
    return found if histogram is None else with_shares(plan, found, histogram, fix)


def _joined(engine: Engine, config: Config, settings: Mapping[str, object]) -> dict[str, Any]:
    """The text's settings, then the log's list, then what the user set beside them."""
    values = dict(config.settings)
    if config.log is not None and config.log.sizes and engine.list_setting:
        values[engine.list_setting] = config.log.sizes
    return {**values, **engine.own_names(settings)}


def _admits(engine: Engine, values: Mapping[str, Any]) -> bool:
    """Whether how many requests run at most is given, not assumed."""
    return engine.common_names.get("max_num_seqs", "max_num_seqs") in values


def fix_text(engine: Engine, version: str, settings: Mapping[str, Any]) -> Fix:
    """How this engine is told a list, as one line to paste."""

    def text(sizes: tuple[int, ...]) -> str:
        return engine.fix_line(version, settings, tuple(sorted(set(sizes))))

    return text


def _default_sizes(
    engine: Engine, version: str | None, settings: Mapping[str, Any]
) -> tuple[int, ...]:
    """The list that the release's log prints by default; () where it would not start so."""
    try:
        plan = engine.plan(version, settings)
        return plan.sizes if plan.configured is None else plan.configured
    except SettingError:
        return ()


def _against_log(
    engine: Engine, version: str | None, values: Mapping[str, Any], plan: Plan, config: Config
) -> tuple[Finding, ...]:
    """Whether the log's list is the release's default, and its counts are the plan's."""
    log = config.log
    if log is None:
        return ()
    found = []
    sizes = log.sizes
    if sizes and engine.list_setting:
        plain = {name: value for name, value in values.items() if name != engine.list_setting}
        default = _default_sizes(engine, version, plain)
        same = default == sizes
        text = f"The log's {len(sizes)} sizes are "
        text += (
            "what this release captures by default."
            if same
            else (f"not this release's default of {len(default)} sizes; the list was set.")
        )
        found.append(Finding("log-list", Severity.INFO, text))
    expected = {count.what: count.graphs for count in plan.counts}
    for what, graphs in log.graphs.items():
        if what in expected and expected[what] != graphs.value:
            text = f"The log captured {graphs.value} {what} graphs, the rule says {expected[what]}"
            text += f": {graphs.where}."
            found.append(Finding("log-differs", Severity.WARNING, text, "Trust the log."))
    return tuple(found)
