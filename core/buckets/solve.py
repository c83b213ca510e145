"""Which exact way through the layers is the quickest for an instance."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from types import ModuleType

import numpy as np

from core.buckets.layers import Layers, monotone_layers, quadratic_layers
from core.buckets.problem import Problem

NUMPY_UPTO = 2**15
"""Candidates x graphs that numpy alone does in some tens of milliseconds."""
COMPILED_FROM = 2**18
"""Candidates x graphs from which even loading numba (about half a second) pays."""


@cache
def _loaded(name: str) -> ModuleType | None:
    """A compiled module; None without numba, or where its cache can be written nowhere."""
    try:
        return importlib.import_module(f"core.buckets.{name}")
    except (ImportError, RuntimeError):
        return None


def compiled(name: str, work: int) -> ModuleType | None:
    """The module of that name if it is at hand and worth its while for so many cells."""
    if work < NUMPY_UPTO or ("numba" not in sys.modules and work < COMPILED_FROM):
        return None
    return _loaded(name)


def solve(problem: Problem, num_layers: int) -> Layers:
    """All layers of an instance; every way gives the same costs.

    rising costs: a queue or a split search. Any table: a Li Chao tree, or every predecessor.
    """
    orderly = problem.pads_up or problem.eager_rises
    if problem.replay.dtype == np.float64 and orderly:
        module = compiled("compiled", len(problem) * num_layers)
        if module is not None:
            queue = problem.pads_up and problem.rising
            return (module.queue_layers if queue else module.tree_layers)(problem, num_layers)
    splits = problem.rising and orderly
    return (monotone_layers if splits else quadratic_layers)(problem, num_layers)
