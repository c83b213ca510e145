"""Time of one step at any size, replayed and eager: assumed, fitted to a profile, and evaluated.

Three rooms behind one door: cost_points evaluates, assumed_cost assumes, profile_cost measures.
"""

from core.cost.assumed import CAPTURE_MS, assumed_graph_memory, assumed_step_cost
from core.cost.of_profile import cost_from_profile, fit_profile, memory_from_profile
from core.cost.points import (
    capture_ms_at,
    check_units,
    eager_us_at,
    graph_step_us_at,
    line_at,
    replay_us_at,
)

__all__ = [
    "CAPTURE_MS",
    "assumed_graph_memory",
    "assumed_step_cost",
    "capture_ms_at",
    "check_units",
    "cost_from_profile",
    "eager_us_at",
    "fit_profile",
    "graph_step_us_at",
    "line_at",
    "memory_from_profile",
    "replay_us_at",
]
