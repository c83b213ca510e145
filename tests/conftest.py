"""Settings for every test, and the one Postgres of a test session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.core.store.postgres import TestServer

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

# One xdist worker runs all tests that need Postgres, so that there is one server.
POSTGRES_MARKS = (pytest.mark.postgres, pytest.mark.xdist_group("postgres"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[TestServer]:
    """The server of this test session; tests that need it are skipped where it cannot start."""
    from tests.core.store.postgres import TestServer

    server = TestServer()
    yield server
    server.stop()
