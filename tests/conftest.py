"""Settings for every test."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"

# Compiled functions are kept between runs, outside the source tree's read-only installs.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))

settings.register_profile(
    "default",
    deadline=None,  # shared machines: a slow moment is no failure
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("default")
