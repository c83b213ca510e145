"""Dockerfiles: FROM tells the image, ENV and ARG the variables, ENTRYPOINT and CMD the command.

Source: the Dockerfile reference: the last stage counts, and CMD follows ENTRYPOINT in list form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from core.deploy.container import Container
from core.deploy.kinds.kind import Kind, Source
from core.deploy.packages import installed
from core.deploy.shell.budget import check_script
from core.deploy.shell.lexer import tokens
from core.deploy.shell.scope import Scope
from core.deploy.shell.script import Script
from core.deploy.shell.tokens import Word

_FROM = re.compile(
    r"^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*$", re.IGNORECASE | re.MULTILINE
)
_OTHERS = re.compile(
    r"^\s*(?:CMD|ENTRYPOINT|RUN|ENV|COPY|WORKDIR|ARG)\s", re.IGNORECASE | re.MULTILINE
)
_LINE = re.compile(r"([A-Za-z]+)\s+(.*)\Z", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")


@dataclass
class _Stage:
    image: str
    scope: Scope
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    shell_entry: bool = False
    installs: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


def detect(source: Source) -> bool:
    return _FROM.search(source.text) is not None and _OTHERS.search(source.text) is not None


def read(source: Source) -> Iterator[Container]:
    """What the last stage starts."""
    check_script(source.text)
    stages: dict[str, _Stage] = {}
    stage, before = None, Scope(given=source.variables)
    for name, rest, body in _instructions(source.text):
        match = _FROM.match(f"FROM {rest}") if name == "FROM" else None
        if match:
            stage = _from(before.text(match[1]), stages, before)
            stages[(match[2] or str(len(stages))).lower()] = stage
        elif stage is None:
            _variables(before, rest, name)
        else:
            _instruction(stage, name, rest, body)
    if stage is not None:
        yield _container(stage)


def _container(stage: _Stage) -> Container:
    words = stage.entrypoint if stage.shell_entry else (*stage.entrypoint, *stage.command)
    return Container(
        "Dockerfile",
        image=stage.image,
        words=words,
        env=stage.scope.environment,
        files=stage.files,
        packages=installed("\n".join(stage.installs)),
    )


def _from(image: str, stages: dict[str, _Stage], before: Scope) -> _Stage:
    """A new stage on an image, or on an earlier stage with what that one set."""
    base = stages.get(image.lower())
    if base is None:
        return _Stage(image, Scope(dict(before.variables), before.given))
    scope = Scope(dict(base.scope.variables), before.given, exported=set(base.scope.exported))
    kept = (base.entrypoint, base.command, base.shell_entry)
    return _Stage(base.image, scope, *kept, list(base.installs), dict(base.files))


def _instruction(stage: _Stage, name: str, rest: str, body: str) -> None:
    if name in ("ENV", "ARG"):
        _variables(stage.scope, rest, name)
    elif name == "RUN":
        stage.installs.append(stage.scope.text(rest) + body)
        _run(stage, rest, body)
    elif name == "COPY" and body:
        stage.files[rest.split()[-1]] = body
    elif name == "CMD":
        stage.command, _ = _command(rest)
    elif name == "ENTRYPOINT":
        stage.entrypoint, stage.shell_entry = _command(rest)
        stage.command = ()


def _run(stage: _Stage, rest: str, body: str) -> None:
    """Files that a RUN line writes."""
    script = Script(Scope(dict(stage.scope.variables)))
    end = _HEREDOC.search(rest)
    text = f"{rest}\n{body}{end[1]}\n" if end else rest
    for _ in script.commands(text):
        pass
    stage.files |= script.files


def _command(rest: str) -> tuple[tuple[str, ...], bool]:
    """(words, whether a shell reads them): a JSON list, or a text for sh -c."""
    try:
        words = json.loads(rest)
    except ValueError:
        words = None
    if isinstance(words, list):
        return tuple(map(str, words)), False
    return ("sh", "-c", rest), True


def _variables(scope: Scope, rest: str, name: str) -> None:
    """ENV A=b C=d, ENV A b, ARG A=b. An ARG without value is set when the image is built."""
    words = [token for token in tokens(rest) if isinstance(token, Word)]
    if name == "ENV" and words and "=" not in words[0].raw:
        pairs = [(words[0].raw, scope.text(rest.partition(words[0].raw)[2].strip()))]
    else:
        joined = ("".join(scope.words(word)).partition("=") for word in words if "=" in word.raw)
        pairs = [(key, value) for key, _, value in joined]
    for key, value in pairs:
        scope.set(key, value)
        if name == "ENV":
            scope.exported.add(key)


def _instructions(text: str) -> Iterator[tuple[str, str, str]]:
    """(instruction, the rest of its joined lines, the heredoc below it)."""
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole = line.strip()
        while whole.endswith("\\"):
            following = next(lines, "").strip()
            whole = whole if following.startswith("#") else f"{whole[:-1]} {following}"
        match = _LINE.match(whole)
        if match is None:
            continue
        end = _HEREDOC.search(match[2]) if match[1].upper() in ("RUN", "COPY") else None
        body = _until(lines, end[1]) if end else ""
        yield match[1].upper(), match[2], body


def _until(lines: Iterator[str], end: str) -> str:
    found: list[str] = []
    for line in lines:
        if line.strip() == end:
            break
        found.append(line)
    return "".join(f"{line}\n" for line in found)


KIND = Kind("Dockerfile", 80, detect, read)
