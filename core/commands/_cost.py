"""The step cost and graph memory a command is told to use: a profile, or the assumption."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.calibration.model import StepModel, is_model, model_from_json
from core.cost.family import ProfileFamily, family_of
from core.cost.of_tokens import MAX_ROWS, cost_for, decodes, memory_by_tokens
from core.errors import RecordError, SettingError
from core.profiles import comparison_profiles, shipped_profiles
from core.records import GraphMemory, Profile, StepCost, StepHistogram, profile_from_json
from core.simulate import PrefillCost, family_times
from core.step_cost import assumed_graph_memory, assumed_step_cost, memory_from_profile

ASSUMED = "assumed"


@dataclass(frozen=True)
class Costs:
    """What a profile (or the assumption) says; `cost` None: count padded slots.

    prefill, prompts, max_rows : what prices steps that are counted by tokens, as
        core.cost.of_tokens does
    """

    cost: StepCost | None
    memory: GraphMemory
    prefill: PrefillCost | None = None
    prompts: Profile | None = None
    max_rows: int = MAX_ROWS

    def for_steps(self, steps: StepHistogram) -> Costs:
        """As these steps take it: a decode step's by its rows, others by tokens.

        Raises SettingError.
        """
        if decodes(steps):
            return self
        return replace(
            self,
            cost=None if self.cost is None else self.priced(steps, self.cost),
            memory=memory_by_tokens(self.memory, self.prompts),
        )

    def priced(self, steps: StepHistogram, decode: StepCost) -> StepCost:
        """The same of a decode cost at hand. Raises SettingError."""
        return cost_for(steps, decode, self.prefill, self.prompts, self.max_rows)


def add_profile(parser: argparse.ArgumentParser) -> None:
    """--profile, --context-tokens."""
    shipped = ", ".join(sorted(shipped_profiles())) or "none yet"
    parser.add_argument(
        "--profile",
        metavar="P",
        help=f"step times: a profile (JSON file), the name of a shipped one ({shipped}), a model "
        f'that `calibrate --out` kept, or "{ASSUMED}"',
    )
    parser.add_argument(
        "--context-tokens",
        type=int,
        metavar="N",
        help="KV length of a request in each step, where profiles of several contexts are known "
        "(default: the profile's own)",
    )


def load_profile(name: str) -> Profile:
    """A shipped profile by name, else a file. Raises SettingError, RecordError, OSError."""
    shipped = shipped_profiles()
    if name in shipped:
        return shipped[name]
    if not Path(name).exists():
        known = ", ".join([*sorted(shipped), ASSUMED])
        raise SettingError(f"--profile {name!r} is no file and no known profile ({known}).")
    return profile_from_json(_json_in(name), name)


def load_model(name: str) -> StepModel | None:
    """A fitted model, if the file holds one. Raises RecordError, OSError."""
    if name in shipped_profiles() or not Path(name).exists():
        return None
    data = _json_in(name)
    return model_from_json(data, name) if is_model(data) else None


def _json_in(name: str) -> Any:
    try:
        return json.loads(Path(name).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{name} is no JSON ({error}); give a profile.") from error


def load_family(name: str) -> ProfileFamily:
    """A profile with its relatives among the shipped ones. Raises as `load_profile`."""
    return family_of(
        load_profile(name), [*shipped_profiles().values(), *comparison_profiles().values()]
    )


def chosen_costs(name: str | None, context_tokens: int | None = None) -> Costs:
    """From --profile; without it there is no cost, and memory is assumed. Raises SettingError."""
    source = chosen_source(name, context_tokens)
    if source is None:
        return Costs(None if name is None else assumed_step_cost(), assumed_graph_memory())
    if isinstance(source, StepModel):
        return Costs(source.cost, assumed_graph_memory(), source.prefill)
    cost, prefill = family_times(source, context_tokens)
    return Costs(cost, memory_from_profile(source.profile), prefill, source.prompts)


def chosen_source(
    name: str | None, context_tokens: int | None = None
) -> StepModel | ProfileFamily | None:
    """What --profile names, fit for --context-tokens; None where nothing, or the assumption.

    Raises SettingError, RecordError, OSError.
    """
    check_context(name, context_tokens)
    if name is None or name == ASSUMED:
        return None
    if (model := load_model(name)) is not None:
        check_model_context(model, context_tokens)
        return model
    return load_family(name)


def check_context(name: str | None, context_tokens: int | None) -> None:
    """Raises SettingError where --context-tokens has no profile to ask."""
    if context_tokens is not None and name in (None, ASSUMED):
        raise SettingError(
            f"--context-tokens {context_tokens} needs step times that were measured; give "
            "--profile P."
        )


def check_model_context(model: StepModel, context_tokens: int | None) -> None:
    """Raises SettingError: a fitted model counts the context of each step itself."""
    if context_tokens is not None:
        raise SettingError(
            f"--context-tokens {context_tokens} does not apply to {model.name}, whose steps count "
            "their own context; leave it out."
        )
