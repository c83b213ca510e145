"""A graph-memory model from what engines printed about their captures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import SettingError
from core.graph_memory.lists import GraphLists
from core.graph_memory.model import GraphMemoryModel, unnamed
from core.graph_memory.pool import pool_tensor_bytes
from core.records import FloatArray, ModelShape, Origin, PoolPolicy

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class GraphMemoryObservation:
    """What one capture took.

    taken_bytes : all graphs of the list together, as the engine measured [bytes]
    source : engine, release, card and run
    """

    lists: GraphLists
    shape: ModelShape
    taken_bytes: float
    source: str

    def __post_init__(self) -> None:
        if not self.lists:
            raise SettingError(f"{self.source}: no graph was captured, so its memory says nothing.")
        if not self.taken_bytes > 0:
            raise SettingError(
                f"{self.source}: the graphs took {self.taken_bytes / 2**20:,.0f} MiB, which no "
                "graph can; other memory was freed meanwhile. Take another run's figure."
            )


def fit_graph_memory(
    observations: Sequence[GraphMemoryObservation],
    *,
    full_share: float,
    splits: int,
    held: GraphMemoryModel | None = None,
) -> GraphMemoryModel:
    """Base and share a graph with the least relative squares, neither below 0.

    full_share : what a layer in a full graph takes, of what a piecewise graph takes; lists mostly
        hold the same sizes in both kinds, which cannot tell the two apart
    splits : see GraphMemoryModel; captures are taken to share a pool, largest first
    held : where the observations hold one number of graphs only, its share a graph is kept and
        the base alone is fitted
    Raises SettingError without an observation, or for one number of graphs without `held`.
    """
    if not observations:
        raise SettingError("Graph memory needs at least one capture to be fitted to.")
    figures = _Figures.of(observations, full_share, splits)
    base, piece = figures.parts(held)
    residual = float(figures.missed(base, piece).max())
    left_out = _left_out(observations, figures, held)
    return GraphMemoryModel(
        base,
        piece,
        piece * full_share,
        splits,
        Origin.FITTED,
        residual,
        _source(observations, held if figures.alike else None),
        max(residual, left_out, held.left_out_residual if held and figures.alike else 0.0),
        tuple((each.lists, unnamed(each.shape)) for each in observations),
    )


@dataclass(frozen=True)
class _Figures:
    """Captures as numbers: (n,) each.

    taken, tensors : measured total, and the pool's tensors in it [bytes]
    units : piecewise graphs, with layers of full ones counted at their share
    """

    taken: FloatArray
    tensors: FloatArray
    units: FloatArray

    @classmethod
    def of(
        cls, observations: Sequence[GraphMemoryObservation], full_share: float, splits: int
    ) -> _Figures:
        return cls(
            np.array([each.taken_bytes for each in observations]),
            np.array([_tensor_bytes(each, splits) for each in observations]),
            np.array([_units(each, full_share) for each in observations]),
        )

    @property
    def alike(self) -> bool:
        """Whether the number of graphs is the same in all, so that base and share mix."""
        return bool(self.units.min() == self.units.max())

    def only(self, kept: BoolArray) -> _Figures:
        return _Figures(self.taken[kept], self.tensors[kept], self.units[kept])

    def parts(self, held: GraphMemoryModel | None) -> tuple[float, float]:
        """Base and share a piecewise graph. Raises SettingError if they cannot be told apart."""
        rest, weights = self.taken - self.tensors, 1 / self.taken
        if not self.alike:
            return _two_parts(self.units, rest, weights)
        if held is None:
            raise SettingError(
                f"All {len(self.taken)} captures hold the same number of graphs, which cannot tell "
                "the base from a graph's share; add a run of another list, or hold a known share."
            )
        return _one_part(self.units, rest, weights, held.piece_bytes)

    def missed(self, base: float, piece: float) -> FloatArray:
        """Relative distance to what was measured."""
        found = base + piece * self.units + self.tensors
        return np.asarray(np.abs(found - self.taken) / self.taken, np.float64)


def _left_out(
    observations: Sequence[GraphMemoryObservation],
    figures: _Figures,
    held: GraphMemoryModel | None,
) -> float:
    """Largest miss of a capture that the fit did not see: each left out, then each shape.

    0 where too few remain to be fitted.
    """
    groups = [{n} for n in range(len(observations))]
    shapes = dict.fromkeys(unnamed(each.shape) for each in observations)
    groups += [
        {n for n, o in enumerate(observations) if unnamed(o.shape) == shape} for shape in shapes
    ]
    worst = 0.0
    for group in groups:
        out = np.array([n in group for n in range(len(observations))])
        rest = figures.only(~out)
        if len(rest.taken) and (held or not rest.alike):
            worst = max(worst, float(figures.only(out).missed(*rest.parts(held)).max()))
    return worst


def _tensor_bytes(each: GraphMemoryObservation, splits: int) -> float:
    return pool_tensor_bytes(each.lists, each.shape, splits, PoolPolicy.SHARED_LARGEST_FIRST)


def _units(each: GraphMemoryObservation, full_share: float) -> float:
    """Piecewise graphs, with full ones counted at their share."""
    layers = each.shape.num_layers
    lists = each.lists
    return lists.piecewise_objects(layers) + full_share * lists.full_layers(layers)


def _two_parts(units: FloatArray, rest: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Base and share of least weighted squares; one that would be below 0 is 0."""
    ones = np.ones_like(units)
    both = _least(np.stack([ones, units], 1), rest, weights)
    if both.min() >= 0:
        return float(both[0]), float(both[1])
    alone = [(float(_least(c[:, None], rest, weights)[0]), c) for c in (ones, units)]
    kept = [max(0.0, value) for value, _ in alone]
    errors = [
        float((((value * column - rest) * weights) ** 2).sum())
        for value, (_, column) in zip(kept, alone, strict=True)
    ]
    return (kept[0], 0.0) if errors[0] <= errors[1] else (0.0, kept[1])


def _one_part(
    units: FloatArray, rest: FloatArray, weights: FloatArray, piece: float
) -> tuple[float, float]:
    """The base beside a share that is held; the share alone where it takes more than there is."""
    base = float(_least(np.ones((len(units), 1)), rest - piece * units, weights)[0])
    if base >= 0:
        return base, piece
    return 0.0, max(0.0, float(_least(units[:, None], rest, weights)[0]))


def _least(columns: FloatArray, rest: FloatArray, weights: FloatArray) -> FloatArray:
    solution = np.linalg.lstsq(columns * weights[:, None], rest * weights, rcond=None)[0]
    return np.asarray(solution, np.float64)


def _source(observations: Sequence[GraphMemoryObservation], held: GraphMemoryModel | None) -> str:
    runs = "; ".join(dict.fromkeys(each.source for each in observations))
    text = f"fitted to {len(observations)} captures ({runs})"
    return f"{text}; the share a graph is held from: {held.source}" if held else text
