"""How large a measured step can be: bounds of every device, and what a memory can hold.

The largest size and the context decide what a worker allocates before it measures anything, so a
size that cannot be is refused before it is sent.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import SettingError
from core.model.config import dtype_bytes
from core.model.memory import kv_bytes_per_token
from core.records import MeasureSpec, ModelShape, SizeUnit

MAX_SIZE = 2**20
"""Requests or tokens of one step. Engines schedule some thousand requests and at most some ten
thousand tokens a step; from here on the step's inputs alone take gigabytes."""
MAX_CONTEXT_TOKENS = 2**24
"""Above the longest context that a published model takes, 10 million tokens (Llama 4 Scout)."""
MAX_SAMPLES = 10_000
"""The median of more says no more."""
MAX_SIZES = 4096
"""Sizes of one job; each is captured and measured on its own."""

KV_SHARE_OF_FREE = 0.75
"""The cache takes at most this share of what is free after the weights; graphs need the rest."""
CPU_CACHE_BYTES = 2 * 2**30
"""Counted as free on a CPU, whose rows are for orientation: a bounded cache, not all memory."""


@dataclass(frozen=True)
class Device:
    """What will measure.

    memory_bytes : all that it has, or counts as free for the cache [bytes]
    holds_weights : whether the weights lie in there too; a CPU's lie in the host's memory
    """

    name: str
    memory_bytes: int
    holds_weights: bool = True

    @property
    def cache_bytes(self) -> int:
        """The most that a KV cache gets [bytes]."""
        return int(KV_SHARE_OF_FREE * self.memory_bytes)


def check_step(spec: MeasureSpec, device: Device | None = None) -> None:
    """Raises SettingError with the value, the bound and the way out.

    device : the one that will measure; None where that is not known: then the bounds that hold on
        every device count alone
    """
    _check_bounds(spec)
    if device is not None and not spec.target.startswith("callable"):
        check_weights(spec.model, device)
        _check_cache(spec, device)


def check_weights(model: ModelShape, device: Device) -> None:
    """Raises SettingError where a model's weights are more than the device's memory."""
    needed = weight_bytes(model)
    if device.holds_weights and needed > device.memory_bytes:
        raise SettingError(
            f"The weights of {model.name} take {_gib(needed)}, and {device.name} has only "
            f"{_gib(device.memory_bytes)}. Take a smaller model or more tensor-parallel ranks."
        )


def weight_bytes(model: ModelShape) -> int:
    """Of one shard of the step that is captured: embedding, head and layers, norms left out."""
    heads = (2 * model.num_heads + 2 * model.num_kv_heads) * model.head_dim
    layer = heads * model.hidden_size + 3 * model.num_experts * model.ffn_size * model.hidden_size
    count = 2 * model.vocab_size * model.hidden_size + model.num_layers * layer
    element = dtype_bytes(model.dtype, "The model's dtype")
    return int(count * element) // model.tensor_parallel


def _check_bounds(spec: MeasureSpec) -> None:
    largest, unit = spec.sizes[-1], spec.unit.value
    bounds = (
        (largest, f"Size {largest:,} {unit}", MAX_SIZE, "measure smaller sizes"),
        (len(spec.sizes), f"{len(spec.sizes):,} sizes", MAX_SIZES, "measure fewer in one job"),
        (
            spec.context_tokens,
            f"Context {spec.context_tokens:,} tokens",
            MAX_CONTEXT_TOKENS,
            "take a shorter one",
        ),
        (spec.samples, f"{spec.samples:,} samples a size", MAX_SAMPLES, "take fewer"),
    )
    for value, words, bound, way_out in bounds:
        if value > bound:
            raise SettingError(f"{words} cannot be measured; the bound is {bound:,}: {way_out}.")


def _check_cache(spec: MeasureSpec, device: Device) -> None:
    largest = spec.sizes[-1]
    most = largest_size(spec, device)
    if largest <= most:
        return
    needed = _gib(_blocks(spec, largest) * _block_bytes(spec))
    room = f"{device.name} has at most {_gib(device.cache_bytes)} for it"
    if most < 1:
        tokens = spec.context_tokens
        raise SettingError(
            f"A context of {tokens:,} tokens cannot be measured: the KV cache of one step takes "
            f"{needed}, and {room}. Take a shorter context or a smaller model."
        )
    raise SettingError(
        f"Size {largest:,} {spec.unit.value} cannot be measured: its KV cache at a context of "
        f"{spec.context_tokens:,} tokens takes {needed}, and {room}. Measure sizes up to {most:,}, "
        "or take a shorter context or a smaller model."
    )


def largest_size(spec: MeasureSpec, device: Device) -> int:
    """Largest size whose KV cache the device can hold, weights not counted [unit]."""
    blocks = device.cache_bytes // _block_bytes(spec) - 1  # one belongs to padding
    if spec.unit is SizeUnit.TOKENS:
        return max(0, blocks * spec.block_size_tokens - spec.context_tokens)
    return max(0, blocks // -(-spec.context_tokens // spec.block_size_tokens))


def _blocks(spec: MeasureSpec, size: int) -> int:
    """KV blocks of a step: of every request, or of the one whose chunk it is."""
    block = spec.block_size_tokens
    if spec.unit is SizeUnit.TOKENS:
        return -(-(spec.context_tokens + size) // block)
    return size * -(-spec.context_tokens // block)


def _block_bytes(spec: MeasureSpec) -> int:
    model = spec.model
    element = dtype_bytes(model.dtype, "The model's dtype")
    token = kv_bytes_per_token(
        model.num_layers, model.num_kv_heads, model.head_dim, element, model.tensor_parallel
    )
    return int(spec.block_size_tokens * token)


def _gib(num_bytes: float) -> str:
    return f"{num_bytes / 2**30:,.1f} GiB"
