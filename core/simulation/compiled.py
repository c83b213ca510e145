"""The same loop compiled by numba, where numba is installed; loaded when first needed."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

SOURCES = ("names", "gaps", "heap", "requests", "prefill", "decode", "loop")
"""Modules of kernel/, each after those it uses."""
ENTRY = "advance"
LEAN = {"_nrt": False, "error_model": "numpy"}
"""No counting of references (nothing is allocated), no check for division by 0 (a block is 1 or
more): this and the next halve the time to compile."""
INNER = {**LEAN, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
"""Functions that only compiled ones call need no way in from Python; inlined, since the many arrays
of an Engine would be handed over by value."""


def numba_installed() -> bool:
    """Whether the compiled loop can be had at all; loads nothing."""
    return importlib.util.find_spec("numba") is not None


def is_loaded() -> bool:
    """Whether this process has the compiled loop already, so that using it costs nothing."""
    return compiled_advance.cache_info().currsize > 0


@cache
def compiled_advance() -> Callable[..., int]:
    """kernel.loop.advance, compiled. The first call in a process takes 0.5 s from the cache on
    disk, several seconds without one.

    All sources are executed into one module whose functions are then replaced by compiled ones,
    so that they call each other compiled. Names hold a digest of the sources: numba's cache looks
    at one file alone, and would keep a function whose callee in another file changed.
    """
    import numba

    folder = Path(__file__).parent / "kernel"
    texts = {folder / f"{name}.py": (folder / f"{name}.py").read_text("utf-8") for name in SOURCES}
    digest = hashlib.sha256("".join(texts.values()).encode()).hexdigest()[:12]
    module = ModuleType(f"core.simulation.kernel_{digest}")
    sys.modules[module.__name__] = module
    space = vars(module)
    functions: dict[str, FunctionType] = {}
    for path, text in texts.items():
        exec(compile(text, str(path), "exec"), space)
        # What a later source imports is the plain function; ours are those made in this space.
        functions |= {
            name: value
            for name, value in space.items()
            if isinstance(value, FunctionType) and value.__globals__ is space
        }
    for name, function in functions.items():
        if name != ENTRY:
            space[name] = numba.njit(function, **INNER)
    functions[ENTRY].__qualname__ = f"{ENTRY}_{digest}"  # names the file of the cache
    space[ENTRY] = _entry(numba, functions[ENTRY])
    return space[ENTRY]


def _entry(numba: Any, function: FunctionType) -> Any:
    """The one function called from Python; its cache entry holds those it calls."""
    try:
        return numba.njit(cache=True, **LEAN)(function)
    except RuntimeError:  # nowhere to keep a cache: a read-only installation
        return numba.njit(function, **LEAN)
