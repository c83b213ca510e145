"""`simulate`: requests through a simulated engine; step sizes, latencies and throughput."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import Any

from core.calibration.model import StepModel
from core.commands._cost import add_profile, chosen_source
from core.commands._numbers import number, whole_list
from core.errors import SettingError
from core.example.trace import gamma_arrivals
from core.metrics import Percentiles
from core.readers import read
from core.records import SizeUnit, StepCost, StepHistogram, Trace
from core.simulate import (
    MODES,
    Machine,
    PrefillCost,
    SimulationResult,
    family_times,
    simulate,
    warnings_before,
)
from core.step_cost import assumed_step_cost
from core.study.band import band
from core.trace_changes import scaled_arrivals, with_prefix_hit_rate

MOST_FOR_BAND = 200_000
"""Requests up to which the run is made twice more for its band."""
NAME = "simulate"
HELP = "run a trace through a simulated engine with given capture sizes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, the graphs, the engine and the load."""
    add = parser.add_argument
    add("file", metavar="FILE", help="a trace of requests, or lengths together with --rate")
    graphs = parser.add_mutually_exclusive_group(required=True)
    graphs.add_argument("--sizes", type=whole_list, metavar="1,2,4", help="capture sizes")
    graphs.add_argument("--eager", action="store_true", help="no graphs at all")
    add_profile(parser)
    add("--kv-tokens", type=int, default=500_000, metavar="N", help="KV cache (default 500000)")
    add("--block-size", type=int, default=16, metavar="N", help="tokens a KV block (default 16)")
    add("--max-num-seqs", type=int, default=256, metavar="M", help="default 256")
    add("--max-num-batched-tokens", type=int, default=8192, metavar="T", help="default 8192")
    add(
        "--sizes-count",
        choices=("requests", "tokens"),
        default="requests",
        help="what a capture size counts when drafts are verified (vLLM: tokens)",
    )
    add("--mode", choices=MODES, default="chunked", help="how prefill and decode share steps")
    add(
        "--admit-first-chunk",
        action="store_true",
        help="admit a request when its first chunk fits, not its whole prompt",
    )
    add("--draft-tokens", type=int, default=0, metavar="K", help="speculated tokens a step")
    add("--acceptance", type=number, default=0.0, metavar="A", help="chance a draft is accepted")
    add("--rate", type=number, metavar="R", help="requests/s, at random, instead of the arrivals")
    add("--cv", type=number, default=1.0, metavar="C", help="burstiness for --rate (1: Poisson)")
    add("--seed", type=int, default=0, metavar="S", help="seed for --rate")
    add("--load", type=number, default=1.0, metavar="X", help="arrivals X times as fast")
    add("--concurrency", type=int, metavar="N", help="closed loop: N requests in flight")
    add("--prefix-hit-rate", type=number, metavar="H", help="share of each prompt that is cached")
    add("--no-prefix-cache", action="store_true", help="ignore shared prefixes of the trace")
    add("--ttft-limit-ms", type=number, metavar="MS", help="for goodput")
    add("--tpot-limit-ms", type=number, metavar="MS", help="for goodput")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer. Raises ProjectError, OSError."""
    machine = Machine(
        kv_tokens=args.kv_tokens,
        block_size_tokens=args.block_size,
        max_num_seqs=args.max_num_seqs,
        max_num_batched_tokens=args.max_num_batched_tokens,
        mode=args.mode,
        whole_prompt_must_fit=not args.admit_first_chunk,
        prefix_cache=not args.no_prefix_cache,
        draft_tokens=args.draft_tokens,
        acceptance=args.acceptance,
    )
    cost, prefill = chosen_times(args.profile, args.max_num_seqs, args.context_tokens)
    if args.sizes_count == "tokens":
        cost = replace(cost, unit=SizeUnit.TOKENS)
    sizes = None if args.eager else args.sizes
    trace = chosen_trace(args)
    warnings = warnings_before(trace, machine, args.concurrency)
    result = simulate(*(trace, machine, cost, sizes), prefill=prefill, concurrency=args.concurrency)
    found = answer(result, args.ttft_limit_ms, args.tpot_limit_ms)
    sure = None
    if len(trace) <= MOST_FOR_BAND:
        sure = band(trace, machine, result.times, result, args.concurrency)
    warnings += [sure.sentence] if sure is not None and sure.near_saturation else []
    return found | {
        "band": None if sure is None else asdict(sure),
        "notes": list(dict.fromkeys([*found["notes"], *warnings])),
    }


def chosen_times(
    name: str | None, max_num_seqs: int, context_tokens: int | None = None
) -> tuple[StepCost, PrefillCost | None]:
    """Decode curve, and prompts and context, of a profile or a fitted model; assumed ones without.

    Raises SettingError, RecordError, OSError.
    """
    source = chosen_source(name, context_tokens)
    if source is None:
        return assumed_step_cost(), None
    if isinstance(source, StepModel):
        return source.cost, source.prefill
    return family_times(source, context_tokens, max_num_seqs)


def chosen_trace(args: argparse.Namespace) -> Trace:
    """The requests of FILE with the arrivals, load and prefix hits asked for.

    Raises SettingError, ProjectError, OSError.
    """
    trace = read(args.file).trace
    if trace is None:
        raise SettingError(
            f"{args.file} holds no requests to simulate; give a trace, or lengths with --rate."
        )
    if args.rate is not None:
        trace = gamma_arrivals(trace, rate_rps=args.rate, cv=args.cv, seed=args.seed)
    elif trace.arrival_s is None and args.concurrency is None:
        raise SettingError(
            f"{args.file} holds lengths without arrivals; give --rate R (requests/s) or "
            "--concurrency N."
        )
    if args.load != 1.0:
        trace = scaled_arrivals(trace, args.load)
    if args.prefix_hit_rate is not None:
        trace = with_prefix_hit_rate(trace, args.prefix_hit_rate)
    return trace


def answer(
    result: SimulationResult, ttft_limit_ms: float | None, tpot_limit_ms: float | None
) -> dict[str, Any]:
    """A result as plain JSON types."""
    latency = result.latency()
    goodput = None
    if ttft_limit_ms is not None or tpot_limit_ms is not None:
        goodput = result.goodput_rps(
            ttft_limit_s=None if ttft_limit_ms is None else ttft_limit_ms / 1e3,
            tpot_limit_s=None if tpot_limit_ms is None else tpot_limit_ms / 1e3,
        )
    return {
        "origin": result.origin.value,
        "step_times": result.times.origin.value,
        "source": result.times.source,
        "requests": len(result.trace),
        "rejected": len(result.rejected),
        "makespan_s": result.makespan_s,
        "ttft_ms": latency_json(latency.ttft_ms),
        "tpot_ms": latency_json(latency.tpot_ms),
        "itl_ms": latency_json(latency.itl_ms),
        "e2e_ms": latency_json(latency.e2e_ms),
        "output_tps": result.output_tps,
        "request_rps": result.request_rps,
        "goodput_rps": goodput,
        "preemptions": result.preemptions,
        "recomputed_tokens": result.recomputed_tokens,
        "steps": result.steps,
        "histogram": steps_json(result.decode_steps),
        "mixed_histogram": steps_json(result.mixed_steps),
        "padded_slots": result.padded_slots,
        "eager_steps": result.eager_steps,
        "mean_decoding": result.mean_decoding,
        "peak_kv_tokens": result.peak_kv_tokens,
        "idle_s": result.idle_s,
        "notes": list(result.notes),
    }


def latency_json(values: Percentiles) -> dict[str, float | int | None]:
    """p50 to p99, mean and max; null where no request has one."""
    return asdict(values)


def steps_json(histogram: StepHistogram) -> dict[str, int]:
    """{size: steps}."""
    pairs = zip(histogram.sizes.tolist(), histogram.steps.tolist(), strict=True)
    return {str(size): steps for size, steps in pairs}


def text(result: dict[str, Any]) -> str:
    """For people."""
    decode, mixed = (sum(result[key].values()) for key in ("histogram", "mixed_histogram"))
    lines = [
        f"{result['origin']} by simulation, step times {result['step_times']}",
        f"{result['requests']:,} requests in {result['makespan_s']:,.3f} s: "
        f"{result['output_tps']:,.1f} output tokens/s, {result['request_rps']:.3f} requests/s",
    ]
    for name in ("ttft", "tpot", "itl", "e2e"):
        values = result[f"{name}_ms"]
        if values["count"]:
            lines.append(
                f"  {name.upper()}: p50 {values['p50']:,.2f} ms, p90 {values['p90']:,.2f} ms, "
                f"p99 {values['p99']:,.2f} ms"
            )
    if result["goodput_rps"] is not None:
        lines.append(f"goodput within the limits: {result['goodput_rps']:.3f} requests/s")
    lines += [
        f"{decode:,} decode steps ({result['eager_steps']:,} eager, {result['padded_slots']:,} "
        f"padded slots) and {mixed:,} with prefill; {result['mean_decoding']:.1f} requests decode "
        "on average",
        f"{result['preemptions']:,} preemptions, {result['recomputed_tokens']:,} tokens again; "
        f"at most {result['peak_kv_tokens']:,} KV tokens held; {result['idle_s']:.1f} s idle",
    ]
    return "\n".join([*lines, *(f"note: {note}" for note in result["notes"])])
