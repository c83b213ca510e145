"""A coroutine run to its end, wherever the caller stands."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], within_s: float = 60.0) -> T:
    """What `work` returns. Raises TimeoutError after `within_s`, and whatever `work` raises.

    In a thread of its own: Playwright's browser leaves its loop running in the thread of the tests,
    and no second one may run there."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, asyncio.wait_for(work, within_s)).result()
