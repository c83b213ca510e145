"""vLLM on Gaudi: the dimensions of its buckets, their product, its filters, and the look-up.

A bucket is (batch [requests], query [tokens], context [KV blocks]); a decode bucket has query 1.
Source: vllm-gaudi extension/bucketing/common.py and the strategy files at 091bbadd, restated.
"""

from __future__ import annotations

from typing import Any

from core.engines._gaudi_ladders import exponential, linear, padding_aware, run_time_bucket
from core.engines.plan import Mode
from core.errors import SettingError

Bucket = tuple[int, int, int]

MOST_BUCKETS = 2_000_000

DIMENSIONS = ("prompt_bs", "prompt_query", "prompt_ctx", "decode_bs", "decode_block")
FIELDS = ("min", "step", "max", "pad_max", "pad_percent")


def _ceil_log2(n: int) -> int:
    return (n - 1).bit_length()


def _blocks(values: dict[str, Any], tokens: int) -> int:
    return -(-tokens // values["block_size"])


def max_context(values: dict[str, Any]) -> int:
    """KV blocks of earlier context at most, beside the smallest query."""
    return max((values["max_model_len"] - values["block_size"]) // values["block_size"], 1)


def decode_blocks_linear(values: dict[str, Any]) -> int:
    """Largest decode block bucket of the linear and padding-aware strategies."""
    if values["contiguous_pa"] and values["num_hpu_blocks"]:
        return values["num_hpu_blocks"]
    block = values["block_size"]
    return max(values["max_model_len"] * values["max_num_seqs"] // block, block)


def decode_blocks_exponential(values: dict[str, Any]) -> int:
    """Largest decode block bucket of the exponential strategy."""
    largest = _blocks(values, values["max_model_len"]) * values["max_num_seqs"]
    if values["num_hpu_blocks"]:
        allowed = values["num_hpu_blocks"] * (1 if values["contiguous_pa"] else 3)
        largest = min(largest, allowed)
    return largest


def _defaults(values: dict[str, Any], name: str) -> tuple[int, int, int]:
    """(min, step, max) of the linear strategy."""
    block = values["block_size"]
    return {
        "prompt_bs": (1, 1, values["max_num_prefill_seqs"]),
        "prompt_query": (block, block, values["max_num_batched_tokens"]),
        "prompt_ctx": (0, 1, max_context(values)),
        "decode_bs": (1, 32, values["max_num_seqs"]),
        "decode_block": (1, block, decode_blocks_linear(values)),
    }[name]


def dimension(values: dict[str, Any], name: str) -> tuple[int, ...]:
    """Sizes of one dimension under the strategy that is set."""
    strategy = {"exp": _exponential, "lin": _linear, "pad": _padded}
    sizes = strategy[values["strategy"]](values, name)
    blocks = values["num_hpu_blocks"]
    if name == "decode_block" and values["contiguous_pa"] and blocks and blocks not in sizes:
        return tuple(sorted({*(n for n in sizes if n <= blocks), blocks}))
    return sizes


def _linear(values: dict[str, Any], name: str) -> tuple[int, ...]:
    low, step, high = _ordered(values, name, *_defaults(values, name))
    if name == "decode_block" and values["num_hpu_blocks"]:
        high = min(high, values["num_hpu_blocks"])  # a larger maximum is overwritten
    return linear(min(low, high), step, high)


def _exponential(values: dict[str, Any], name: str) -> tuple[int, ...]:
    low, step, high = _defaults(values, name)
    step = {"prompt_bs": 2, "decode_bs": 2, "decode_block": values["max_num_seqs"]}.get(name, step)
    if name == "decode_block":
        high = decode_blocks_exponential(values)
    if name == "prompt_query" and values["prompt_query_min"] == 1:
        low = 1
    count = _ceil_log2(high) + (0 if name == "prompt_query" else 1)
    if name == "prompt_ctx" and high == 1:
        count = 2
    return exponential(low, step, high, count, exact_last=values["contiguous_pa"])


def _padded(values: dict[str, Any], name: str) -> tuple[int, ...]:
    low, step, high = _defaults(values, name)
    step = {"decode_bs": 2, "prompt_ctx": 2}.get(name, step)
    if name == "decode_block":
        low = _block_minimum(values)
    low, step, high = _ordered(values, name, low, step, high)
    pad_max = -(-high // 4)
    if name == "prompt_ctx":
        pad_max = _blocks(values, values["max_num_batched_tokens"])
    pad_max = values[f"{name}_pad_max"] or pad_max
    percent = values[f"{name}_pad_percent"]
    return padding_aware(low, step, high, pad_max, 25 if percent is None else percent)


def _block_minimum(values: dict[str, Any]) -> int:
    """The padding-aware strategy starts decode blocks at a block's tokens, where so many exist."""
    low, have = values["block_size"], values["num_hpu_blocks"]
    if have is None or low <= have:
        return low
    return max(1, have - (values["decode_block_step"] or values["block_size"]))


def _ordered(
    values: dict[str, Any], name: str, low: int, step: int, high: int
) -> tuple[int, int, int]:
    """The user's min, step and max over the defaults; raises SettingError out of order."""
    given = [values[f"{name}_{part}"] for part in ("min", "step", "max")]
    low, step, high = (
        value if value is not None else default
        for value, default in zip(given, (low, step, high), strict=True)
    )
    if low > high:
        raise SettingError(
            f"vLLM Gaudi: {name}_min is {low} but {name}_max {high}; the minimum must not be above."
        )
    _not_too_many(high // step)
    return low, step, high


def prompt_buckets(values: dict[str, Any]) -> tuple[Bucket, ...]:
    """Prompt buckets that a step can need. Raises SettingError when the filters leave none."""
    context = _blocks(values, values["max_model_len"] - 1)
    batches, queries, contexts = (dimension(values, name) for name in DIMENSIONS[:3])
    _not_too_many(len(batches) * len(queries) * len(contexts))
    found = {
        (bs, query, ctx)
        for bs in batches
        for query in queries
        for ctx in contexts
        if ctx <= context
        and query <= values["max_model_len"]
        and bs * query <= values["max_num_batched_tokens"]
    }
    return _some(found, "prompt")


def decode_buckets(values: dict[str, Any], sizes: tuple[int, ...]) -> tuple[Bucket, ...]:
    """Decode buckets for batches `sizes`; speculation adds batches of drafted rows.

    Raises SettingError when the filters leave none.
    """
    a_request = _blocks(values, values["max_model_len"])
    blocks = dimension(values, "decode_block")
    _not_too_many(len(sizes) * len(blocks))
    found = set()
    for bs in sizes:
        for ctx in blocks:
            if values["contiguous_pa"]:
                found.add((bs, 1, ctx))
            elif bs <= ctx:
                found.add((bs, 1, min(ctx, bs * a_request)))
    rows = 1 + values["num_speculative_tokens"]
    if rows > 1:
        found |= {(bs * rows, 1, ctx) for bs, _, ctx in found if bs * rows <= ctx} | {
            (bs * rows, 1, ctx * rows) for bs, _, ctx in found
        }
    return _some(found, "decode")


def _not_too_many(count: int) -> None:
    """Raises SettingError for more buckets than a device would ever warm up."""
    if count > MOST_BUCKETS:
        raise SettingError(
            f"vLLM Gaudi: these settings lay out {count:,} buckets; use larger steps or the "
            "exponential strategy."
        )


def _some(found: set[Bucket], which: str) -> tuple[Bucket, ...]:
    if not found:
        raise SettingError(
            f"vLLM Gaudi: the filters leave no {which} bucket, so it does not start; raise "
            "max_num_batched_tokens or lower the bucket minima."
        )
    return tuple(sorted(found))


def find(buckets: tuple[Bucket, ...], shape: Bucket, chunk: int = 1) -> tuple[Bucket, Mode]:
    """The first bucket, in order, that holds the shape in every dimension.

    Without one the engine makes a bucket at run time and compiles it (Mode.RECOMPILE).
    chunk : the Mamba chunk, for the base of sequences
    """
    for bucket in buckets:
        if all(have >= need for have, need in zip(bucket, shape, strict=True)):
            return bucket, Mode.FULL
    bs, query, ctx = shape
    wide = query if query == 1 else run_time_bucket(query, max(32, chunk))
    return (run_time_bucket(bs, 2), wide, run_time_bucket(ctx, 32) if ctx else 0), Mode.RECOMPILE
