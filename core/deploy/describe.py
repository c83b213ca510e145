"""A container -> the deployment it is: its engine, release and settings as text."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.deploy.config_file import as_flags, joined
from core.deploy.container import Container
from core.deploy.images import ImageSays, image_says
from core.deploy.keys import engine_of_keys, knows_any
from core.deploy.launchers import Launch, find_launch, variant
from core.deploy.marks import is_marked, written
from core.deploy.record import Deployment
from core.engines import ENGINES
from core.engines.config import read_config
from core.engines.options import Table, plain
from core.errors import ProjectError
from core.text.variables import variables_in

PLUG_INS = ("ascend", "gaudi")
"""Engines that are started by vLLM's own command."""

_SECRET_FLAG = r"--?[\w-]*(?:api[-_]?key|token|secret|password)"
_SECRET = re.compile(rf"{_SECRET_FLAG}\Z")
_SECRET_SAID = re.compile(rf"({_SECRET_FLAG}[= ])\S+")
_RUNS = re.compile(r"\.(?:sh|py)\Z|\s|(?:^|/)(?:python[\d.]*|bash|sh|env|tini|sleep|tail)\Z")
"""A first word that is a program and no model."""
_FRONT = re.compile(r"router|proxy|gateway|disaggregated|load_?balancer", re.IGNORECASE)
COMMANDS = {
    "vllm": ("vllm", "serve"),
    "ascend": ("vllm", "serve"),
    "gaudi": ("vllm", "serve"),
    "sglang": ("sglang.launch_server",),
    "trtllm": ("trtllm-serve",),
    "tgi": ("text-generation-launcher",),
    "lmdeploy": ("lmdeploy", "serve", "api_server"),
}
"""What an image starts by itself, or what is written for settings without a command."""


@dataclass
class _Case:
    """What is known of one container while it is looked at."""

    container: Container
    launch: Launch | None
    image: ImageSays | None
    engine: str | None = None
    evidence: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    no_release: str = ""


def described(container: Container, kind: str, asked: str | None) -> Deployment | str:
    """The deployment, or why the container is none.

    asked : the engine that the user named, which other engines' containers are not
    """
    case = _Case(container, find_launch(container.words), _image(container))
    _find_engine(case, asked)
    if case.engine is None:
        return f"{_what(container)} starts no engine known here"
    if asked and case.engine != asked and not (case.engine == "vllm" and asked in PLUG_INS):
        return f"{_what(container)} is {ENGINES[case.engine].label}, not {ENGINES[asked].label}"
    if asked:
        case.engine = asked
    release = _release(case)
    text = _text(case)
    unset = _unset(case.engine, text, release)
    case.notes += [why for name, why in container.open if name in unset]
    return Deployment(
        name=container.name,
        role=container.role,
        kind=kind,
        engine=case.engine,
        release=release,
        text=text,
        unset=unset,
        not_understood=tuple(
            dict.fromkeys(
                _SECRET_SAID.sub(r"\1***", one) for one in (*container.notes, *case.notes)
            )
        ),
        evidence=tuple(case.evidence),
        no_release=case.no_release,
    )


def _image(container: Container) -> ImageSays | None:
    name = container.image.partition(":")[0]
    return image_says(written(container.image)) if name and not is_marked(name) else None


def _what(container: Container) -> str:
    runs = f"image {written(container.image)}" if container.image else ""
    runs = runs or f"command {written(' '.join(container.words[:3]))!r}"
    return f"{container.name or 'the command'} ({runs})"


def _find_engine(case: _Case, asked: str | None) -> None:
    """The engine by the file's own word, the command, the image, the keys, or the user's word."""
    container, launch, image = case.container, case.launch, case.image
    if launch is None and _is_front(container):
        return
    wanted = asked if asked and _could_be(container, asked) else None
    says = [
        (container.engine, "the file names the engine"),
        (launch.engine if launch else None, f"command {_command(launch)}"),
        (image.engine if image else None, f"image {written(container.image)}"),
        (wanted, "as asked for; the file does not name the engine"),
        (engine_of_keys(container.settings or {}), "its keys are this engine's"),
    ]
    case.engine, why = next(((name, why) for name, why in says if name), (None, ""))
    if case.engine == "vllm" and image is not None and image.engine in PLUG_INS:
        case.engine, why = image.engine, f"image {written(container.image)}"
    if case.engine == "vllm":
        case.engine = variant("vllm", container.env)
    if case.engine:
        case.evidence.append(f"{ENGINES[case.engine].label}: {why}.")


