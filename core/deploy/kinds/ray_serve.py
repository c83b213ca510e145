"""Ray Serve: LLM applications give vLLM's arguments under `engine_kwargs`.

Source: Ray's documents on Serve configuration files and ray.serve.llm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core.deploy.container import Container
from core.deploy.kinds.kind import Kind, Source, as_text, mapping
from core.deploy.packages import installed
from core.deploy.roles import role_of
from core.errors import FileContentError
from core.text.yaml_text import read_yaml


def detect(source: Source) -> bool:
    return any(_configs(document) for document in source.documents)


def read(source: Source) -> Iterator[Container]:
    """One container for each LLM configuration."""
    for document in source.documents:
        for path, config in _configs(document):
            yield _container(path, config)


def _container(path: tuple[str, ...], config: dict[str, Any]) -> Container:
    loading = mapping(config.get("model_loading_config"))
    name = str(loading.get("model_id") or config.get("model_id") or path[-1:] or "application")
    runtime = mapping(config.get("runtime_env"))
    env = {key: as_text(value) for key, value in mapping(runtime.get("env_vars")).items()}
    packages = installed(" ".join(map(str, runtime.get("pip") or ())))
    return Container(
        name=name,
        role=role_of(*reversed(path), name),
        env=env,
        settings=mapping(config.get("engine_kwargs")),
        engine="vllm",
        packages=packages,
    )


def _configs(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], dict]]:
    """Every mapping that holds engine_kwargs, also inside serveConfigV2."""
    if isinstance(value, list):
        return [found for one in value for found in _configs(one, path)]
    found: list[tuple[tuple[str, ...], dict]] = []
    holder = mapping(value)
    if isinstance(holder.get("engine_kwargs"), dict):
        found.append((path, holder))
    for key, inside in holder.items():
        if key == "serveConfigV2" and isinstance(inside, str):
            found += _configs(_inner(inside), (*path, key))
        elif key != "engine_kwargs":
            found += _configs(inside, (*path, key))
    return found


def _inner(text: str) -> Any:
    try:
        return read_yaml(text)
    except FileContentError:
        return None


KIND = Kind("Ray Serve", 5, detect, read)
