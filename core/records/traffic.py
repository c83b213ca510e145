"""Traffic and bucket sets: requests, lengths, steps, capture sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import CaptureSizesError, HistogramError, RecordError
from core.records.origin import FloatArray, IntArray, Origin, SizeUnit


@dataclass(frozen=True)
class Trace:
    """Requests, one an index, sorted by arrival when arrivals are known.

    prompt_tokens, output_tokens : (n,) int64 [tokens]
    arrival_s : (n,) float64, nondecreasing, starting at 0 [s]; None when the file has none
    prefix_hit_tokens : (n,) int64, leading prompt tokens an infinite prefix cache would hold;
        None when the file cannot tell
    """

    prompt_tokens: IntArray
    output_tokens: IntArray
    arrival_s: FloatArray | None = None
    prefix_hit_tokens: IntArray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        n = len(self.prompt_tokens)
        for label in ("output_tokens", "arrival_s", "prefix_hit_tokens"):
            array = getattr(self, label)
            if array is not None and len(array) != n:
                raise RecordError(f"Trace: {label} has {len(array)} items, prompt_tokens {n}.")

    def __len__(self) -> int:
        return len(self.prompt_tokens)

    @property
    def duration_s(self) -> float | None:
        """Last minus first arrival [s]; None without arrivals."""
        if self.arrival_s is None or len(self) == 0:
            return None
        return float(self.arrival_s[-1] - self.arrival_s[0])

    @property
    def rate_rps(self) -> float | None:
        """Requests over duration [1/s]; None when undefined (no arrivals, or one instant)."""
        duration = self.duration_s
        return len(self) / duration if duration else None


@dataclass(frozen=True)
class LengthHistogram:
    """Distinct lengths and how many requests have each.

    lengths : (m,) int64, strictly ascending [tokens]
    counts : (m,) int64 or float64, positive [requests, or shares when is_share]
    """

    lengths: IntArray
    counts: NDArray[Any]
    what: str = "prompt"
    is_share: bool = False

    @property
    def total(self) -> float:
        """Requests (or the sum of the shares)."""
        return self.counts.sum().item()


@dataclass(frozen=True)
class StepHistogram:
    """Engine steps by unpadded size.

    sizes : (m,) int64, strictly ascending, each >= 1 [unit]
    steps : (m,) int64, each >= 1 [steps]
    duration_s : wall time that the steps cover [s]; None when unknown
    origin : measured (an engine said so) or estimated (simulated from a trace)
    decode_only : where tokens are counted, whether they are known to be rows of decode steps
        (drafted tokens), without a prompt among them; requests and prompt lengths need no such word
    """

    sizes: IntArray
    steps: IntArray
    unit: SizeUnit = SizeUnit.REQUESTS
    origin: Origin = Origin.MEASURED
    duration_s: float | None = None
    source: str = ""
    decode_only: bool = False

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.steps):
            raise HistogramError(
                f"Step histogram: {len(self.sizes)} sizes but {len(self.steps)} counts."
            )
        if len(self.sizes) and (self.sizes[0] < 1 or (np.diff(self.sizes) <= 0).any()):
            raise HistogramError(
                "Step histogram: sizes must be 1 or more, ascending, without repeats."
            )
        if (self.steps < 0).any():
            raise HistogramError("Step histogram: a count is below 0.")

    @classmethod
    def from_mapping(cls, counts: Mapping[int, int], **kwargs: Any) -> StepHistogram:
        """From {size: steps}; zero counts are left out."""
        items = sorted((int(size), int(n)) for size, n in counts.items() if n)
        sizes = np.array([size for size, _ in items], np.int64)
        return cls(sizes, np.array([n for _, n in items], np.int64), **kwargs)

    @classmethod
    def from_batches(cls, batches: Sequence[int] | IntArray, **kwargs: Any) -> StepHistogram:
        """From one size a step."""
        sizes, steps = np.unique(np.asarray(batches, np.int64), return_counts=True)
        return cls(sizes, steps.astype(np.int64), **kwargs)

    @property
    def total_steps(self) -> int:
        """Sum of the counts; Python integers where 64 bits would wrap."""
        if float(self.steps.sum(dtype=float)) < 2**62:
            return int(self.steps.sum())
        return sum(self.steps.tolist())

    @property
    def useful_slots(self) -> int:
        """Sum of size x steps [slots]; Python integers where 64 bits would wrap."""
        if len(self.sizes) == 0:
            return 0
        if float(self.sizes[-1]) * float(self.steps.sum()) < 2**62:
            return int(self.sizes @ self.steps)
        return sum(int(a) * int(b) for a, b in zip(self.sizes, self.steps, strict=True))


def normalised_sizes(sizes: Sequence[int] | IntArray) -> tuple[int, ...]:
    """Capture sizes sorted and without repeats.

    Raises CaptureSizesError if there is none, or one is below 1 or not whole.
    """
    result = set()
    for size in sizes:
        if isinstance(size, bool) or int(size) != size or size < 1:
            raise CaptureSizesError(f"Capture size {size} is not a whole number of 1 or more.")
        result.add(int(size))
    if not result:
        raise CaptureSizesError(
            "The list of capture sizes is empty; give at least one, e.g. 1,2,4."
        )
    return tuple(sorted(result))


@dataclass(frozen=True)
class BucketSet:
    """A named ascending list of capture sizes."""

    name: str
    sizes: tuple[int, ...]
    unit: SizeUnit = SizeUnit.REQUESTS
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", normalised_sizes(self.sizes))

    def __len__(self) -> int:
        return len(self.sizes)
