"""The lessons in their order."""

from __future__ import annotations

from collections.abc import Callable

from app.learning import (
    failures,
    kept,
    kv_budget,
    kv_cache,
    payback,
    piecewise,
    rare_bucket,
    rebound,
    shape_buckets,
    side_effects,
    static_input,
    two_streams,
)

_MODULES = (
    kept,
    static_input,
    rebound,
    side_effects,
    failures,
    kv_cache,
    shape_buckets,
    payback,
    kv_budget,
    two_streams,
    piecewise,
    rare_bucket,
)

LESSONS: dict[str, Callable[[], None]] = {
    f"{number}. {module.TITLE}": module.show for number, module in enumerate(_MODULES, start=1)
}
"""Title as it is shown -> what draws the lesson."""
