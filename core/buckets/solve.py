"""Which exact way through the layers is the quickest for an instance."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np

from core.buckets.layers import Layers, monotone_layers, quadratic_layers
from core.buckets.problem import Problem

COMPILED_FROM = 2**18
"""Candidates x graphs from which loading numba (about half a second) is sooner than numpy."""


def use_numba(work: int) -> bool:
    """Whether compiled code is at hand and worth loading for so many cells."""
    if importlib.util.find_spec("numba") is None:
        return False
    return "numba" in sys.modules or work >= COMPILED_FROM


def solve(problem: Problem, num_layers: int) -> Layers:
    """All layers of an instance; every way gives the same costs.

    rising costs: a queue or a split search. Any table: a Li Chao tree, or every predecessor.
    """
    splits = problem.rising and (problem.pads_up or problem.eager_rises)
    if problem.replay.dtype == np.float64 and use_numba(len(problem) * num_layers):
        from core.buckets import compiled

        if problem.pads_up and problem.rising:
            return compiled.queue_layers(problem, num_layers)
        if problem.pads_up or problem.eager_rises:
            return compiled.tree_layers(problem, num_layers)
    return monotone_layers(problem, num_layers) if splits else quadratic_layers(problem, num_layers)
