"""A measurement: what is asked of a worker, and the document it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from core.errors import SettingError
from core.records.cost import PoolPolicy
from core.records.engine import EngineFacts, EngineSpec
from core.records.origin import SizeUnit
from core.records.traffic import normalised_sizes

PROFILE_FORMAT = 1
"""Version of the Profile JSON document; raised when a reader of the older one would be wrong."""

ENGINES = ("vllm",)
"""Targets that are engines; after a hyphen the kind of step."""

CPU_BUDGET_S = 1.0
"""Without a card a row stops sampling after this long [s] (but not below CPU_MIN_SAMPLES)."""
CPU_MIN_SAMPLES = 5


@dataclass(frozen=True)
class ModelShape:
    """A decoder's shape as far as a captured step and its memory need it.

    Lengths in elements; dtype is torch's name without the prefix ("bfloat16"). ffn_size is that of
    one expert. num_experts 1 is a dense model. tensor_parallel: the step is one of so many shards,
    each with its share of heads, FFN columns (or experts' columns) and vocabulary.
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
    num_experts: int = 1
    experts_per_token: int = 1
    tensor_parallel: int = 1


class CaptureMode(StrEnum):
    """One graph a step, or graphs around each attention, which then runs eagerly."""

    FULL = "full"
    PIECEWISE = "piecewise"


@dataclass(frozen=True)
class MeasureSpec:
    """What a worker shall measure: one row a bucket.

    sizes : capture sizes [unit]
    target : "llama" (a decode step), "llama-prefill" (a chunk of one prompt; sizes in tokens),
        "callable:module:factory" (the user's own), or a step of an installed engine: "vllm"
        (decode), "vllm-prefill" (one prompt), "vllm-mixed" (a prompt beside decoding requests)
    context_tokens : KV length of every live request; for a prefill chunk, the tokens before it
    samples : timed replays a row
    engine : how the engine is started, where the target is one
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
    capture: CaptureMode = CaptureMode.FULL
    engine: EngineSpec | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", normalised_sizes(self.sizes))
        if self.engine is None and self.of_engine:
            object.__setattr__(self, "engine", EngineSpec())
        if self.engine is not None:
            self._take_engine(self.engine)
        for label in ("context_tokens", "block_size_tokens", "samples"):
            least = 0 if label == "context_tokens" and self.target == "vllm-prefill" else 1
            if getattr(self, label) < least:
                raise SettingError(
                    f"{label} is {getattr(self, label)}; it must be {least} or more."
                )

    def _take_engine(self, engine: EngineSpec) -> None:
        if not self.of_engine:
            raise SettingError(
                f'engine is given, but target {self.target!r} is no engine; use "vllm".'
            )
        ranks = engine.tensor_parallel_size
        object.__setattr__(self, "model", replace(self.model, tensor_parallel=ranks))
        if engine.block_size is not None:
            object.__setattr__(self, "block_size_tokens", engine.block_size)

    @property
    def of_engine(self) -> bool:
        """Whether an installed engine is measured, and not a step of this project's."""
        return self.target.partition("-")[0] in ENGINES

    @property
    def unit(self) -> SizeUnit:
        """What a size counts."""
        tokens = self.target.endswith(("-prefill", "-mixed"))
        return SizeUnit.TOKENS if tokens else SizeUnit.REQUESTS

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
    pool_growth_bytes what the spec's pool grew by when it was added, in the spec's order. pieces:
    graphs that one step replays; 1 unless captured piecewise.

    Of an engine's step a time is one whole step, its host's part included; *_card_us is the
    model's part alone by events on the card. beyond_us: a step of the engine with graphs for which
    it has none. mode, padded: how the engine says it ran the step, and to how many tokens.
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
    pieces: int | None = None
    error: str | None = None
    eager_card_us: float | None = None
    replay_card_us: float | None = None
    beyond_us: float | None = None
    mode: str | None = None
    padded: int | None = None


def fewer_samples(rows: Sequence[MeasureRow], asked: int) -> bool:
    """Whether a measured row has fewer samples than were asked for."""
    return any(row.error is None and row.samples < asked for row in rows)


def samples_text(rows: Sequence[MeasureRow], asked: int) -> str:
    """How many samples the measured rows have: '50', or '5 to 30 of 30'."""
    taken = {row.samples for row in rows if row.error is None}
    if not taken:
        return "0"
    low, high = min(taken), max(taken)
    text = f"{low}" if low == high else f"{low} to {high}"
    return f"{text} of {asked}" if fewer_samples(rows, asked) else text


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
    """A measurement as a document: device, spec and rows; engine: what its start told, if one."""

    device: DeviceInfo
    spec: MeasureSpec
    rows: tuple[MeasureRow, ...]
    measured_at: str
    format: int = PROFILE_FORMAT
    engine: EngineFacts | None = None

    @property
    def source(self) -> str:
        """One line for captions: card, model, context, samples, date."""
        samples = samples_text(self.rows, self.spec.samples)
        piecewise = ", piecewise" if self.spec.capture is CaptureMode.PIECEWISE else ""
        engine = f", measured on {self.engine.title}" if self.engine is not None else ""
        return (
            f"{self.device.name}, {self.spec.model.name}{engine}, "
            f"context {self.spec.context_tokens} tokens{piecewise}, "
            f"{samples} samples a row, {self.measured_at[:10]}"
        )
