"""Shell scripts and command lines: whatever command in them starts an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.deploy.container import Container
from core.deploy.images import image_says
from core.deploy.kinds.kind import Kind, Source
from core.deploy.launch import Way, in_script
from core.deploy.launchers import mentions_launcher
from core.deploy.roles import role_of

_CONTAINER = re.compile(r"\b(?:docker|podman|nerdctl)\b[^\n;&|]*\brun\b")


def detect(source: Source) -> bool:
    if mentions_launcher(source.text):
        return True
    words = source.text.split() if _CONTAINER.search(source.text) else []
    return any(image_says(word.strip("\"'")) for word in words if "/" in word)


def read(source: Source) -> Iterator[Container]:
    """One container for each engine that the script starts."""
    for found in in_script(Container(""), source.text, Way(source.variables)):
        name = found.name or "command line"
        role = role_of(name) or _role_of_words(found)
        yield Container(**{**vars(found), "name": name, "role": role})


def _role_of_words(found: Container) -> str:
    """By --disaggregation-mode and the like, where the command says its role."""
    for flag, value in zip(found.words, found.words[1:], strict=False):
        if flag in ("--disaggregation-mode", "--disaggregation_mode", "--server_role"):
            return role_of(value)
    joined = " ".join(found.words)
    role = re.search(r"\"kv_role\"\s*:\s*\"kv_(producer|consumer)\"", joined)
    return {"producer": "prefill", "consumer": "decode"}[role[1]] if role else ""


KIND = Kind("shell", 90, detect, read)
