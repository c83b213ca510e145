"""The frozen records that cross borders between readers, calculations, worker and pages.

Numbers and text only, never tensors: the front end reads every record without torch.
Arrays are numpy, one-dimensional, and are never written to after construction.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import CaptureSizesError, HistogramError, RecordError, SettingError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

PROFILE_FORMAT = 1
"""Version of the Profile JSON document; raised when a reader of the older one would be wrong."""


class Origin(StrEnum):
    """Where a number comes from; printed beside every number shown."""

    MEASURED = "measured"
    FITTED = "fitted"
    ASSUMED = "assumed"
    ESTIMATED = "estimated"


class Grade(StrEnum):
    """What an upload can tell about step sizes (docs/formats.md)."""

    STEPS = "A"
    REQUESTS = "B"
    LENGTHS = "C"
    SUMS = "D"


class SizeUnit(StrEnum):
    """What a bucket counts."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    LENGTH = "sequence tokens"


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
    """

    sizes: IntArray
    steps: IntArray
    unit: SizeUnit = SizeUnit.REQUESTS
    origin: Origin = Origin.MEASURED
    duration_s: float | None = None
    source: str = ""

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
        return int(self.steps.sum())

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


@dataclass(frozen=True)
class StepCost:
    """Time of one decode step by size, from points; core.step_cost makes and evaluates it.

    sizes : (m,) int64, strictly ascending [unit]
    replay_us, eager_us : (m,) float64, wall time of one step replayed / run eagerly [us]
    copy_us : added to each replay: inputs copied in, graph looked up [us]
    capture_ms : (m,) float64, time to capture one graph of that size [ms]
    source : one line that says which card, model and date, or which assumption
    """

    sizes: IntArray
    replay_us: FloatArray
    eager_us: FloatArray
    capture_ms: FloatArray
    origin: Origin
    source: str
    copy_us: float = 0.0
    unit: SizeUnit = SizeUnit.REQUESTS


class PoolPolicy(StrEnum):
    """How graphs share memory."""

    PRIVATE = "private"
    SHARED_LARGEST_FIRST = "shared, largest first"
    SHARED_SMALLEST_FIRST = "shared, smallest first"


@dataclass(frozen=True)
class GraphMemory:
    """Device memory that graphs take, from points.

    sizes : (m,) int64, strictly ascending [unit]
    pool_bytes : (m,) float64, intermediate tensors of a graph of that size: what a private pool
        would hold, and what a shared pool can reuse [bytes]
    graph_bytes : (m,) float64, what each graph adds in any case (driver, nodes) [bytes]
    fixed_bytes : what the first capture takes once, whatever the number of graphs [bytes]
    """

    sizes: IntArray
    pool_bytes: FloatArray
    graph_bytes: FloatArray
    origin: Origin
    source: str
    fixed_bytes: float = 0.0


@dataclass(frozen=True)
class ModelShape:
    """A decoder's shape as far as a captured step and its memory need it.

    Lengths in elements; dtype is torch's name without the prefix ("bfloat16").
    """

    name: str = "small-llama"
    num_layers: int = 4
    hidden_size: int = 1024
    num_heads: int = 16
    num_kv_heads: int = 4
    head_dim: int = 64
    ffn_size: int = 2816
    vocab_size: int = 32000
    dtype: str = "bfloat16"


@dataclass(frozen=True)
class MeasureSpec:
    """What a worker shall measure: one row a bucket.

    sizes : capture sizes [requests]
    context_tokens : KV length of every live request [tokens]
    samples : timed replays a row
    """

    sizes: tuple[int, ...]
    target: str = "llama"
    model: ModelShape = field(default_factory=ModelShape)
    context_tokens: int = 512
    block_size_tokens: int = 16
    samples: int = 50
    warmup: int = 3
    pool_policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", normalised_sizes(self.sizes))
        for label in ("context_tokens", "block_size_tokens", "samples"):
            if getattr(self, label) < 1:
                raise SettingError(f"{label} is {getattr(self, label)}; it must be 1 or more.")

    @property
    def measuring_order(self) -> tuple[int, ...]:
        """Sizes as they are captured: largest first, unless the policy asks for the reverse."""
        smallest_first = self.pool_policy is PoolPolicy.SHARED_SMALLEST_FIRST
        return tuple(sorted(self.sizes, reverse=not smallest_first))


@dataclass(frozen=True)
class MeasureRow:
    """What was measured for one bucket. None: not measured on this device (never a guess).

    *_us are medians over `samples`; *_q1_us and *_q3_us the quartiles. `equal` says whether replay
    gave what the eager step gave; `max_abs_error` how far apart. `error` holds class and first line
    of what went wrong; then the figures are None.
    capture_ms includes instantiate_ms. pool_bytes is what the graph holds in a pool of its own;
    pool_growth_bytes what the spec's pool grew by when it was added, in the spec's order.
    """

    size: int
    eager_us: float | None = None
    eager_q1_us: float | None = None
    eager_q3_us: float | None = None
    replay_us: float | None = None
    replay_q1_us: float | None = None
    replay_q3_us: float | None = None
    eager_host_us: float | None = None
    replay_host_us: float | None = None
    copy_us: float | None = None
    capture_ms: float | None = None
    instantiate_ms: float | None = None
    pool_bytes: int | None = None
    pool_growth_bytes: int | None = None
    graph_bytes: int | None = None
    nodes: dict[str, int] | None = None
    samples: int = 0
    equal: bool | None = None
    max_abs_error: float | None = None
    achieved_gbps: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class DeviceInfo:
    """Where rows were measured. `graphs` False: rows hold eager CPU time and nothing else."""

    kind: str
    name: str
    graphs: bool
    total_bytes: int | None = None
    driver: str | None = None
    torch: str | None = None
    cuda: str | None = None
    triton: str | None = None
    copy_gbps: float | None = None
    clock_mhz: int | None = None
    throttle: str | None = None
    host: str | None = None

    @property
    def graphs_text(self) -> str:
        return "available" if self.graphs else "unavailable"


@dataclass(frozen=True)
class Profile:
    """A measurement as a document: device, spec and rows."""

    device: DeviceInfo
    spec: MeasureSpec
    rows: tuple[MeasureRow, ...]
    measured_at: str
    format: int = PROFILE_FORMAT

    @property
    def source(self) -> str:
        """One line for captions: card, model, context, samples, date."""
        samples = max((row.samples for row in self.rows), default=0)
        return (
            f"{self.device.name}, {self.spec.model.name}, "
            f"context {self.spec.context_tokens} tokens, "
            f"{samples} samples a row, {self.measured_at[:10]}"
        )


# JSON ------------------------------------------------------------------------------------------


def to_json_dict(record: Any) -> dict[str, Any]:
    """A record without arrays as plain JSON types.

    Raises RecordError on NaN or infinity, which JSON cannot carry between languages.
    """
    result = asdict(record)
    try:
        json.dumps(result, allow_nan=False)
    except ValueError as error:
        raise RecordError(f"{type(record).__name__}: {error}.") from error
    return result


def _checked(cls: type, data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise RecordError(f"{where}: an object was expected, got {type(data).__name__}.")
    known = {f.name for f in fields(cls)}
    unknown = sorted(set(data) - known)
    if unknown:
        raise RecordError(
            f"{where}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}."
        )
    return dict(data)


def _number(data: Mapping[str, Any], key: str, where: str, whole: bool = False) -> None:
    value = data.get(key)
    if value is None:
        return
    good = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not good or not math.isfinite(value):
        kind = "a whole number" if whole else "a number"
        raise RecordError(f"{where}: {key} is {value!r}; {kind} is expected.")


def _build(cls: type, data: dict[str, Any], where: str) -> Any:
    try:
        return cls(**data)
    except TypeError as error:
        raise RecordError(f"{where}: {error}.") from error


def spec_from_json(data: Any, where: str = "spec") -> MeasureSpec:
    """Raises RecordError (shape of the record) or InputError (a value out of range)."""
    values = _checked(MeasureSpec, data, where)
    if not isinstance(values.get("sizes"), Sequence) or isinstance(values["sizes"], str):
        raise RecordError(
            f"{where}: sizes is {values.get('sizes')!r}; a list of integers is expected."
        )
    for size in values["sizes"]:
        if not isinstance(size, int):
            raise RecordError(f"{where}: sizes holds {size!r}; a list of integers is expected.")
    for key in ("context_tokens", "block_size_tokens", "samples", "warmup", "seed"):
        _number(values, key, where, whole=True)
    if "model" in values:
        model = _checked(ModelShape, values["model"], f"{where}.model")
        for key, value in model.items():
            if key not in ("name", "dtype"):
                _number(model, key, f"{where}.model", whole=True)
                if value is None or value < 1:
                    raise RecordError(f"{where}.model: {key} is {value!r}; 1 or more is expected.")
        values["model"] = _build(ModelShape, model, f"{where}.model")
    if "pool_policy" in values:
        try:
            values["pool_policy"] = PoolPolicy(values["pool_policy"])
        except ValueError as error:
            raise RecordError(
                f"{where}: {error}; use one of {[p.value for p in PoolPolicy]}."
            ) from error
    values["sizes"] = tuple(values["sizes"])
    return _build(MeasureSpec, values, where)


def row_from_json(data: Any, where: str = "row") -> MeasureRow:
    """Raises RecordError."""
    values = _checked(MeasureRow, data, where)
    for key in values:
        if key not in ("nodes", "equal", "error"):
            _number(values, key, where, whole=key in ("size", "samples"))
    if not isinstance(values.get("size"), int) or values["size"] < 1:
        raise RecordError(f"{where}: size is {values.get('size')!r}; 1 or more is expected.")
    return _build(MeasureRow, values, where)


def profile_from_json(data: Any, where: str = "profile") -> Profile:
    """Raises RecordError; a newer format is refused by name."""
    values = _checked(Profile, data, where)
    if values.get("format") != PROFILE_FORMAT:
        raise RecordError(
            f"{where}: format is {values.get('format')!r}, this version reads {PROFILE_FORMAT}; "
            "measure again or update Bucketwise."
        )
    for key in ("device", "spec", "rows", "measured_at"):
        if key not in values:
            raise RecordError(f"{where}: field {key!r} is missing.")
    if not isinstance(values["rows"], Sequence) or isinstance(values["rows"], str):
        raise RecordError(f"{where}: rows must be a list.")
    device = _checked(DeviceInfo, values["device"], f"{where}.device")
    values["device"] = _build(DeviceInfo, device, f"{where}.device")
    values["spec"] = spec_from_json(values["spec"], f"{where}.spec")
    values["rows"] = tuple(
        row_from_json(row, f"{where}.rows[{i}]") for i, row in enumerate(values["rows"])
    )
    return _build(Profile, values, where)
