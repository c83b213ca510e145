"""`lab`: the graph contract run on an emulated card; no GPU."""

from __future__ import annotations

import argparse
from typing import Any

from core.lab import answer, last_line

NAME = "lab"
HELP = "the graph contract, run on an emulated card; --json gives each step of the derivations"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: the lessons run with their default inputs."""


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer."""
    return answer()


def text(result: dict[str, Any]) -> str:
    """The four numbers."""
    return last_line(result)
