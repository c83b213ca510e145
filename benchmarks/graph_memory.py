"""Graph memory of recorded captures beside what is predicted for them (docs/memory.md).

python -m benchmarks.graph_memory
"""

from __future__ import annotations

from collections.abc import Callable

from core.graph_memory import (
    GraphMemoryModel,
    GraphMemoryObservation,
    fit_graph_memory,
    shipped_captures,
    shipped_graph_memory,
)
from core.graph_memory.shipped import full_share

GIB = 2**30


def fitted_without(left_out: Callable[[GraphMemoryObservation], bool]) -> GraphMemoryModel:
    """The model that all other captures give."""
    shipped = shipped_captures()
    kept = [each for each in shipped.observations if not left_out(each)]
    return fit_graph_memory(kept, full_share=full_share(), splits=shipped.splits)


def missed(model: GraphMemoryModel, seen: GraphMemoryObservation) -> str:
    error = model.predict(seen.lists, seen.shape).total_bytes / seen.taken_bytes - 1
    return f"{100 * error:+.1f} %"


def row(seen: GraphMemoryObservation, shipped: GraphMemoryModel) -> str:
    lists = seen.lists
    cells = (
        seen.shape.name,
        f"{len(lists.piecewise)} / {len(lists.full)}",
        f"{max(lists.piecewise)} / {max(lists.full)}",
        f"{seen.taken_bytes / GIB:.2f} GiB",
        missed(shipped, seen),
        missed(fitted_without(lambda each: each is seen), seen),
        missed(fitted_without(lambda each: each.shape == seen.shape), seen),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    shipped = shipped_graph_memory(shipped_captures().engine, shipped_captures().release)
    print("| shape | graphs | largest | measured | in the fit | list left out | shape left out |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for seen in shipped_captures().observations:
        print(row(seen, shipped))
    print(
        f"\nbase {shipped.base_bytes / 2**20:.0f} MiB, a piecewise graph "
        f"{shipped.piece_bytes / 2**10:.0f} KiB, a layer of a full graph "
        f"{shipped.layer_bytes / 2**10:.0f} KiB ({full_share():.2f} of it); residual "
        f"{100 * shipped.residual:.1f} %, left out {100 * shipped.unseen_residual:.1f} %"
    )


if __name__ == "__main__":
    main()
