"""Cached calls into core; st.cache_data lives in this room alone."""

from app.compute.cost import CostView, cost_view, graph_bytes, model_config, profiles_that_ship
from app.compute.decision import (
    MAX_GRAPHS,
    best_frontier,
    best_set,
    bucket_break_even,
    change,
    curves,
    halves,
    held_out,
    lost_us,
    padding,
    rescored,
    step_us,
    weighed,
)
from app.compute.engines import (
    EngineDefault,
    checked,
    engine_default,
    engine_memory,
    exported,
    padding_by_engine,
)
from app.compute.hashing import content_digest
from app.compute.memory import capacity_curves, capacity_mark
from app.compute.traffic import (
    example_reading,
    length_marks,
    reading,
    scaled,
    served,
    simulation,
    with_arrivals,
)

__all__ = [
    "CostView",
    "EngineDefault",
    "MAX_GRAPHS",
    "best_frontier",
    "best_set",
    "bucket_break_even",
    "change",
    "capacity_curves",
    "capacity_mark",
    "checked",
    "content_digest",
    "cost_view",
    "curves",
    "engine_default",
    "engine_memory",
    "example_reading",
    "exported",
    "graph_bytes",
    "halves",
    "held_out",
    "length_marks",
    "lost_us",
    "model_config",
    "padding",
    "padding_by_engine",
    "profiles_that_ship",
    "reading",
    "rescored",
    "scaled",
    "served",
    "simulation",
    "step_us",
    "weighed",
    "with_arrivals",
]
