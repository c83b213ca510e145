"""Step times, graph memory and model shape from one source: a run, a profile, the assumption."""

from __future__ import annotations

from dataclasses import dataclass

from core.calibration.model import StepModel
from core.cost.family import ProfileFamily
from core.model.memory import kv_bytes_per_token
from core.records import GraphMemory, ModelShape, Profile, StepCost
from core.simulate import PrefillCost, family_times
from core.simulation.profile_times import BYTES_OF_DTYPE
from core.step_cost import assumed_graph_memory, assumed_step_cost, memory_from_profile

PROFILE_ERROR = 0.05
"""A profile times a step alone, without the engine's host work around it, so that what a list gains
may be off by this share. Judged from vLLM 0.23's own steps beside the profiles (docs/decisions.md).
"""
ASSUMED_ERROR = 0.10
"""Of the assumed step times: their ratios are those of one model on one card."""
ASSUMED_SHAPE = ModelShape("8B, assumed", 32, 4096, 32, 8, 128, 14336, 128256)
"""Where nothing tells the model: the shape that the assumed step times are of."""


@dataclass(frozen=True)
class Prices:
    """What a step and its graphs cost.

    name : for people; error : how far off the step times are, as a share
    prefill : None is assumed in proportion; prompts : measured prefill chunks of the same model
    shape : of the model; None where the source does not tell it
    """

    name: str
    cost: StepCost
    prefill: PrefillCost | None
    memory: GraphMemory
    error: float
    shape: ModelShape | None = None
    prompts: Profile | None = None

    @property
    def kv_bytes_per_token(self) -> float | None:
        """Of the shape, on one card; None where it or its type is not known [bytes]."""
        shape = self.shape
        if shape is None or shape.dtype not in BYTES_OF_DTYPE:
            return None
        return kv_bytes_per_token(
            *(shape.num_layers, shape.num_kv_heads, shape.head_dim, BYTES_OF_DTYPE[shape.dtype]),
            shape.tensor_parallel,
        )


def prices_of_family(
    family: ProfileFamily, context_tokens: int | None = None, max_rows: int = 1024, name: str = ""
) -> Prices:
    """From a profile and its relatives. Raises SettingError."""
    cost, prefill = family_times(family, context_tokens, max_rows)
    profile = family.profile
    return Prices(
        name or f"{profile.spec.model.name} on {profile.device.name}",
        cost,
        prefill,
        memory_from_profile(profile),
        PROFILE_ERROR,
        profile.spec.model,
        family.prompts,
    )


def prices_of_model(model: StepModel) -> Prices:
    """From step times that were fitted to an engine."""
    error = PROFILE_ERROR if model.spread is None else model.spread
    return Prices(model.name, model.cost, model.prefill, assumed_graph_memory(), error)


def assumed_prices(cost: StepCost | None = None, name: str = "assumed") -> Prices:
    """Where nothing was measured."""
    return Prices(
        *(name, cost or assumed_step_cost(), None, assumed_graph_memory(), ASSUMED_ERROR),
        ASSUMED_SHAPE,
    )
