"""Step cost and graph memory in use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

import streamlit as st

from app.compute.hashing import HASH
from app.inputs.cost_choice import CostChoice, Roofline
from core import memory as memory_core
from core.cards import card_named
from core.cost.family import family_of
from core.cost.of_tokens import cost_by_tokens, decodes, memory_by_tokens
from core.errors import ModelConfigError, ProjectError
from core.model.shape import shape_of_config
from core.profiles import comparison_profiles, shipped_profiles
from core.records import (
    GraphMemory,
    ModelShape,
    PoolPolicy,
    Profile,
    SizeUnit,
    StepCost,
    StepHistogram,
)
from core.roofline import roofline_step_cost
from core.simulate import PrefillCost
from core.step_cost import assumed_step_cost
from core.study.prices import Prices, assumed_prices, prices_of_family, prices_of_model


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

    memory : for the chosen pool; private_memory : for private pools, None: the same
    takes_kv : whether the engine's graphs leave fewer KV tokens
    prefill : None leaves it to the simulation
    prompts : prefill chunks measured for the same model and card
    """

    name: str
    cost: StepCost
    memory: GraphMemory
    prefill: PrefillCost | None = None
    prompts: Profile | None = None
    private_memory: GraphMemory | None = None
    takes_kv: bool = True


def cost_view(choice: CostChoice) -> CostView:
    """From a profile, a fitted model, a roofline or the assumption. Raises InputError."""
    found = prices_of(choice)
    return CostView(choice.name, found.cost, found.memory, found.prefill, found.prompts)


@st.cache_data(max_entries=16, hash_funcs=HASH)
def prices_of(choice: CostChoice) -> Prices:
    """Step times, graph memory and model of the same choice, and how far off they may be.

    Raises InputError.
    """
    if choice.profile is not None:
        family = family_of(choice.profile, choice.relatives)
        return prices_of_family(family, choice.context_tokens, name=choice.name)
    if choice.model is not None:
        return prices_of_model(choice.model)
    if choice.roofline is not None:
        return _roofline_prices(choice.name, choice.roofline)
    terms = asdict(choice.assumption) if choice.assumption else {}
    return assumed_prices(assumed_step_cost(**terms), choice.name)


def _roofline_prices(name: str, roofline: Roofline) -> Prices:
    """An estimate for the model and card, taken to be no surer than the assumption."""
    config = model_config(roofline.config_text)
    cost = roofline_step_cost(
        *(config, card_named(roofline.card)),
        context_tokens=roofline.context_tokens,
        tp=roofline.tp,
    )
    return replace(assumed_prices(cost, name), shape=_shape(config, roofline.tp))


def _shape(config: Mapping[str, Any], tp: int) -> ModelShape | None:
    """None for a model whose shape the step has not: its KV cache is not known either."""
    try:
        return shape_of_config(config, tensor_parallel=tp).shape
    except ProjectError:
        return None


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