def _is_front(container: Container) -> bool:
    """A router or proxy before the engines."""
    return any(_FRONT.search(text) for text in (container.image, *container.words[:5]))


def _could_be(container: Container, asked: str) -> bool:
    flags = [word for word in container.words if word.startswith("-")]
    return knows_any(asked, [*flags, *(container.settings or {})])


def _command(launch: Launch | None) -> str:
    return " ".join(launch.words) if launch else ""


def _release(case: _Case) -> str | None:
    """By what is installed, else by the image's tag."""
    assert case.engine is not None
    container, image = case.container, case.image
    pinned = container.packages.get(case.engine)
    if pinned:
        case.evidence.append(f"Release {pinned}: the package that is installed.")
        return pinned
    same = image is not None and image.engine == case.engine
    if image is not None and same and image.release:
        case.evidence.append(f"Release {image.release}: image {written(container.image)}.")
        return image.release
    if image is not None and image.why:
        case.no_release = image.why
    elif container.image:
        case.no_release = f"image {written(container.image)} does not tell the engine's release"
    else:
        case.no_release = "nothing in the text names the release"
    return None


def _text(case: _Case) -> str:
    """The settings for the engine's parser: JSON for keys alone, else a command line."""
    assert case.engine is not None
    container, settings = case.container, case.container.settings
    env = _read_env(case.engine, container)
    if settings is not None and case.launch is None and not container.words and not env:
        return written(json.dumps(dict(settings), default=str, ensure_ascii=False))
    start, rest = _start(case)
    file = joined(case.engine, rest, container.files)
    rest = file.words
    case.notes += file.notes
    case.evidence += file.decided
    if settings:
        rest = (*rest, *as_flags(settings, Table(ENGINES[case.engine].options)))
    env = [pair for pair in env if not _also_flag(case.engine, pair, rest)]
    return shlex.join(written(word) for word in (*env, *start, *_without_secrets(rest)))


def _start(case: _Case) -> tuple[tuple[str, ...], Sequence[str]]:
    """(the words that start the engine, with the model; its arguments)."""
    assert case.engine is not None
    words, launch = case.container.words, case.launch
    if launch is not None:
        return (*launch.words, *((launch.model,) if launch.model else ())), launch.rest
    start = COMMANDS.get(case.engine, (case.engine,))
    first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    if case.container.image and first == 1 and not _RUNS.search(words[0]):
        # The image's own command takes a model by itself.
        return (*start, "MODEL" if is_marked(words[0]) else words[0]), words[1:]
    if first:
        runs = written(" ".join(words[:first]))
        case.notes.append(f"{runs[:80]!r} is no launcher known here; what it sets is not known.")
    variables = [word for word in words[:first] if is_marked(word)]
    return start, (*words[first:], *variables)


def _read_env(engine: str, container: Container) -> list[str]:
    """NAME=value for the variables that this engine reads its settings from."""
    table = Table(ENGINES[engine].options)
    upper = {
        plain(name)
        for option in ENGINES[engine].options
        for name in (option.path, *option.aliases)
        if name.isupper()
    }
    read = set(table.by_name) if engine == "tgi" else upper
    return [f"{name}={value}" for name, value in container.env.items() if plain(name) in read]


def _also_flag(engine: str, pair: str, rest: Sequence[str]) -> bool:
    """Whether a flag says what a variable says; the flag wins."""
    name = plain(pair.partition("=")[0])
    return any(word.startswith("-") and plain(word.partition("=")[0]) == name for word in rest)


def _without_secrets(words: Sequence[str]) -> list[str]:
    """Keys and tokens are not kept."""
    kept: list[str] = []
    for word in words:
        name, equals, _ = word.partition("=")
        if equals and _SECRET.match(name):
            word = f"{name}=***"
        elif kept and _SECRET.match(kept[-1]) and not word.startswith("-"):
            word = "***"
        kept.append(word)
    return kept


def _unset(engine: str, text: str, release: str | None) -> tuple[str, ...]:
    try:
        return read_config(ENGINES[engine], text, release).unset
    except ProjectError:
        return variables_in(text)
