"""`tune`: the best bucket set for this traffic, the whole frontier, and the engines' defaults."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from core.buckets import Dispatch, Frontier, FrontierPoint, Limits, frontier
from core.buckets.budget import budgeted_buckets
from core.choice.baselines import Baseline, engine_baselines
from core.commands._cost import Costs, add_profile, chosen_costs
from core.commands._engine import chosen_settings
from core.commands._numbers import number, percent, sizes_text, whole_list
from core.commands._study import named_prices, trace_in
from core.commands._traffic import add_trace, add_traffic, steps_for_tuning
from core.errors import CostUnitError, HistogramError, SettingError
from core.memory import graph_bytes
from core.records import PoolPolicy, StepHistogram
from core.study.advice import Advice, advice_json, advise
from core.study.build import EngineLimits, study_of
from core.study.graphs import EngineChoice
from core.text.counting import counted

NAME = "tune"
HELP = "the exact best capture sizes for a histogram or a trace"
MIB = 2**20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The traffic, the limits of the set, and what a step costs."""
    add_trace(parser)
    add_traffic(parser)
    add = parser.add_argument
    add("--engine", default="vllm", metavar="E", help="whose own list to judge beside (vllm)")
    add("--version", metavar="V", help="its release; without, the newest known")
    add("--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="its settings")
    add("--max-graphs", type=int, default=64, metavar="K", help="most graphs (default 64)")
    add("--multiple-of", type=int, default=1, metavar="M", help="every size a multiple of M")
    add("--include", type=whole_list, default=[], metavar="1,8", help="captured in any case")
    add("--guard", type=int, metavar="N", help="captured in any case: the engine's largest batch")
    add("--candidates", type=whole_list, metavar="1,2,4", help="sizes that may be captured")
    add("--allow-eager", action="store_true", help="sizes above the largest may run eager")
    add(
        "--eager-where-cheaper",
        action="store_true",
        help="the engine runs a step eagerly where that is faster than its bucket",
    )
    add("--memory-mib", type=number, metavar="X", help="most memory of all graphs")
    add(
        "--pool",
        choices=[policy.name.lower() for policy in PoolPolicy],
        default=PoolPolicy.SHARED_LARGEST_FIRST.name.lower(),
        help="how graphs share memory",
    )
    add("--price", type=number, metavar="P", help="cost of each graph, in the unit of the cost")
    add_profile(parser)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer."""
    costs = chosen_costs(args.profile, args.context_tokens)
    histogram = steps_for_tuning(args, costs.cost)
    costs = replace(costs, max_rows=args.max_num_seqs).for_steps(histogram)
    limits = _limits(args)
    policy = PoolPolicy[args.pool.upper()]
    found = _frontier(histogram, costs, limits, args.max_graphs)
    best = _best(histogram, costs, limits, policy, found, args)
    baselines = engine_baselines(histogram, costs.cost)
    judged, why = _judged(args, best, histogram)
    return {
        "sizes": list(best.sizes),
        "cost": best.cost,
        "unit": found.unit,
        "waste_pct": percent(best.waste),
        "coverage_pct": percent(best.coverage),
        "memory_mib": _mib(best, costs, policy),
        "steps": found.steps,
        "size_unit": found.size_unit.value,
        "steps_origin": histogram.origin.value,
        "cost_source": found.source or "padded slots, no time",
        "memory_source": costs.memory.source,
        "frontier": [_row(point, _mib(point, costs, policy)) for point in found.points],
        "baselines": {item.engine: _baseline_row(item) for item in baselines},
        "study": judged,
        "advice": _sentences(judged, why),
    }


def _limits(args: argparse.Namespace) -> Limits:
    include = [*args.include, *([] if args.guard is None else [args.guard])]
    return Limits(
        None if args.candidates is None else tuple(args.candidates),
        args.multiple_of,
        tuple(include),
        args.allow_eager,
        Dispatch.CHEAPER if args.eager_where_cheaper else Dispatch.PAD_UP,
    )


def _frontier(
    histogram: StepHistogram, costs: Costs, limits: Limits, max_graphs: int, price: float = 0.0
) -> Frontier:
    return frontier(
        histogram,
        max_graphs=max_graphs,
        cost=costs.cost,
        candidates=limits.candidates,
        multiple_of=limits.multiple_of,
        include=limits.include,
        allow_eager=limits.allow_eager,
        dispatch=limits.dispatch,
        price=price,
    )


def _best(
    histogram: StepHistogram,
    costs: Costs,
    limits: Limits,
    policy: PoolPolicy,
    found: Frontier,
    args: argparse.Namespace,
) -> FrontierPoint:
    """The set of least cost plus price within the number of graphs and the memory."""
    price = args.price or 0.0
    if args.memory_mib is not None:
        if args.memory_mib <= 0:
            raise SettingError(f"--memory-mib is {args.memory_mib:g}; give a number above 0.")
        return budgeted_buckets(
            histogram,
            costs.memory,
            policy,
            args.memory_mib * MIB,
            max_graphs=args.max_graphs,
            cost=costs.cost,
            limits=limits,
            price=price,
        ).point
    if price:
        return _frontier(histogram, costs, limits, args.max_graphs, price).points[-1]
    return found.points[-1]


def _mib(point: FrontierPoint, costs: Costs, policy: PoolPolicy) -> float:
    return round(graph_bytes(point.sizes, costs.memory, policy) / MIB, 3) if point.sizes else 0.0


def _judged(
    args: argparse.Namespace, best: FrontierPoint, histogram: StepHistogram
) -> tuple[dict[str, Any] | None, str]:
    """The list beside what the engine runs by itself, simulated; and why not, where it cannot be.

    Raises SettingError.
    """
    if not best.sizes:
        return None, "no list was chosen"
    try:
        return advice_json(_advice(args, best.sizes, histogram)), ""
    except (HistogramError, CostUnitError) as error:
        return None, str(error)


def _advice(args: argparse.Namespace, sizes: tuple[int, ...], histogram: StepHistogram) -> Advice:
    """As `advise --judge` gives it for the same traffic, engine, profile and limits."""
    trace = None if args.file is None else trace_in(args.file)
    limits = EngineLimits(args.max_num_seqs, args.max_num_batched_tokens, args.kv_tokens)
    study = study_of(
        histogram if trace is None else trace,
        EngineChoice(args.engine, args.version, chosen_settings(args)),
        named_prices(args.profile, args.context_tokens),
        limits,
        policy=PoolPolicy[args.pool.upper()],
    )
    return advise(study, judge=sizes)


def _row(point: FrontierPoint, mib: float) -> dict[str, Any]:
    return {
        "k": point.k,
        "sizes": list(point.sizes),
        "cost": point.cost,
        "waste_pct": percent(point.waste),
        "coverage_pct": percent(point.coverage),
        "memory_mib": mib,
    }


def _baseline_row(item: Baseline) -> dict[str, Any]:
    row: dict[str, Any] = {
        "sizes": list(item.sizes),
        "waste_pct": percent(item.waste) if item.skipped is None else None,
        "coverage_pct": percent(item.coverage) if item.skipped is None else None,
        "cost": item.cost,
        "notes": list(item.notes),
    }
    return row if item.skipped is None else {**row, "skipped": item.skipped}


def _sentences(judged: dict[str, Any] | None, why: str) -> list[str]:
    """What the simulation beside the engine's own list says of the list above; why it is silent."""
    if judged is None:
        return [f"Not judged beside what an engine runs: {why}"]
    mine = judged["judged"]
    return [
        f"Beside the engine's own {len(judged['today'])} sizes this list changes mean "
        f"{judged['measure']} by {-mine['gain_pct']:+.1f} %, at worst "
        f"{mine['worst_loss_pct']:+.1f} % in {mine['worst_scenario']} (simulated with its graphs).",
        judged["sentence"],
    ]


def text(result: dict[str, Any]) -> str:
    """For people."""
    steps = counted(result["steps"], "steps")
    lines = [
        f"{sizes_text(result['sizes'])}",
        f"{counted(len(result['sizes']), 'graphs')}: waste {result['waste_pct']:.2f} %, coverage "
        f"{result['coverage_pct']:.2f} % of {steps} ({result['steps_origin']})",
        f"cost {result['cost']:,.6g} {result['unit']} ({result['cost_source']})",
    ]
    return "\n".join([*lines, *result["advice"]])
