"""The engine, release and settings that a command is asked about."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from core.engines import ENGINES, get_engine
from core.engines.protocol import Engine
from core.errors import SettingError


def add_engine(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """--engine, --version, --set. required : False where a file may name the engine."""
    add = parser.add_argument
    known = f"one of {', '.join(ENGINES)}"
    told = "" if required else "; without, as the file tells"
    add("--engine", required=required, metavar="E", help=f"{known}{told}")
    add("--version", metavar="V", help="its release; without, the newest known")
    add(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="its settings, e.g. max_num_seqs=256; `rules --engine E --list` names them",
    )


def chosen_engine(args: argparse.Namespace) -> Engine:
    """Raises SettingError for an unknown name."""
    return get_engine(args.engine)


def chosen_settings(args: argparse.Namespace) -> dict[str, object]:
    """{name: text} of --set; the engine converts. Raises SettingError."""
    pairs = named_values("--set", args.set, "max_num_seqs=256")
    return {name.replace("-", "_"): value for name, value in pairs.items()}


def named_values(flag: str, pairs: Sequence[str], example: str) -> dict[str, str]:
    """{name: text} of NAME=VALUE words. Raises SettingError."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SettingError(f"{flag} {pair!r} is no NAME=VALUE, e.g. {example}.")
        if name in values:
            raise SettingError(f"{flag} gives {name} twice; give it once.")
        values[name] = value
    return values
