"""Role sections: settings by role, such as `decode: {max-num-seqs: 8}` beside `prefill: {...}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.deploy.container import Container
from core.deploy.keys import FAMILIES, knows_any
from core.deploy.kinds.kind import Kind, Source, mapping
from core.deploy.roles import SHARED, is_role, role_of
from core.engines import ENGINES, get_engine
from core.errors import SettingError

_ENGINE_KEYS = ("engine", "backend", "framework", "backend_type", "runtime")
_NAMED = {"tensorrt-llm": "trtllm", "trt-llm": "trtllm", "tensorrt_llm": "trtllm"}


def detect(source: Source) -> bool:
    return any(True for document in source.documents for _ in _sections(document, ()))


def read(source: Source) -> Iterator[Container]:
    """One container a role; what stands under a shared section holds for each."""
    for document in source.documents:
        for path, roles, shared in _sections(document, ()):
            for name, settings in roles.items():
                # Beside roles other workers may stand; their keys alone tell what they are.
                engine = _engine(settings, shared, document, *path) if is_role(name) else None
                yield _container(name, settings, shared, engine, str(document.get("image") or ""))


def _sections(
    value: Any, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], dict[str, dict[str, Any]], dict[str, Any]]]:
    """(keys that lead there, {role: settings}, settings that every role shares)."""
    holder = mapping(value)
    roles = {key: mapping(one) for key, one in holder.items() if is_role(key) and mapping(one)}
    if roles and not any(_holds_containers(one) for one in roles.values()):
        shared = [mapping(one) for key, one in holder.items() if key.lower() in SHARED]
        beside = {k: mapping(one) for k, one in holder.items() if k.lower() not in SHARED}
        every = {key: one for key, one in beside.items() if one}
        yield path, every, {key: one for part in shared for key, one in part.items()}
        return
    for key, inside in holder.items():
        # SGLang's cuda_graph_config has parts for prefill and decode that are no roles.
        if not any(knows_any(engine, [key]) for engine in FAMILIES):
            yield from _sections(inside, (*path, key))


def _holds_containers(section: Mapping[str, Any]) -> bool:
    """A section with an image or containers of its own is one of Helm values."""
    return any(key in section for key in ("image", "containers", "args", "command", "extraArgs"))


def _container(
    name: str,
    settings: dict[str, Any],
    shared: dict[str, Any],
    engine: str | None,
    image: str,
) -> Container:
    held = {**shared, **settings}
    # Some frameworks nest the engine's settings once more below the role.
    for key in ("engine_args", "engine_config", "args", "config", "server_args", "vllm_config"):
        if isinstance(held.get(key), dict):
            held |= held.pop(key)
    held = {key: one for key, one in held.items() if key not in _ENGINE_KEYS}
    return Container(name, role_of(name), image=image, settings=held, engine=engine)


def _engine(settings: dict, shared: dict, document: dict, *path: str) -> str | None:
    """The engine that a key beside the roles, or one that leads to them, names."""
    values = [one.get(key) for one in (settings, shared, document) for key in _ENGINE_KEYS]
    words = [value for value in values if isinstance(value, str)]
    for word in (*words, *reversed(path)):
        name = word.lower().removesuffix("_config").removesuffix("config")
        try:
            return get_engine(_NAMED.get(name, name)).id
        except SettingError:
            continue
    if any(key in ("context_servers", "generation_servers") for key in document):
        return ENGINES["trtllm"].id
    return None


KIND = Kind("role sections", 60, detect, read)
