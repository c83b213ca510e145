"""Which step cost to compute with, as one frozen choice."""

from __future__ import annotations

from dataclasses import dataclass

from core.calibration.model import StepModel
from core.records import Profile


@dataclass(frozen=True)
class Assumption:
    """Terms of the assumed step cost; see core.step_cost.assumed_step_cost."""

    launch_us: float
    launch_us_per_row: float
    step_us: float
    step_us_per_row: float
    capture_ms: float


@dataclass(frozen=True)
class Roofline:
    """A card by name, and a model by its config.json."""

    card: str
    context_tokens: int
    config_text: str
    tp: int


@dataclass(frozen=True)
class CostChoice:
    """One of the four is set.

    relatives : profiles of the same step at other contexts, and of its prompts
    context_tokens : KV length of a request in each step; the profile's own if None
    """

    name: str
    assumption: Assumption | None = None
    roofline: Roofline | None = None
    profile: Profile | None = None
    model: StepModel | None = None
    relatives: tuple[Profile, ...] = ()
    context_tokens: int | None = None
