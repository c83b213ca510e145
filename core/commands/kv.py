"""`kv`: the KV cache that graphs leave, in requests, blocks and tokens."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from core.commands._numbers import number
from core.errors import ModelConfigError, SettingError
from core.memory import BLOCK_SIZE_TOKENS, kv_capacity, kv_tokens
from core.model_memory import ModelMemory, model_memory

NAME = "kv"
HELP = "KV cache left beside the graphs: requests, blocks and tokens"
GIB = 2**30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is free, what graphs take, and what a request takes (given, or from a model)."""
    add = parser.add_argument
    add("--free-gib", type=number, required=True, help="for graphs and KV cache together")
    add("--graph-gib", type=number, default=0.0, help="of one graph (private pools add up)")
    add("--graphs", type=int, default=1, help="number of graphs")
    add("--kv-per-request-gib", type=number, help="KV cache of one request")
    add("--model", metavar="CONFIG", help="config.json of a model, for KV bytes a token")
    add("--tokens-per-request", type=number, help="with --model: tokens a request holds")
    add("--tp", type=int, default=1, help="with --model: tensor parallel")
    add("--kv-dtype", help='with --model: type of the KV cache, e.g. "fp8"')
    add("--block-size", type=int, default=BLOCK_SIZE_TOKENS, help="tokens a KV block")


def load_config(path: str) -> dict[str, Any]:
    """A config.json. Raises ModelConfigError, OSError."""
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise ModelConfigError(
            f"{path} is no JSON ({error}); give a model's config.json."
        ) from error


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer; null where it takes --model or a request's size to know."""
    if args.graphs < 0:
        raise SettingError(f"--graphs is {args.graphs}; give 0 or more.")
    for flag in ("free_gib", "graph_gib"):
        if getattr(args, flag) < 0:
            raise SettingError(f"--{flag.replace('_', '-')} is below 0; give 0 or more.")
    model = None
    if args.model:
        model = model_memory(load_config(args.model), tp=args.tp, kv_dtype=args.kv_dtype)
    graph_gib = args.graph_gib * args.graphs
    kv_gib = max(0.0, args.free_gib - graph_gib)
    per_token = model.kv_bytes_per_token if model else None
    blocks, tokens = (
        kv_tokens(kv_gib * GIB, per_token, args.block_size) if per_token else (None,) * 2
    )
    per_request = _per_request(args, model)
    requests = None
    if per_request is not None:
        requests = kv_capacity(args.free_gib * GIB, graph_gib * GIB, per_request)
    return {
        "graph_gib": graph_gib,
        "kv_gib": kv_gib,
        "requests": requests,
        "kv_bytes_per_token": per_token,
        "blocks": blocks,
        "tokens": tokens,
        "weight_gib": model.weight_bytes / GIB if model else None,
        "notes": list(model.notes) if model else [],
    }


def _per_request(args: argparse.Namespace, model: ModelMemory | None) -> float | None:
    """KV bytes of one request; None where nothing says."""
    if args.kv_per_request_gib is not None:
        return args.kv_per_request_gib * GIB
    if model is None:
        raise SettingError("Give --kv-per-request-gib, or --model CONFIG (a model's config.json).")
    if args.tokens_per_request is None:
        return None
    if args.tokens_per_request <= 0:
        raise SettingError(f"--tokens-per-request is {args.tokens_per_request:g}; above 0, please.")
    return model.kv_bytes_at(args.tokens_per_request)


def text(result: dict[str, Any]) -> str:
    """For people."""
    lines = [
        f"graphs {result['graph_gib']:.3f} GiB, KV cache {result['kv_gib']:.3f} GiB",
    ]
    if result["requests"] is not None:
        lines.append(f"{result['requests']:,} requests")
    if result["tokens"] is not None:
        lines.append(
            f"{result['tokens']:,} tokens in {result['blocks']:,} blocks, "
            f"{result['kv_bytes_per_token']:,.0f} bytes a token"
        )
    return "\n".join(lines)
