"""What SGLang holds back before it sizes the KV cache.

Source: arg_groups/memory_hook.py of 0.5.23, restated; amounts are that file's, in MiB.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.engines._sglang_limits import attention_groups, chunked_prefill
from core.engines._sglang_sizes import default_max_bs
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.engines.memory import GIB, MIB, MemoryAccount
from core.engines.plan import Plan
from core.engines.versions import Release
from core.records import Origin

_CAPTURED_FIRST = GraphsEffect(
    GraphsTake.KV_TOKENS,
    "Graphs are captured first and the KV cache takes what is left, so a shorter list gives KV "
    "tokens, as many as its graphs took.",
    kv_per_graph_byte=1.0,
)
_STATIC = GraphsEffect(
    GraphsTake.RESERVE,
    "mem_fraction_static holds back a sum that follows the largest batch, not how many sizes are "
    "below it: dropping small sizes frees no KV token, a lower maximum or a higher fraction may.",
)

_SOURCE = "SGLang 0.5.23 memory_hook (docs/engines.md)"


def sglang_memory(release: Release, values: dict[str, Any], plan: Plan) -> MemoryAccount:
    """Static reservation, or the small one of builds that capture first and size KV after."""
    workers = ("workers", values["tp_size"] * values["pp_size"] / 8 * 1024 * MIB)
    if _post_capture(release, values):
        parts = (("base", 1536.0 * MIB), workers)
        return _account(
            values,
            parts,
            0.0,
            "Graphs are captured first, then the KV cache takes what is left.",
            "graphs are captured before the KV cache is sized",
            _CAPTURED_FIRST,
        )
    graphs = _decode(release, values, plan) + _prefill(release, values, plan)
    chunk = max(chunked_prefill(release, values), 2048)
    parts = (
        ("base", 512.0 * MIB),
        ("prefill activations", 1.5 * chunk * MIB),
        workers,
        ("graphs", graphs),
    )
    rule = (
        "mem_fraction_static is set from a fixed sum; decode graphs count by the largest batch "
        "(2 MiB each), not by how many there are, prefill graphs by their number (8 MiB each)."
    )
    when = "graphs are captured after the KV cache is sized"
    return _account(values, parts, graphs, rule, when, _static(release))


def _account(
    values: dict[str, Any],
    parts: tuple[tuple[str, float], ...],
    graphs: float,
    rule: str,
    when: str,
    effect: GraphsEffect,
) -> MemoryAccount:
    gib: float = values["gpu_memory_gib"]
    reserved = sum(b for _, b in parts)
    if graphs and gib > 60 and reserved < 10 * GIB:
        rule += " Cards above 60 GiB reserve 10 GiB in any case: fewer graphs free nothing here."
        parts, reserved = (*parts, ("up to the least of 10 GiB", 10 * GIB - reserved)), 10 * GIB
    if values["deepep"]:
        parts, reserved = (*parts, ("DeepEP", 2.0 * GIB)), reserved + 2 * GIB
    fraction = round((gib * GIB - reserved) / (gib * GIB), 3) if gib else 0.0
    return MemoryAccount(
        rule=rule,
        when=when,
        source=_SOURCE,
        reserved_bytes=graphs,
        parts=parts,
        kv_fraction=max(fraction, 0.0) or None,
        effect=effect,
    )


def _static(release: Release) -> GraphsEffect:
    """Read in 0.5.23; older releases have their own sums, from which the same is assumed."""
    return _STATIC if release >= "0.5.23" else replace(_STATIC, origin=Origin.ASSUMED)


def _post_capture(release: Release, values: dict[str, Any]) -> bool:
    """By default in the newest release for models without latent attention."""
    choice = values["post_capture_kv_sizing"]
    if choice != "auto":
        return choice == "on"
    return release >= "0.5.23" and not values["mla"]


def _decode(release: Release, values: dict[str, Any], plan: Plan) -> float:
    """2 MiB for each request of the largest batch, more with data-parallel attention."""
    if not plan.sizes:
        return 0.0
    asked = values["cuda_graph_bs"]
    largest = max(asked) if asked else values["cuda_graph_max_bs"]
    largest = largest or default_max_bs(release, values)
    amount = 2.0 * largest
    groups = attention_groups(release, values)
    if groups > 1:
        amount += 3.0 * largest * groups * (1.5 if largest > 300 else 1.0)
    return amount * MIB


def _prefill(release: Release, values: dict[str, Any], plan: Plan) -> float:
    if not plan.prefill:
        return 0.0
    amount = 1536.0 if values["mla"] else 8.0 * len(plan.prefill[0].sizes)
    extra = 1024.0 if values["deepep"] and values["prefill_backend"] != "full" else 0.0
    return (amount + extra) * MIB
