"""The step cost and graph memory a command is told to use: a profile, or the assumption."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from core.errors import RecordError, SettingError
from core.profiles import shipped_profiles
from core.records import GraphMemory, Profile, StepCost, profile_from_json
from core.step_cost import (
    assumed_graph_memory,
    assumed_step_cost,
    cost_from_profile,
    memory_from_profile,
)

ASSUMED = "assumed"


@dataclass(frozen=True)
class Costs:
    """What a profile (or the assumption) says; `cost` None: count padded slots."""

    cost: StepCost | None
    memory: GraphMemory


def add_profile(parser: argparse.ArgumentParser) -> None:
    """--profile."""
    shipped = ", ".join(sorted(shipped_profiles())) or "none yet"
    parser.add_argument(
        "--profile",
        metavar="P",
        help=f"step times: a profile (JSON file), the name of a shipped one ({shipped}), or "
        f'"{ASSUMED}"',
    )


def load_profile(name: str) -> Profile:
    """A shipped profile by name, else a file. Raises SettingError, RecordError, OSError."""
    shipped = shipped_profiles()
    if name in shipped:
        return shipped[name]
    path = Path(name)
    if not path.exists():
        known = ", ".join([*sorted(shipped), ASSUMED])
        raise SettingError(f"--profile {name!r} is no file and no known profile ({known}).")
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise RecordError(f"{name} is no JSON ({error}); give a profile.") from error
    return profile_from_json(data, name)


def chosen_costs(name: str | None) -> Costs:
    """From --profile; without it there is no cost, and memory is assumed."""
    if name is None:
        return Costs(None, assumed_graph_memory())
    if name == ASSUMED:
        return Costs(assumed_step_cost(), assumed_graph_memory())
    profile = load_profile(name)
    return Costs(cost_from_profile(profile), memory_from_profile(profile))
