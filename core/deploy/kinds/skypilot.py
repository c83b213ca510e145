"""SkyPilot tasks: `setup` and `run` are shell, `envs` their variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core.deploy.container import Container
from core.deploy.kinds.kind import Kind, Source, as_text, mapping
from core.deploy.launch import Way, in_script
from core.deploy.marks import mark_of

_OTHERS = frozenset(
    ("resources", "setup", "envs", "service", "num_nodes", "file_mounts", "secrets")
)


def detect(source: Source) -> bool:
    return any(_is_task(one) for one in source.documents)


def _is_task(document: dict[str, Any]) -> bool:
    return isinstance(document.get("run"), str) and bool(_OTHERS & set(document))


def read(source: Source) -> Iterator[Container]:
    """What the run part of each task starts; setup tells the release and writes files."""
    for at, document in enumerate(source.documents, 1):
        if not _is_task(document):
            continue
        env = {
            name: mark_of(name) if value is None else as_text(value)
            for part in ("envs", "secrets")
            for name, value in mapping(document.get(part)).items()
        }
        name = str(document.get("name") or f"task {at}")
        image = str(mapping(document.get("resources")).get("image_id") or "").removeprefix(
            "docker:"
        )
        base = Container(name, image=image, env=env)
        text = f"{document.get('setup') or ''}\n{document['run']}"
        found = list(in_script(base, text, Way(source.variables)))
        yield from found or [base]


KIND = Kind("SkyPilot", 30, detect, read)
