"""`break-even`: after how many steps capturing a graph has paid for itself."""

from __future__ import annotations

import argparse
from typing import Any

from core.break_even import break_even
from core.commands._numbers import number
from core.errors import SettingError

NAME = "break-even"
HELP = "steps after which capturing a graph has paid for itself, or never"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Three times in us and, for wall time, how often the step runs."""
    for flag, what in (
        ("--capture-us", "once, to capture; 0 for a graph restored from disk"),
        ("--eager-us", "one step without a graph"),
        ("--graph-us", "one replay, with copying in"),
    ):
        parser.add_argument(flag, type=number, required=True, metavar="US", help=what)
    parser.add_argument("--steps-per-hour", type=number, metavar="H", help="for the wall time")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer; null = never (pays_back_s: also without --steps-per-hour)."""
    found = break_even(args.capture_us, args.eager_us, args.graph_us)
    per_hour = args.steps_per_hour
    if per_hour is not None and per_hour <= 0:
        raise SettingError(f"--steps-per-hour is {per_hour:g}; give a number above 0.")
    pays_back_s = None
    if found.even_at is not None and per_hour is not None:
        pays_back_s = found.even_at * 3600.0 / per_hour
    return {
        "net_us": found.net_us,
        "even_at": found.even_at,
        "saves_from": found.saves_from,
        "pays_back_s": pays_back_s,
    }


def text(result: dict[str, Any]) -> str:
    """For people."""
    if result["saves_from"] is None and not result["net_us"]:
        return "never: a replay takes as long as an eager step"
    if result["saves_from"] is None:
        return f"never: a replay is slower by {-result['net_us']:g} µs a step"
    lines = [
        f"each replay saves {result['net_us']:g} µs; even at step {result['even_at']:,g}, "
        f"saving from step {result['saves_from']:,}"
    ]
    if result["pays_back_s"] is not None:
        lines.append(f"that is after {result['pays_back_s']:,.4g} s")
    return "\n".join(lines)
