"""A text of any kind -> the deployments in it. A plain configuration is one of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from core.deploy.container import Container
from core.deploy.describe import described
from core.deploy.keys import engine_of_keys
from core.deploy.kinds import KINDS
from core.deploy.kinds.kind import Kind, Source, mapping
from core.deploy.launch import MOST_LAUNCHES, Way, launches
from core.deploy.marks import cleaned, mark
from core.deploy.record import Deployment, Found
from core.engines import ENGINES
from core.errors import FileContentError
from core.text.yaml_text import MOST_CHARS, read_yaml_documents

_YAML_START = re.compile(r"(?:---|[\w.\"'/-]+\s*:(?:\s|$)|- |\{|\[)")
_YAML_SURE = re.compile(r"^(?:services|apiVersion|kind|applications)\s*:", re.MULTILINE)
_TEMPLATE_LINE = re.compile(r"^[ \t]*\{\{.*\}\}[ \t]*$", re.MULTILINE)
_TEMPLATE = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")
HEAD_CHARS = 2**16
"""What a text is shows in its first part."""
_LEVEL = re.compile(r"\b(?:INFO|WARNING|ERROR|DEBUG)\b[^\n]*\d")


def read_deployments(
    text: str, engine: str | None = None, variables: Mapping[str, str] | None = None
) -> Found:
    """Every engine that a deployment file starts; a plain configuration as one without a kind.

    engine : id of the engine that the user named, or None
    variables : values for variables that the file leaves open
    Raises FileContentError for a file in which nothing starts an engine, or that cannot be read.
    """
    try:
        return _found(cleaned(text), engine, dict(variables or {}))
    except RecursionError as error:
        raise FileContentError("The deployment file is nested without end.") from error


def _found(text: str, engine: str | None, variables: Mapping[str, str]) -> Found:
    source, notes = _source(text, variables)
    kind = _kind_of(source)
    if kind is None:
        return Found((_plain(text, source, engine),))
    deployments: list[Deployment] = []
    passed_over: list[str] = []
    way = Way(variables)
    for container in kind.read(source):
        for one in _followed(container, way):
            result = described(one, kind.label, engine)
            if isinstance(result, str):
                passed_over.append(result)
            else:
                deployments.append(result)
            if len(deployments) > MOST_LAUNCHES:
                raise FileContentError(f"The file starts more than {MOST_LAUNCHES} engines.")
    if not deployments:
        raise _nothing(kind, passed_over, engine)
    return Found(tuple(deployments), (*passed_over, *notes))


def _followed(container: Container, way: Way) -> list[Container]:
    """What the container's command starts; the container itself where that is not known."""
    return list(launches(container, way)) or [container]


def _nothing(kind: Kind, passed_over: list[str], engine: str | None) -> FileContentError:
    why = "; ".join(dict.fromkeys(passed_over)) or "nothing in it is a command"
    way = "leave out --engine, or name the file's own" if engine else "name it with --engine"
    return FileContentError(
        f"{kind.label}: nothing here starts an engine that could be checked: {why}. If it does, "
        f"{way}, or give the command itself."
    )


def _source(text: str, variables: Mapping[str, str]) -> tuple[Source, tuple[str, ...]]:
    """The text with its YAML documents, and notes on template lines that were left out."""
    head = text[:HEAD_CHARS].splitlines()
    first = next((line for line in head if _says_something(line)), "")
    sure = _YAML_SURE.search(text, 0, MOST_CHARS) is not None
    if len(text) > MOST_CHARS or not (_YAML_START.match(first) or (sure and "{{" in first)):
        return Source(text, variables=variables), ()
    plain, notes = text, ()
    if "{{" in text and not text.lstrip().startswith("{"):
        plain, notes = _untemplated(text)
    try:
        found = read_yaml_documents(plain)
    except FileContentError:
        if sure and _log_engine(text) is None:
            raise
        return Source(text, variables=variables), ()
    documents = tuple(mapping(one) for one in _flat(found) if isinstance(one, dict))
    return Source(text, documents, variables), notes


def _flat(documents: list[Any]) -> list[Any]:
    """A list at the top stands for its entries."""
    return [
        one
        for document in documents
        for one in (document if isinstance(document, list) else [document])
    ]


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("#", "%"))


def _untemplated(text: str) -> tuple[str, tuple[str, ...]]:
    """Template expressions as marks; lines that hold nothing else are left out and named."""
    lines = [match[0].strip() for match in _TEMPLATE_LINE.finditer(text)]
    shown = ", ".join(dict.fromkeys(lines[:3]))
    notes = (
        (f"{len(lines)} template lines ({shown}): render the chart to have them",) if lines else ()
    )
    bare = _TEMPLATE_LINE.sub("", text)
    return _TEMPLATE.sub(lambda match: mark(match[0]), bare), notes


def _kind_of(source: Source) -> Kind | None:
    """The first kind that the text is of; a start-up log and plain settings are of none."""
    by_structure = [kind for kind in KINDS if kind.position < 70]
    by_text = [kind for kind in KINDS if kind.position >= 70]
    if source.documents:
        return next((kind for kind in by_structure if kind.detect(source)), None)
    if _is_log(source.text):
        return None
    if len(source.text) > MOST_CHARS:
        raise FileContentError(
            f"The text has {len(source.text):,} characters and is no start-up log known here; give "
            f"the part that starts the engine, {MOST_CHARS:,} at most."
        )
    return next((kind for kind in by_text if kind.detect(source)), None)


def _is_log(text: str) -> bool:
    """A start-up log, also one whose messages name no graphs; a command may be printed in it."""
    lines = text[:HEAD_CHARS].splitlines()
    marked = sum(_LEVEL.search(line) is not None for line in lines)
    return (marked > 2 and 3 * marked > len(lines)) or _log_engine(text) is not None


def _log_engine(text: str) -> str | None:
    """The engine whose start-up messages a text holds."""
    for engine in ENGINES.values():
        if engine.log_marker and re.search(engine.log_marker, text):
            return engine.id
    return None


def _plain(text: str, source: Source, engine: str | None) -> Deployment:
    """A configuration by itself: the engine is asked for, or told by its messages or keys."""
    evidence: tuple[str, ...] = ()
    if engine is None:
        engine, why = _log_engine(text), "its start-up messages"
        if engine is None and len(source.documents) == 1:
            engine, why = engine_of_keys(source.documents[0]), "its keys are this engine's"
        evidence = (f"{ENGINES[engine].label}: {why}.",) if engine else ()
    return Deployment("", "", "", engine, None, text, evidence=evidence)
