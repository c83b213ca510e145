"""`kv`: the KV cache that graphs leave, in requests, blocks and tokens."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from core.cards import CARDS, card_named
from core.commands._numbers import number
from core.errors import ModelConfigError, SettingError
from core.memory import BLOCK_SIZE_TOKENS, kv_capacity, kv_tokens
from core.memory_plan import MemoryPlan
from core.model.memory import ModelMemory, model_memory
from core.text.counting import counted

NAME = "kv"
HELP = "KV cache left beside the graphs: requests, blocks and tokens"
GIB = 2**30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is free, what graphs take, and what a request takes (given, or from a model)."""
    add = parser.add_argument
    add("--free-gib", type=number, help="for graphs and KV cache together")
    add("--graph-gib", type=number, default=0.0, help="of one graph (private pools add up)")
    add("--graphs", type=int, default=1, help="number of graphs")
    add("--kv-per-request-gib", type=number, help="KV cache of one request")
    add("--model", metavar="CONFIG", help="config.json of a model, for KV bytes a token")
    add("--tokens-per-request", type=number, help="with --model: tokens a request holds")
    add("--tp", type=int, default=1, help="with --model: tensor parallel")
    add("--kv-dtype", help='with --model: type of the KV cache, e.g. "fp8"')
    add("--block-size", type=int, default=BLOCK_SIZE_TOKENS, help="tokens a KV block")
    add("--card", metavar="CARD", help=f"instead of --free-gib, with --model: {', '.join(CARDS)}")
    add("--utilization", type=number, default=0.9, help="with --card: share of it in use")
    add("--reserve-gib", type=number, default=4.0, help="with --card: activations and the rest")


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
    if args.graph_gib < 0:
        raise SettingError("--graph-gib is below 0; give 0 or more.")
    model = None
    if args.model:
        model = model_memory(load_config(args.model), tp=args.tp, kv_dtype=args.kv_dtype)
    free_gib = _free_gib(args, model)
    graph_gib = args.graph_gib * args.graphs
    kv_gib = max(0.0, free_gib - graph_gib)
    per_token = model.kv_bytes_per_token if model else None
    blocks = tokens = requests = None
    if per_token:
        blocks, tokens = kv_tokens(kv_gib * GIB, per_token, args.block_size)
    per_request = _per_request(args, model)
    if per_request is not None:
        requests = kv_capacity(free_gib * GIB, graph_gib * GIB, per_request)
    return {
        "free_gib": free_gib,
        "graph_gib": graph_gib,
        "kv_gib": kv_gib,
        "requests": requests,
        "kv_bytes_per_token": per_token,
        "blocks": blocks,
        "tokens": tokens,
        "weight_gib": model.weight_bytes / GIB if model else None,
        "notes": list(model.notes) if model else [],
        "warnings": _warnings(free_gib, graph_gib),
    }


def _warnings(free_gib: float, graph_gib: float) -> list[str]:
    if graph_gib <= free_gib:
        return []
    return [
        f"Graphs of {graph_gib:g} GiB do not fit in {free_gib:g} GiB free: "
        f"{graph_gib - free_gib:g} GiB are missing. Capture fewer or smaller sizes, or "
        "free more memory."
    ]


def _free_gib(args: argparse.Namespace, model: ModelMemory | None) -> float:
    """Given, or what a card has left beside the model. Raises SettingError."""
    if (args.free_gib is None) == (args.card is None):
        raise SettingError("Give either --free-gib, or --card with --model.")
    if args.free_gib is not None:
        if args.free_gib < 0:
            raise SettingError("--free-gib is below 0; give 0 or more.")
        return args.free_gib
    if model is None:
        raise SettingError("--card tells what is free only with --model CONFIG.")
    card = card_named(args.card)
    plan = MemoryPlan(
        card.memory_bytes, args.utilization, model.weight_bytes, args.reserve_gib * GIB, 0.0, 0.0
    )
    if plan.free_bytes < 0:
        raise SettingError(
            f"The weights of {model.weight_bytes / GIB:.1f} GiB and the reserve do not fit into "
            f"{args.utilization:.0%} of a {card.name}: {-plan.free_bytes / GIB:.1f} GiB are "
            "missing. Use more cards (--tp), a larger one, or a smaller type."
        )
    return plan.free_bytes / GIB


def _per_request(args: argparse.Namespace, model: ModelMemory | None) -> float | None:
    """KV bytes of one request; None where nothing says."""
    if args.kv_per_request_gib is not None:
        if args.kv_per_request_gib <= 0:
            raise SettingError("--kv-per-request-gib must be above 0.")
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
        lines.append(counted(result["requests"], "requests"))
    if result["tokens"] is not None:
        lines.append(
            f"{counted(result['tokens'], 'tokens')} in {counted(result['blocks'], 'blocks')}, "
            f"{result['kv_bytes_per_token']:,.0f} bytes a token"
        )
    lines += [f"warning: {text}" for text in result["warnings"]]
    return "\n".join(lines)
