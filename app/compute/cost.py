"""Step cost and graph memory in use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

import streamlit as st

from app.compute.hashing import HASH
from app.inputs.cost_choice import CostChoice
from core import memory as memory_core
from core.cards import card_named
from core.cost.family import family_of
from core.cost.of_tokens import cost_by_tokens, decodes, memory_by_tokens
from core.errors import ModelConfigError
from core.profiles import comparison_profiles, shipped_profiles
from core.records import (
    GraphMemory,
    PoolPolicy,
    Profile,
    SizeUnit,
    StepCost,
    StepHistogram,
)
from core.roofline import roofline_step_cost
from core.simulate import PrefillCost, family_times
from core.step_cost import (
    assumed_graph_memory,
    assumed_step_cost,
    memory_from_profile,
)


@st.cache_resource
def profiles_that_ship() -> Mapping[str, Profile]:
    """One copy a server process, which nobody may change: every page looks several times a run."""
    return MappingProxyType(shipped_profiles())


@st.cache_resource
def profiles_to_compare() -> Mapping[str, Profile]:
    """What ships beside the step costs: pool policies, prefill chunks."""
    return MappingProxyType(comparison_profiles())


@dataclass(frozen=True)
class CostView:
    """The step cost and graph memory in use.

    prefill : None leaves it to the simulation
    prompts : prefill chunks measured for the same model and card
    """

    name: str
    cost: StepCost
    memory: GraphMemory
    prefill: PrefillCost | None = None
    prompts: Profile | None = None


@st.cache_data(max_entries=16, hash_funcs=HASH)
def cost_view(choice: CostChoice) -> CostView:
    """From a profile, a fitted model, a roofline or the assumption. Raises InputError."""
    if choice.profile is not None:
        family = family_of(choice.profile, choice.relatives)
        cost, prefill = family_times(family, choice.context_tokens)
        memory = memory_from_profile(choice.profile)
        return CostView(choice.name, cost, memory, prefill, family.prompts)
    if choice.model is not None:
        model = choice.model
        return CostView(choice.name, model.cost, assumed_graph_memory(), model.prefill)
    if choice.roofline is not None:
        roofline = choice.roofline
        cost = roofline_step_cost(
            model_config(roofline.config_text),
            card_named(roofline.card),
            context_tokens=roofline.context_tokens,
            tp=roofline.tp,
        )
        return CostView(choice.name, cost, assumed_graph_memory())
    terms = asdict(choice.assumption) if choice.assumption else {}
    return CostView(choice.name, assumed_step_cost(**terms), assumed_graph_memory())


def steps_view(choice: CostChoice, steps: StepHistogram, max_rows: int) -> CostView:
    """The same choice as these steps take it: by rows of decode steps, or by tokens.

    max_rows : the most requests that decode together. Raises InputError.
    """
    return cost_view(choice) if decodes(steps) else tokens_view(choice, steps.unit, max_rows)


@st.cache_data(max_entries=16, hash_funcs=HASH)
def tokens_view(choice: CostChoice, unit: SizeUnit, max_rows: int) -> CostView:
    """For steps that may hold prompts, whose sizes are in `unit`. Raises InputError."""
    view = cost_view(choice)
    return replace(
        view,
        cost=cost_by_tokens(unit, view.cost, view.prefill, view.prompts, max_rows),
        memory=memory_by_tokens(view.memory, view.prompts),
    )


def model_config(text: str) -> Mapping[str, Any]:
    """A pasted config.json. Raises ModelConfigError."""
    try:
        config = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        where = getattr(error, "lineno", "?")
        raise ModelConfigError(
            f"The model config is not JSON (line {where}); paste the whole config.json of the "
            "model."
        ) from error
    if not isinstance(config, dict):
        raise ModelConfigError("The model config is no JSON object; paste the whole config.json.")
    return config


@st.cache_data(max_entries=64, hash_funcs=HASH)
def graph_bytes(sizes: tuple[int, ...], memory: GraphMemory, policy: PoolPolicy) -> float:
    """Device memory of these graphs; no policy is assumed, or one page would show two [bytes]."""
    return memory_core.graph_bytes(sizes, memory, policy)
