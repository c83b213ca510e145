"""Graph memory of any list and shape: a base, tensors of the largest graph, a share a graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.engines.memory import GraphCost
from core.errors import SettingError
from core.graph_memory.lists import GraphLists
from core.graph_memory.pool import layer_tensor_bytes, pool_tensor_bytes, split_attention_bytes
from core.records import GraphMemory, IntArray, ModelShape, Origin, PoolPolicy


@dataclass(frozen=True)
class GraphBytes:
    """Graph memory of one list, part by part [bytes].

    base_bytes : what the first capture takes once (library workspaces, the capture stream)
    tensor_bytes : the pool's tensors, by the largest graph of each kind
    piecewise_bytes, full_bytes : what the graphs themselves take, all of a kind together
    residual : largest share by which the model missed a measured total: of those in the fit where
        this list and shape is one of them, else of those left out of it
    """

    base_bytes: float
    tensor_bytes: float
    piecewise_bytes: float
    full_bytes: float
    origin: Origin
    residual: float
    source: str

    @property
    def total_bytes(self) -> float:
        return self.base_bytes + self.tensor_bytes + self.piecewise_bytes + self.full_bytes

    @property
    def band_bytes(self) -> tuple[float, float] | None:
        """The total less and plus the residual; None where the model is another engine's."""
        if self.origin is Origin.ASSUMED:
            return None
        total = self.total_bytes
        return total * (1 - self.residual), total * (1 + self.residual)


def unnamed(shape: ModelShape) -> ModelShape:
    """The shape under no name: a model's name says nothing of its memory."""
    return replace(shape, name="")


@dataclass(frozen=True)
class GraphMemoryModel:
    """Device memory of an engine's graphs in one shared pool, captured largest first.

    base_bytes : taken once, whatever the list
    piece_bytes : one piecewise graph; a size is layers + 1 of them
    layer_bytes : one layer within a full graph
    splits : parts into which recorded attention may split a context; 0 where it has no buffers
    residual : largest relative distance to the totals it was fitted to
    left_out_residual : the same for captures that were left out of the fit: each list, each shape
    seen : the lists and (unnamed) shapes of the fit
    """

    base_bytes: float
    piece_bytes: float
    layer_bytes: float
    splits: int
    origin: Origin
    residual: float
    source: str
    left_out_residual: float = 0.0
    seen: tuple[tuple[GraphLists, ModelShape], ...] = ()

    def __post_init__(self) -> None:
        for name in ("base_bytes", "piece_bytes", "layer_bytes", "splits"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise SettingError(f"{name} is {value}; give a number of 0 or more.")

    def predict(
        self,
        lists: GraphLists,
        shape: ModelShape,
        policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST,
    ) -> GraphBytes:
        """Graph memory of a list and a shape, which the fit need not have seen.

        shape : of the whole model; its tensor_parallel divides heads and FFN
        policy : the fit saw a pool shared largest first, as engines capture; under another one the
            tensors are computed in the same way and the total is "estimated" at best
        Without any graph everything is 0. Raises ModelConfigError.
        """
        return GraphBytes(
            self.base_bytes if lists else 0.0,
            pool_tensor_bytes(lists, shape, self.splits, policy),
            self.piece_bytes * lists.piecewise_objects(shape.num_layers),
            self.layer_bytes * lists.full_layers(shape.num_layers),
            self._origin(policy),
            self.residual if (lists, unnamed(shape)) in self.seen else self.unseen_residual,
            self.source,
        )

    @property
    def unseen_residual(self) -> float:
        """For a list or shape that is not in the fit."""
        return max(self.residual, self.left_out_residual)

    def _origin(self, policy: PoolPolicy) -> Origin:
        seen = policy is PoolPolicy.SHARED_LARGEST_FIRST or self.origin is Origin.ASSUMED
        return self.origin if seen else Origin.ESTIMATED

    def graph_bytes(
        self,
        sizes_full: Sequence[int] | IntArray,
        sizes_piecewise: Sequence[int] | IntArray,
        shape: ModelShape,
        *,
        variants: int = 1,
        policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST,
    ) -> float:
        """Total of `predict` for two lists of sizes [bytes]. Raises CaptureSizesError."""
        lists = GraphLists(tuple(sizes_full), tuple(sizes_piecewise), variants)
        return self.predict(lists, shape, policy).total_bytes

    def points(
        self,
        shape: ModelShape,
        largest: int,
        *,
        largest_full: int,
        piecewise: bool = True,
        policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST,
    ) -> GraphMemory:
        """The same by size, for functions that add up one list of capture sizes.

        largest : largest size that may be captured [tokens]
        largest_full : sizes above it have no full graph (max_num_seqs x tokens a request); 0: none
        piecewise : every size has piecewise graphs too
        policy : of the pool, for which the points hold; private ones have no tensor in common, so
            that a size with two kinds of graph holds its tensors twice
        core.memory.graph_bytes of a list then gives `predict`'s total, exactly where the list holds
        largest_full or ends below it, else with the splits of largest_full.
        Raises SettingError.
        """
        if largest < 1 or largest_full < 0:
            raise SettingError(
                f"The largest size is {largest}, the largest full graph {largest_full}; give 1 or "
                "more, and 0 or more."
            )
        ends = {1, largest_full, largest_full + 1, largest}
        sizes = [size for size in sorted(ends) if 1 <= size <= largest]
        pool = self._pool_bytes
        if policy is PoolPolicy.PRIVATE:
            pool = self._twice if piecewise else self._own
        full, pieces = shape.num_layers, (shape.num_layers + 1) * piecewise
        return GraphMemory(
            np.array(sizes, np.int64),
            np.array([pool(shape, size, largest_full) for size in sizes]),
            np.array(
                [
                    self.piece_bytes * pieces + self.layer_bytes * full * (size <= largest_full)
                    for size in sizes
                ]
            ),
            self._origin(policy),
            self.source,
            self.base_bytes,
        )

    def _pool_bytes(self, shape: ModelShape, size: int, largest_full: int) -> float:
        splits = split_attention_bytes(shape, min(size, largest_full), self.splits)
        return layer_tensor_bytes(shape, size) + splits

    def _own(self, shape: ModelShape, size: int, largest_full: int) -> float:
        """Of the one graph of a size: full up to largest_full, none above."""
        if size > largest_full:
            return 0.0
        return layer_tensor_bytes(shape, size) + split_attention_bytes(shape, size, self.splits)

    def _twice(self, shape: ModelShape, size: int, largest_full: int) -> float:
        """Of both graphs of a size; of the piecewise one alone above largest_full."""
        return layer_tensor_bytes(shape, size) + self._own(shape, size, largest_full)

    def costs(self, lists: GraphLists, shape: ModelShape) -> Mapping[str, GraphCost]:
        """First, second and all graphs of each kind, as an engine that measures two would see them.

        For `Engine.memory(costs=...)`; both kinds are taken to be captured from nothing.
        """
        kinds = {"full": GraphLists(lists.full), "piecewise": GraphLists((), lists.piecewise)}
        return {name: self._cost(kind, shape) for name, kind in kinds.items() if kind}

    def _cost(self, kind: GraphLists, shape: ModelShape) -> GraphCost:
        whole = self.predict(kind, shape)
        graphs = len(kind.full) + len(kind.piecewise)
        each = (whole.full_bytes + whole.piecewise_bytes) / graphs
        first = whole.base_bytes + whole.tensor_bytes + each
        return GraphCost(first, each, whole.total_bytes)
