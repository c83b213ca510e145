"""A container's command followed to the commands that start engines: sh -c, scripts, docker run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from core.deploy.container import Container
from core.deploy.launchers import find_launch, mentions_launcher
from core.deploy.marks import mark_of, written
from core.deploy.packages import installed
from core.deploy.shell.budget import Budget, check_script
from core.deploy.shell.docker_run import docker_run
from core.deploy.shell.scope import Scope
from core.deploy.shell.script import Command, Script
from core.errors import FileContentError

SHELLS = ("sh", "bash", "zsh", "dash", "ash")
DEEPEST = 6
MOST_LAUNCHES = 200


@dataclass(frozen=True)
class Way:
    """What holds along a command and all that it starts.

    variables : those the user gave; budget : shared by all scripts of a file
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    depth: int = 0

    def deeper(self) -> Way:
        return replace(self, depth=self.depth + 1)


def launches(container: Container, way: Way) -> Iterator[Container]:
    """The container once for each engine its command starts; itself where its words say all.

    Raises FileContentError for a script that cannot be split.
    """
    words = container.words
    run = docker_run(words)
    if way.depth > DEEPEST:
        yield container
    elif run is not None:
        inside = replace(
            container,
            name=run.name or container.name,
            image=run.image,
            words=run.words,
            env={**container.env, **run.env},
        )
        yield from launches(inside, way.deeper())
    elif (script := _script(words, container.files)) is not None:
        text, arguments = script
        yield from in_script(container, text, way.deeper(), arguments)
    elif find_launch(words) is None and (inside_word := _nested(words)):
        yield from in_script(container, inside_word, way.deeper())
    else:
        yield container


def in_script(
    container: Container, text: str, way: Way, arguments: list[str] | None = None
) -> Iterator[Container]:
    """One container for each engine that a script starts; none where it starts none."""
    check_script(text)
    way.budget.spend(len(text))
    env = dict(container.env)
    scope = Scope(dict(env), way.variables, arguments, set(env), way.budget)
    script = Script(scope, dict(container.files))
    packages = {**container.packages, **installed(text)}
    found: list[tuple[Command, Container]] = []
    for command in script.commands(text):
        if not _is_wanted(command, script.files):
            continue
        way.budget.spend(sum(map(len, command.env.values())) + 64 * len(script.files))
        base = replace(
            container,
            words=command.words,
            env={**env, **command.env},
            files=dict(script.files),
            packages=packages,
        )
        found += [(command, one) for one in _started(base, command, way)]
        if len(found) > MOST_LAUNCHES:
            raise FileContentError(f"The script starts more than {MOST_LAUNCHES} engines.")
    for command, one in found:
        name = one.name
        if len(found) > 1 and name == container.name:
            name = f"{name}, line {command.line}" if name else f"line {command.line}"
        notes = (*one.notes, *_notes(script, command))
        open_ = tuple((name, f"{text}.") for name, text in script.notes if _is_open(one, name))
        yield replace(one, name=name, notes=tuple(dict.fromkeys(notes)), open=(*one.open, *open_))


def _is_wanted(command: Command, files: Mapping[str, str]) -> bool:
    """Whether the command starts an engine, or something that may."""
    words = command.words
    return (
        _has_script(command)
        or find_launch(words) is not None
        or docker_run(words) is not None
        or _script(words, files) is not None
        or bool(_nested(words))
    )


def _has_script(command: Command) -> bool:
    body = command.body
    return body is not None and _reads_script(command.words) and mentions_launcher(body)


def _started(base: Container, command: Command, way: Way) -> Iterator[Container]:
    """What one command starts."""
    if _has_script(command):
        assert command.body is not None
        yield from in_script(base, command.body, way.deeper())
    else:
        yield from launches(base, way)


def _reads_script(words: tuple[str, ...]) -> bool:
    """bash <<EOF, ssh host <<EOF, sbatch <<EOF; not cat."""
    return words[0].rpartition("/")[2] in (*SHELLS, "ssh", "sbatch", "srun", "sudo")


def _is_open(one: Container, name: str) -> bool:
    """Whether a word of the command waits for this variable."""
    return any(mark_of(name) in word for word in one.words)


def _notes(script: Script, command: Command) -> Iterator[str]:
    """What of the script's notes changes this command's words."""
    for name, text in script.notes:
        value = script.scope.value(name)
        is_open = isinstance(value, str) and value == mark_of(name)
        in_words = "/" in name or "." in name  # the path of a file
        named = any(name in word for word in command.words) if in_words else name in command.names
        if named and not is_open:
            yield f"{text}."
    if command.condition:
        yield f"line {command.line}: runs only if {written(command.condition)}."


def _script(
    words: tuple[str, ...], files: Mapping[str, str]
) -> tuple[str, list[str] | None] | None:
    """(text, arguments) where the command is a shell with a text, or runs a file that is known."""
    for at, word in enumerate(words):
        if PurePosixPath(word).name in SHELLS and not word.endswith("/"):
            flag = next((i for i, w in enumerate(words[at + 1 :], at + 1) if _takes_text(w)), None)
            if flag is not None and flag + 1 < len(words):
                return words[flag + 1], list(words[flag + 3 :])
            break
    for at, word in enumerate(words[:4]):
        text = file_named(files, word)
        if text is not None and find_launch(words) is None and "-" not in word[:1]:
            return text, list(words[at + 1 :])
    return None


def _takes_text(word: str) -> bool:
    """-c, -lc, -ec, -exc."""
    return word.startswith("-") and not word.startswith("--") and word.endswith("c")


def file_named(files: Mapping[str, str], path: str) -> str | None:
    """The text of a file by its path, or by its last part where one file bears it."""
    if path in files:
        return files[path]
    last = PurePosixPath(path).name
    same = [text for name, text in files.items() if last and PurePosixPath(name).name == last]
    return same[0] if len(same) == 1 else None


def _nested(words: tuple[str, ...]) -> str:
    """A word that is itself a command line with a launcher, as for tmux, ssh or xargs."""
    return next((w for w in words if any(map(str.isspace, w)) and mentions_launcher(w)), "")
