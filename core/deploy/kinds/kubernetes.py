"""Kubernetes manifests: one container each, from any kind that holds pods, in any document.

Pods stand in Deployments, LeaderWorkerSets, InferenceServices, custom resources and more, so
containers are looked for by their own keys (image, command, args) wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.deploy.container import Container
from core.deploy.kinds.kind import Kind, Source, as_text, mapping, texts
from core.deploy.launch import SHELLS
from core.deploy.marks import mark_of
from core.deploy.roles import role_of

_REFERENCE = re.compile(r"\$\$|\$\((\w+)\)")
_NO_CONTAINERS = frozenset(
    ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "initContainers", "status")
)
_KEYS = ("command", "args", "image")
_PLACES = ("containers", "mainContainer", "container", "model")
"""Keys under which a container stands: in a list, or alone in some custom resources."""


def detect(source: Source) -> bool:
    return any("apiVersion" in one and "kind" in one for one in source.documents)


def read(source: Source) -> Iterator[Container]:
    """One container for each that stands in a document, in the file's order."""
    documents = [one for document in source.documents for one in _items(document)]
    files = {
        name: text
        for document in documents
        if document.get("kind") == "ConfigMap"
        for name, text in mapping(document.get("data")).items()
        if isinstance(text, str)
    }
    maps = {
        _name(one): mapping(one.get("data")) for one in documents if one.get("kind") == "ConfigMap"
    }
    for document in documents:
        title = _name(document)
        for path, found in _containers(document, ()):
            yield _container(title, path, found, files, maps, source.variables)


def _items(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The documents of a List, or the document itself."""
    inside = document.get("items")
    if document.get("kind") == "List" and isinstance(inside, list):
        yield from (mapping(one) for one in inside)
    else:
        yield document


def _name(document: Mapping[str, Any]) -> str:
    return str(mapping(document.get("metadata")).get("name") or document.get("kind") or "")


def _containers(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict]]:
    """(the keys that lead there, container)."""
    if isinstance(value, list):
        for one in value:
            yield from _containers(one, path)
    for key, inside in mapping(value).items():
        if key in _NO_CONTAINERS:
            continue
        here = (*path, key)
        if key in _PLACES:
            for one in inside if isinstance(inside, list) else [inside]:
                if any(name in mapping(one) for name in _KEYS):
                    yield here, mapping(one)
        if key not in ("containers",):
            yield from _containers(inside, here)


def _container(
    title: str,
    path: tuple[str, ...],
    found: dict[str, Any],
    files: Mapping[str, str],
    maps: Mapping[str, Mapping[str, Any]],
    variables: Mapping[str, str],
) -> Container:
    env, notes = _environment(found, maps)
    env |= {name: value for name, value in variables.items() if name in env}
    given = (*texts(found.get("command")), *texts(found.get("args")))
    in_shell = any(word.rpartition("/")[2] in SHELLS for word in given[:1])
    words = [_filled(word, {**variables, **env}, in_shell) for word in given]
    own = str(found.get("name") or "")
    above = [key for key in path if role_of(key)]
    name = "/".join(dict.fromkeys(part for part in (title, *above, own) if part))
    return Container(
        name=name,
        role=role_of(own, *reversed(path), title),
        image=as_text(found.get("image") or ""),
        words=tuple(words),
        env=env,
        files=files,
        notes=notes,
    )


def _environment(
    found: dict[str, Any], maps: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """env and envFrom; what comes from a secret or the pod itself has no value here."""
    env: dict[str, str] = {}
    notes: list[str] = []
    for one in _mappings(found.get("envFrom")):
        name = str(mapping(one.get("configMapRef")).get("name") or "")
        if name in maps:
            env |= {key: as_text(value) for key, value in maps[name].items()}
        elif name:
            notes.append(f"ConfigMap {name} is not in the text; its variables are not known.")
    for one in _mappings(found.get("env")):
        name = str(one.get("name") or "")
        env[name] = _value(name, one, maps)
    env = {name: _filled(value, env) for name, value in env.items()}
    return env, tuple(notes)


def _value(name: str, one: Mapping[str, Any], maps: Mapping[str, Mapping[str, Any]]) -> str:
    if one.get("value") is not None:
        return as_text(one["value"])
    if "valueFrom" not in one:
        return ""
    place = mapping(mapping(one.get("valueFrom")).get("configMapKeyRef"))
    value = maps.get(str(place.get("name")), {}).get(str(place.get("key")))
    return mark_of(name) if value is None else as_text(value)


def _mappings(value: Any) -> list[dict[str, Any]]:
    """The entries of a list that are mappings."""
    return (
        [mapping(one) for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    )


def _filled(word: str, env: Mapping[str, str], in_shell: bool = False) -> str:
    """`$(NAME)` as the kubelet fills it in; `$$` is a dollar.

    in_shell : what it cannot fill in stays for the shell, which takes it for a command
    """

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return env.get(match[1]) or (match[0] if in_shell else mark_of(match[1]))

    return _REFERENCE.sub(one, word)


KIND = Kind("Kubernetes", 20, detect, read)
