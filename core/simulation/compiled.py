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
    so that they call each other compiled. Its name holds a digest of the sources: numba's cache
    looks at one file alone, and would keep a function whose callee in another file changed.
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
        space[name] = _compiled(numba, function)
    return space["advance"]


def _compiled(numba: Any, function: FunctionType) -> Any:
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # nowhere to keep a cache: a read-only installation
        return numba.njit(function)
