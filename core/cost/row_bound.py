"""Whether an eager step waits for the host or for the card, row by row, and where that turns.

A graph takes the host's time away: it helps where a step is launch-bound and has nothing to save
where it is GPU-bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.records import MeasureRow, SizeUnit
from core.speed import LaunchBound

NEAR = 0.05
"""Host and card times so close are not told apart: host times of shipped profiles vary by this."""
REPLAY_IS_DEVICE = 0.9
"""A replay whose launch takes less than this share of it shows the device's own time."""


class Bound(StrEnum):
    """What an eager step waits for."""

    LAUNCH = "launch-bound"
    EVEN = "about even"
    GPU = "GPU-bound"


@dataclass(frozen=True)
class RowBound:
    """One measured row. host_us submits the eager step, device_us runs it [us].

    saved_us : eager less replay and copying in; None where nothing was replayed
    """

    size: int
    bound: Bound
    host_us: float
    device_us: float
    saved_us: float | None = None


def row_bound(row: MeasureRow) -> RowBound | None:
    """From a measured row; None for failed rows and rows without host time (a CPU has none).

    The device's time is that of the replay, which runs the same kernels back to back. Where the
    replay itself waits for its launches, or there is none, the eager step tells: one that ends as
    soon as the last kernel is submitted waited for the host.
    """
    if row.error is not None or not row.eager_us or row.eager_host_us is None:
        return None
    device_us = _device_us(row)
    if device_us is None:
        return None
    step = LaunchBound(row.eager_host_us / 1e3, device_us / 1e3)
    apart = abs(row.eager_host_us - device_us) > NEAR * max(row.eager_host_us, device_us)
    bound = {"cpu": Bound.LAUNCH, "gpu": Bound.GPU}[step.bound] if apart else Bound.EVEN
    return RowBound(row.size, bound, row.eager_host_us, device_us, saved_us(row))


def saved_us(row: MeasureRow) -> float | None:
    """What a replay saves over the eager step, inputs copied in [us]; below 0: it loses."""
    if row.eager_us is None or row.replay_us is None:
        return None
    return row.eager_us - row.replay_us - (row.copy_us or 0.0)


def _device_us(row: MeasureRow) -> float | None:
    """Time of the kernels alone [us]; None where nothing shows it."""
    launch_us = row.replay_host_us or 0.0
    if row.replay_us and launch_us < REPLAY_IS_DEVICE * row.replay_us:
        return row.replay_us
    # Submitted before the kernels were done: then the card set the pace, and its time shows.
    eager_us, host_us = row.eager_us or 0.0, row.eager_host_us or 0.0
    return eager_us if host_us < REPLAY_IS_DEVICE * eager_us else row.replay_us


@dataclass(frozen=True)
class Crossover:
    """Where steps turn from launch-bound to GPU-bound.

    launch_to : the largest launch-bound size; gpu_from : the smallest size from which on every
        measured one is GPU-bound; None where there is none
    at : where host and device take equally long, between the two; None where they do not meet
    first, last : the sizes measured
    """

    launch_to: int | None
    gpu_from: int | None
    at: float | None
    first: int
    last: int

    def sentence(self, unit: SizeUnit = SizeUnit.REQUESTS) -> str:
        """What it means for graphs."""
        span = f"{self.first} to {self.last} {unit.value}"
        if self.launch_to is None and self.gpu_from is not None and self.gpu_from <= self.first:
            return (
                f"GPU-bound at every measured size ({span}): the host is never waited for, so a "
                "graph has next to nothing to save."
            )
        if self.gpu_from is None and self.launch_to == self.last:
            return (
                f"Launch-bound at the largest measured size ({span}): eager steps wait for the "
                "host, and a graph saves that time."
            )
        parts = []
        if self.launch_to is not None:
            parts.append(f"launch-bound up to {self.launch_to} {unit.value}")
        if self.gpu_from is not None:
            parts.append(f"GPU-bound from {self.gpu_from}")
        if not parts:
            return f"Host and card take about equally long at every measured size ({span})."
        text = f"Eager steps are {' and '.join(parts)}"
        if self.at is not None:
            text += f"; host and card take equally long at about {self.at:.0f} {unit.value}"
        return f"{text}. A graph saves host time below, and little above."


def crossover(rows: Sequence[MeasureRow]) -> Crossover | None:
    """From measured rows in any order; None where none of them tells what it is bound by."""
    found = sorted(
        (bound for row in rows if (bound := row_bound(row)) is not None),
        key=lambda bound: bound.size,
    )
    if not found:
        return None
    launch = [item.size for item in found if item.bound is Bound.LAUNCH]
    gpu_from = None
    for item in reversed(found):
        if item.bound is not Bound.GPU:
            break
        gpu_from = item.size
    launch_to = max(launch, default=None)
    return Crossover(launch_to, gpu_from, _meeting(found), found[0].size, found[-1].size)


def _meeting(found: Sequence[RowBound]) -> float | None:
    """The last size at which the device's time passes the host's, between measured rows."""
    gaps = [(item.size, item.device_us - item.host_us) for item in found]
    for (small, before), (large, after) in reversed(list(zip(gaps, gaps[1:], strict=False))):
        if before < 0 <= after:
            return small + (large - small) * -before / (after - before)
    return None
