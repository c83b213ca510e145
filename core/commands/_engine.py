"""The engine, release and settings that a command is asked about."""

from __future__ import annotations

import argparse

from core.engines import ENGINES, get_engine
from core.engines.protocol import Engine
from core.errors import SettingError


def add_engine(parser: argparse.ArgumentParser) -> None:
    """--engine, --version, --set."""
    add = parser.add_argument
    add("--engine", required=True, metavar="E", help=f"one of {', '.join(ENGINES)}")
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
    settings: dict[str, object] = {}
    for pair in args.set:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SettingError(f"--set {pair!r} is no NAME=VALUE, e.g. max_num_seqs=256.")
        if name in settings:
            raise SettingError(f"--set gives {name} twice; give it once.")
        settings[name.replace("-", "_")] = value
    return settings
