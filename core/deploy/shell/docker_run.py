"""`docker run ...` as a command: the image, what runs in it, and its variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_TOOLS = ("docker", "podman", "nerdctl")
_SWITCHES = frozenset(
    (
        *("-d", "--detach", "-i", "--interactive", "-t", "--tty", "--rm", "--init", "-P"),
        *("--privileged", "--publish-all", "--read-only", "--no-healthcheck", "-q", "--quiet"),
        *("--oom-kill-disable", "--replace", "--disable-content-trust", "--sig-proxy"),
    )
)
"""Options without a value; every other takes the next word."""


@dataclass
class DockerRun:
    """image; words : entrypoint and arguments; env; name."""

    image: str = ""
    words: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    name: str = ""


def docker_run(words: Sequence[str]) -> DockerRun | None:
    """What a docker, podman or nerdctl command starts; None for any other command."""
    at = _after_run(words)
    if at is None:
        return None
    found, entry = DockerRun(), ""
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        at += 1
        if not equals and not _is_switch(name):
            value = words[at] if at < len(words) else ""
            at += 1
        if name in ("-e", "--env") and "=" in value:
            variable, _, text = value.partition("=")
            found.env[variable] = text
        elif name == "--name":
            found.name = value
        elif name == "--entrypoint":
            entry = value
    if at >= len(words):
        return None
    found.image = words[at]
    found.words = (*((entry,) if entry else ()), *words[at + 1 :])
    return found


def _after_run(words: Sequence[str]) -> int | None:
    """The place behind `docker run`, whatever stands before it."""
    for at, word in enumerate(words):
        if word.rpartition("/")[2] in _TOOLS and "run" in words[at + 1 : at + 6]:
            return list(words).index("run", at + 1) + 1
    return None


def _is_switch(name: str) -> bool:
    """-d, --rm, and letters of switches together (-itd)."""
    letters = name[1:] if not name.startswith("--") else ""
    return name in _SWITCHES or (len(letters) > 1 and set(letters) <= set("ditPq"))
