"""vLLM on Gaudi: its variables, its bucket file, and its start-up messages."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from itertools import product

from core.engines._gaudi_buckets import DIMENSIONS, FIELDS, Bucket
from core.engines.options import Form, Option
from core.errors import FileContentError


def variable(name: str, part: str) -> str:
    """VLLM_DECODE_BS_BUCKET_MIN for decode_bs, min."""
    return f"VLLM_{name}_BUCKET_{part}".upper()


def _strategy(value: object) -> dict[str, object]:
    """The older switch: exponential or linear."""
    return {"strategy": "exp" if str(value).lower() in ("1", "true") else "lin"}


OPTIONS = (
    *(
        Option(
            variable(name, part),
            f"{name}_{part}",
            aliases=(variable("prompt_seq", part),) if name == "prompt_query" else (),
        )
        for name in DIMENSIONS
        for part in FIELDS
    ),
    Option("VLLM_EXPONENTIAL_BUCKETING", convert=_strategy),
    Option("VLLM_BUCKETING_STRATEGY", "strategy"),
    Option("VLLM_CONTIGUOUS_PA", "contiguous_pa"),
    Option("VLLM_BUCKETING_FROM_FILE"),
    Option("VLLM_SKIP_WARMUP"),
    Option("VLLM_FULL_WARMUP"),
    Option("VLLM_GRAPH_RESERVED_MEM", "graph_reserved_mem"),
    Option("max_num_seqs", "max_num_seqs"),
    Option("max_num_batched_tokens", "max_num_batched_tokens"),
    Option("max_model_len", "max_model_len"),
    Option("block_size", "block_size"),
    Option("num_speculative_tokens", "num_speculative_tokens"),
    Option("speculative_config", form=Form.JSON),
    Option("speculative_config.num_speculative_tokens", "num_speculative_tokens"),
    Option("enforce_eager", "enforce_eager", Form.SWITCH),
)


def bucket_file(batches: Sequence[int], blocks: Sequence[int], prompts: Iterable[Bucket]) -> str:
    """A bucket file: the decode batches over all block buckets, then the prompt buckets."""
    lines = ["# decode: (batches, 1, KV blocks)", f"({list(batches)}, 1, {list(blocks)})"]
    lines += ["# prompt: (batch, query tokens, KV blocks of context)"]
    by_shape: dict[tuple[int, int], list[int]] = {}
    for bs, query, ctx in prompts:
        by_shape.setdefault((bs, query), []).append(ctx)
    lines += [f"({bs}, {query}, {ctx})" for (bs, query), ctx in sorted(by_shape.items())]
    return "\n".join(lines) + "\n"


def looks_like_bucket_file(text: str) -> bool:
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    return bool(lines) and all(line.startswith("(") for line in lines)


def read_bucket_file(text: str) -> tuple[Bucket, ...]:
    """Every bucket of a file; lists and ranges expand as a cross product.

    Raises FileContentError with the line.
    """
    found: set[Bucket] = set()
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if line:
            found |= set(_line(line, number))
    return tuple(sorted(found))


def _line(line: str, number: int) -> list[Bucket]:
    try:
        node = ast.parse(line, mode="eval").body
        if not isinstance(node, ast.Tuple) or len(node.elts) != 3:
            raise ValueError
        return [(a, b, c) for a, b, c in product(*(_element(part) for part in node.elts))]
    except (SyntaxError, ValueError) as error:
        raise FileContentError(
            f"Bucket file, line {number}: {line!r} is no (batch, query, context) of whole "
            "numbers, lists or range(a, b, c)."
        ) from error


def _element(node: ast.expr) -> list[int]:
    """An int, a list of ints, or range(..) with ints; nothing is evaluated."""
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or node.func.id != "range" or node.keywords:
            raise ValueError
        bounds = [_whole(arg) for arg in node.args]
        if not 1 <= len(bounds) <= 3:
            raise ValueError
        values = range(*bounds)
        if len(values) > 100_000:
            raise ValueError
        return list(values)
    if isinstance(node, ast.List | ast.Tuple):
        return [_whole(item) for item in node.elts]
    return [_whole(node)]


def _whole(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 0:
        return node.value
    raise ValueError
