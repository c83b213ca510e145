"""Helm values: containers by their image, command, args or a chart's own settings.

Charts differ, so a container is any mapping that holds one of these keys; an image that stands
above it is its own too. The chart's templates are not here, so a command of theirs is not known.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from core.deploy.container import Container
from core.deploy.images import image_says
from core.deploy.kinds.kind import Kind, Source, as_text, mapping, texts
from core.deploy.roles import is_role, role_of

_WORDS = ("command", "args", "extraArgs", "extra_args", "extraArguments", "arguments", "cmd")
_SETTINGS = (
    "vllmConfig",
    "engineArgs",
    "engineConfig",
    "sglangConfig",
    "serverArgs",
    "vllm_config",
)
_LISTS = ("containers", "modelSpec", "models", "replicas")
_UNKNOWN = "the chart's own command is not in the values; what it sets besides is not known."


def detect(source: Source) -> bool:
    return any(
        "apiVersion" not in one and any(True for _ in _places(one, (), {}))
        for one in source.documents
    )


def read(source: Source) -> Iterator[Container]:
    for document in source.documents:
        for path, holder, above in _places(document, (), {}):
            yield _container(path, holder, above)


def _places(
    value: Any, path: tuple[str, ...], above: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], dict[str, Any], Mapping[str, Any]]]:
    """(keys that lead there, the mapping, the mapping whose image holds for it)."""
    if isinstance(value, list):
        for at, one in enumerate(value):
            name = str(mapping(one).get("name") or at)
            yield from _places(one, (*path, name), above)
        return
    holder = mapping(value)
    if not holder or (path and path[-1] in ("livenessProbe", "readinessProbe", "initContainers")):
        return
    above = holder if _image(holder) else above
    if _is_container(holder, path):
        yield path, holder, above
        return
    for key, inside in holder.items():
        if key != "image" and (isinstance(inside, dict) or key in _LISTS):
            yield from _places(inside, (*path, key), above)


def _is_container(holder: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    if any(key in holder for key in (*_WORDS, *_SETTINGS)):
        return not isinstance(holder.get("args"), dict)
    image = _image(holder)
    inside = any(key in holder for key in _LISTS) or any(map(is_role, holder))
    return bool(image) and image_says(image) is not None and not inside


def _image(holder: Mapping[str, Any]) -> str:
    """An image as text, as {repository, tag}, or with both beside each other."""
    image = holder.get("image")
    parts = mapping(image) or (mapping(holder) if "repository" in holder else {})
    if isinstance(image, str):
        tag = holder.get("tag") or holder.get("imageTag")
        return f"{image}:{as_text(tag)}" if tag and ":" not in image.rpartition("/")[2] else image
    name = str(parts.get("repository") or parts.get("name") or "")
    if parts.get("registry") and name:
        name = f"{parts['registry']}/{name}"
    return f"{name}:{as_text(parts['tag'])}" if name and parts.get("tag") else name


def _container(
    path: tuple[str, ...], holder: dict[str, Any], above: Mapping[str, Any]
) -> Container:
    words = [word for key in ("command", "cmd") for word in _words(holder.get(key))]
    inside = mapping(holder.get("image"))
    words = words or _words(inside.get("command"))
    if not words and holder.get("modelCommand") == "vllmServe":
        words = ["vllm", "serve", "MODEL"]  # what llm-d's chart makes of that word
    words += [word for key in _WORDS[1:6] for word in _words(holder.get(key))]
    settings: dict[str, Any] = {}
    for key in _SETTINGS:
        part = mapping(holder.get(key))
        words += [word for name in _WORDS for word in _words(part.pop(name, None))]
        settings |= {_snake(name): value for name, value in part.items()}
    keys = [key for key in path if not key.isdigit() and key not in _LISTS]
    own = str(holder.get("name") or "")
    return Container(
        name="/".join(dict.fromkeys(part for part in (*keys, own) if part)) or "values",
        role=role_of(own, *reversed(path)),
        image=_image(holder) or _image(above),
        words=tuple(words),
        env=_environment(holder.get("env")),
        settings=settings or None,
        notes=() if words and not words[0].startswith("-") else (_UNKNOWN,),
    )


def _words(value: Any) -> list[str]:
    """A list of words, or a text that is split as a shell would."""
    if isinstance(value, str):
        try:
            return shlex.split(value.replace("\\\n", " "))
        except ValueError:
            return [value]
    if isinstance(value, dict):
        return []
    return texts(value)


def _environment(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(k): as_text(v) for k, v in value.items() if not isinstance(v, dict | list)}
    pairs = [mapping(one) for one in value] if isinstance(value, list) else []
    return {str(p["name"]): as_text(p["value"]) for p in pairs if "name" in p and "value" in p}


def _snake(name: str) -> str:
    """maxNumSeqs as max_num_seqs."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


KIND = Kind("Helm values", 50, detect, read)
