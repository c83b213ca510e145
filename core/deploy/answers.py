"""What each engine of a deployment file would really do: one answer a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.deploy.read import read_deployments
from core.deploy.record import Deployment
from core.engines import ENGINES
from core.engines.check import CheckReport, check
from core.engines.plan import Finding, Severity
from core.errors import ProjectError, SettingError
from core.records import StepHistogram


@dataclass(frozen=True)
class Asked:
    """What the user said beside the file.

    engine : id, or None where the file is to tell; version : stands above what the file tells
    settings : complete and override the file's; variables : values for what it leaves open
    """

    engine: str | None = None
    version: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """One deployment and what would happen with it.

    report : None where its settings cannot be used; problem : the sentence that says why
    """

    deployment: Deployment
    report: CheckReport | None
    problem: str = ""


@dataclass(frozen=True)
class Answers:
    """One answer a deployment, and the parts of the file that are none, each with the reason."""

    answers: tuple[Answer, ...]
    passed_over: tuple[str, ...] = ()


def answers(text: str, asked: Asked, histogram: StepHistogram | None = None) -> Answers:
    """Check everything that a configuration or deployment file starts.

    Raises FileContentError for a file that cannot be read, SettingError where neither the file nor
    the user names the engine. With several deployments a fault of one is its own answer.
    """
    found = read_deployments(text, asked.engine, asked.variables)
    if len(found.deployments) == 1:
        report = checked(found.deployments[0], asked, histogram)
        return Answers((Answer(found.deployments[0], report),), found.passed_over)
    return Answers(
        tuple(_answer(one, asked, histogram) for one in found.deployments), found.passed_over
    )


def _answer(one: Deployment, asked: Asked, histogram: StepHistogram | None) -> Answer:
    try:
        return Answer(one, checked(one, asked, histogram))
    except ProjectError as error:
        return Answer(one, None, str(error))


def checked(one: Deployment, asked: Asked, histogram: StepHistogram | None = None) -> CheckReport:
    """The report on one deployment, with what was not understood as its gravest warnings.

    Raises as `core.engines.check.check`; SettingError where the engine is not known.
    """
    if one.engine is None:
        raise SettingError(
            "Nothing in the text says which engine it is for; name it, one of "
            f"{', '.join(ENGINES)}."
        )
    version = asked.version or one.release
    report = check(ENGINES[one.engine], version, asked.settings, one.text, histogram)
    if not one.kind:
        return replace(report, notes=(*one.evidence, *report.notes))
    said = [_said(f"Not understood: {sentence}") for sentence in one.not_understood]
    if version is None and one.no_release:
        said.append(_said(_release_words(one, report), bool("image" in one.no_release)))
    findings = sorted((*said, *report.findings), key=lambda f: _GRAVEST.index(f.severity))
    return replace(
        report,
        source=f"{one.kind}, {one.title}",
        findings=tuple(findings),
        notes=(*one.evidence, *report.notes),
    )


_GRAVEST = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def _release_words(one: Deployment, report: CheckReport) -> str:
    newest = f"the rule of {report.version} answers, the newest known"
    return f"Release not known: {one.no_release}; {newest}."


def _said(text: str, warns: bool = True) -> Finding:
    return Finding("not-understood", Severity.WARNING if warns else Severity.INFO, text)
