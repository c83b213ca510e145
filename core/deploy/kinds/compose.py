"""Compose files: a container a service, with `${X:-8}` as Compose fills it in.

Source: the Compose specification: interpolation, entrypoint and command as text or list, configs.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from core.deploy.container import Container
from core.deploy.kinds.kind import Kind, Source, as_text, mapping, texts
from core.deploy.marks import mark_of
from core.deploy.roles import role_of
from core.deploy.shell.scope import Scope
from core.errors import FileContentError

_DOLLAR = "\ue00f"


def detect(source: Source) -> bool:
    return any(
        isinstance(document.get("services"), dict)
        and any(isinstance(one, dict) for one in document["services"].values())
        and "apiVersion" not in document
        for document in source.documents
    )


def read(source: Source) -> Iterator[Container]:
    """One container a service, in the file's order."""
    for document in source.documents:
        fill = _Fill(source)
        files = {
            name: fill.text(body)
            for name, one in mapping(document.get("configs")).items()
            if isinstance(body := mapping(one).get("content"), str)
        }
        services = mapping(document.get("services"))
        for name, service in services.items():
            if isinstance(service, dict):
                yield _container(name, mapping(service), fill, files)


class _Fill:
    """Compose's own variables: the environment of whoever starts it, which the file lacks."""

    def __init__(self, source: Source) -> None:
        self.scope = Scope(given=source.variables)

    def text(self, value: Any) -> str:
        """`$X`, `${X}`, `${X:-8}` filled in; `$$` is a dollar for the container."""
        filled = self.scope.text(as_text(value).replace("$$", _DOLLAR))
        return filled.replace(_DOLLAR, "$")

    def words(self, value: Any) -> tuple[str, ...]:
        """A command as text or as list. Raises FileContentError for quotes that do not match."""
        if isinstance(value, list | tuple):
            return tuple(self.text(one) for one in texts(value))
        if value is None:
            return ()
        try:
            return tuple(shlex.split(self.text(value).replace("\\\n", " ")))
        except ValueError as error:
            raise FileContentError(f"Compose: a command cannot be split: {error}.") from error


def _container(name: str, service: dict[str, Any], fill: _Fill, files: dict[str, str]) -> Container:
    env, notes = _environment(service, fill)
    reads = {}
    for one in service.get("configs") or ():
        entry = mapping(one) if isinstance(one, dict) else {"source": as_text(one)}
        if str(entry.get("source")) in files:
            reads[str(entry.get("target") or entry["source"])] = files[str(entry["source"])]
    if service.get("extends"):
        notes = (*notes, "it extends another service; what it takes from there is not known.")
    return Container(
        name=name,
        role=role_of(name, as_text(service.get("container_name") or "")),
        image=fill.text(service.get("image") or ""),
        words=(*fill.words(service.get("entrypoint")), *fill.words(service.get("command"))),
        env=env,
        files=reads,
        notes=notes,
    )


def _environment(service: dict[str, Any], fill: _Fill) -> tuple[dict[str, str], tuple[str, ...]]:
    """A mapping, or a list of NAME=value; a name without value comes from outside."""
    given = service.get("environment")
    pairs = (
        given.items()
        if isinstance(given, dict)
        else (
            (name, value if equals else None)
            for name, equals, value in (one.partition("=") for one in texts(given))
        )
    )
    env = {
        str(name): mark_of(str(name)) if value is None else fill.text(value)
        for name, value in pairs
    }
    files = service.get("env_file")
    note = "it reads an env_file, which is not in the text; its variables are not known."
    return env, (note,) if files else ()


KIND = Kind("Compose", 10, detect, read)
