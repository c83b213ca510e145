"""`tune`: the best bucket set for this traffic, the whole frontier, and the engines' defaults."""

from __future__ import annotations

import argparse
from typing import Any

from core.advice import advice
from core.baselines import Baseline, engine_baselines
from core.buckets import Frontier, FrontierPoint, frontier
from core.commands._cost import Costs, add_profile, chosen_costs
from core.commands._numbers import number, percent, sizes_text, whole_list
from core.commands._traffic import add_trace, add_traffic, steps_for_tuning
from core.errors import SettingError
from core.memory import graph_bytes
from core.records import PoolPolicy

NAME = "tune"
HELP = "the exact best capture sizes for a histogram or a trace"
MIB = 2**20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The traffic, the limits of the set, and what a step costs."""
    add_trace(parser)
    add_traffic(parser)
    add = parser.add_argument
    add("--max-graphs", type=int, default=64, metavar="K", help="most graphs (default 64)")
    add("--multiple-of", type=int, default=1, metavar="M", help="every size a multiple of M")
    add("--include", type=whole_list, default=[], metavar="1,8", help="captured in any case")
    add("--candidates", type=whole_list, metavar="1,2,4", help="sizes that may be captured")
    add("--allow-eager", action="store_true", help="sizes above the largest may run eager")
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
    costs = chosen_costs(args.profile)
    histogram = steps_for_tuning(args, costs.cost)
    found = frontier(
        histogram,
        max_graphs=args.max_graphs,
        cost=costs.cost,
        candidates=args.candidates,
        multiple_of=args.multiple_of,
        include=args.include,
        allow_eager=args.allow_eager,
    )
    policy = PoolPolicy[args.pool.upper()]
    memory = [_mib(point, costs, policy) for point in found.points]
    best = _pick(found, memory, args)
    baselines = engine_baselines(histogram, costs.cost)
    return {
        "sizes": list(best.sizes),
        "cost": best.cost,
        "unit": found.unit,
        "waste_pct": percent(best.waste),
        "coverage_pct": percent(best.coverage),
        "steps": found.steps,
        "size_unit": found.size_unit.value,
        "steps_origin": histogram.origin.value,
        "cost_source": found.source or "padded slots, no time",
        "memory_source": costs.memory.source,
        "frontier": [_row(point, mib) for point, mib in zip(found.points, memory, strict=True)],
        "baselines": {item.engine: _baseline_row(item) for item in baselines},
        "advice": advice(found, best, baselines),
    }


def _mib(point: FrontierPoint, costs: Costs, policy: PoolPolicy) -> float:
    return graph_bytes(point.sizes, costs.memory, policy) / MIB if point.sizes else 0.0


def _pick(found: Frontier, memory: list[float], args: argparse.Namespace) -> FrontierPoint:
    """The point of least cost plus price that fits into the memory. Raises SettingError."""
    budget = args.memory_mib
    fitting = [
        point
        for point, mib in zip(found.points, memory, strict=True)
        if budget is None or mib <= budget
    ]
    if not fitting:
        raise SettingError(
            f"No set fits into {budget:g} MiB; the smallest takes {min(memory):.1f} MiB."
        )
    price = args.price or 0.0
    if price < 0:
        raise SettingError(f"--price is {price:g}; give 0 or more.")
    return min(fitting, key=lambda point: point.cost + price * point.k)


def _row(point: FrontierPoint, mib: float) -> dict[str, Any]:
    return {
        "k": point.k,
        "sizes": list(point.sizes),
        "cost": point.cost,
        "waste_pct": percent(point.waste),
        "coverage_pct": percent(point.coverage),
        "memory_mib": round(mib, 3),
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


def text(result: dict[str, Any]) -> str:
    """For people."""
    lines = [
        f"{sizes_text(result['sizes'])}",
        f"{len(result['sizes'])} graphs: waste {result['waste_pct']:.2f} %, coverage "
        f"{result['coverage_pct']:.2f} % of {result['steps']:,} steps ({result['steps_origin']})",
        f"cost {result['cost']:,.6g} {result['unit']} ({result['cost_source']})",
    ]
    return "\n".join([*lines, *result["advice"]])
