"""When unreachable objects are looked for: now and then, not after every run of a page.

Streamlit by itself walks all objects of the process after each run, which takes as long as the
run (.streamlit/config.toml switches it off). Python's own thresholds alone would keep a large
upload long after its browser has gone, so one run in a while still looks. Every browser's run is a
thread, and the C library keeps what threads freed for threads to come, in pieces; what of it is
whole pages goes back to the system at the same time.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import time

EVERY_S = 20.0


class Collector:
    """Safe to share between threads."""

    def __init__(self, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._next_s = 0.0
        self._one = threading.Lock()

    def run_if_due(self, now_s: float) -> bool:
        """Look, unless somebody did less than `every_s` ago; now_s : monotonic time [s]."""
        with self._one:
            if now_s < self._next_s:
                return False
            self._next_s = now_s + self._every_s
        gc.collect()
        give_back_freed()
        return True


def give_back_freed() -> None:
    """Freed memory to the system, where the C library can (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


_COLLECTOR = Collector()


def collect_now_and_then() -> None:
    """For the end of every run."""
    _COLLECTOR.run_if_due(time.monotonic())
