"""systemd units and quadlets: ExecStart or Image and Exec, with Environment.

Source: systemd.service, systemd.exec and podman-systemd.unit: `$X` and `${X}` without defaults.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from core.deploy.container import Container
from core.deploy.kinds.kind import Kind, Source
from core.deploy.marks import mark_of
from core.errors import FileContentError

_SECTION = re.compile(r"^\s*\[(Service|Container)\]\s*$", re.MULTILINE)
_STARTS = re.compile(r"^\s*(?:ExecStart|Exec|Image)\s*=", re.MULTILINE)
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)\}|\$(\w+)")


def detect(source: Source) -> bool:
    return _SECTION.search(source.text) is not None and _STARTS.search(source.text) is not None


def read(source: Source) -> Iterator[Container]:
    """One container for each ExecStart, or for the quadlet's image."""
    entries = _entries(source.text)
    env, notes = _environment(entries)
    env |= source.variables
    name = next(
        (value for key, value in entries if key in ("Description", "ContainerName")), "unit"
    )
    image = next((value for key, value in entries if key == "Image"), "")
    starts: list[str] = []
    for key, value in entries:
        if key in ("ExecStart", "Exec"):
            starts = [*starts, value] if value else []  # an empty one takes back those before
    for start in starts or ([""] if image else []):
        words = tuple(_words(start.lstrip("-@:+! "), env))
        yield Container(name, image=image, words=words, env=env, notes=notes)


def _entries(text: str) -> list[tuple[str, str]]:
    """Key and value of every line; a backslash joins lines, and # begins a comment line."""
    joined = re.sub(r"\\\r?\n(?:\s*[#;][^\n]*\n)*", " ", text)
    lines = (line.strip() for line in joined.splitlines())
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#;[")
    return [(key.strip(), value.strip()) for key, equals, value in pairs if equals]


def _environment(entries: list[tuple[str, str]]) -> tuple[dict[str, str], tuple[str, ...]]:
    env: dict[str, str] = {}
    notes: list[str] = []
    for key, value in entries:
        if key == "Environment":
            pairs = (word.partition("=") for word in _split(value))
            env |= {name: text for name, equals, text in pairs if equals}
        elif key == "EnvironmentFile":
            notes.append(f"it reads {value.lstrip('-')}, which is not in the text.")
    return env, tuple(notes)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise FileContentError(f"systemd unit: {text[:60]!r} cannot be split: {error}.") from error


def _words(text: str, env: dict[str, str]) -> Iterator[str]:
    """`$X` as a word of its own is split at blanks; `${X}` is not. A shell's -c text is its own."""
    words = _split(text)
    in_shell = False
    for word in words:
        if in_shell:
            yield word.replace("$$", "$")
            continue
        in_shell = bool(re.fullmatch(r"-\w*c", word))
        alone = re.fullmatch(r"\$(\w+)", word)
        if alone and alone[1] in env:
            yield from env[alone[1]].split()
        else:
            yield _VARIABLE.sub(lambda match: _value(match, env), word)


def _value(match: re.Match[str], env: dict[str, str]) -> str:
    name = match[1] or match[2]
    return "$" if name is None else env.get(name, mark_of(name))


KIND = Kind("systemd unit", 70, detect, read)
