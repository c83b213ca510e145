"""`advise`: which sizes to run, simulated beside what runs today, at several loads."""

from __future__ import annotations

import argparse
from typing import Any

from core.calibration.calibrate import LIMITS, calibrate
from core.calibration.model import model_of
from core.calibration.sources import read_evidence
from core.commands._cost import add_profile
from core.commands._engine import chosen_settings
from core.commands._numbers import number, sizes_text, whole_list
from core.commands._study import named_prices
from core.commands.check import read_text
from core.engines import ENGINES, get_engine
from core.engines.check import CheckReport, check
from core.errors import SettingError
from core.example.trace import gamma_arrivals
from core.readers import read
from core.records import Origin, PoolPolicy, StepHistogram, Trace
from core.simulate import Machine
from core.study.advice import Advice, Ground, advice_json, advise
from core.study.build import EngineLimits, engine_of_report, study_of
from core.study.choose import TOLERANCE
from core.study.prices import Prices, prices_of_model
from core.study.scenario import LOADS

NAME = "advise"
HELP = "which capture sizes to run, simulated beside what runs today"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The traffic, the engine as it runs, and what its steps cost."""
    add = parser.add_argument
    add("file", metavar="FILE", help="requests with arrivals, or a histogram of decode batches")
    add("--engine", required=True, metavar="E", help=f"one of {', '.join(ENGINES)}")
    add("--version", metavar="V", help="its release; without, the newest known")
    add("--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="its settings")
    add("--config", metavar="FILE", help="its flags, JSON, YAML or start-up log; - for stdin")
    add("--log", metavar="FILE", help="its start-up log, beside --config")
    add_profile(parser)
    add("--run", metavar="FILE", help="a recorded run of this engine: step times fitted to it")
    add("--judge", type=whole_list, metavar="8,14,20", help="a list of yours to judge alike")
    add("--sizes-today", type=whole_list, metavar="1,2,4", help="the list that runs now")
    add("--loads", type=_loads, default=LOADS, metavar="0.5,1,2", help="times the traffic's rate")
    add("--also", action="append", default=[], metavar="FILE", help="other traffic to stand")
    add("--rate", type=number, metavar="R", help="requests/s, for lengths without arrivals")
    add("--concurrency", type=int, metavar="N", help="closed loop: N requests in flight")
    add("--kv-tokens", type=int, metavar="N", help="KV cache beside today's graphs")
    add("--max-num-seqs", type=int, metavar="N")
    add("--max-num-batched-tokens", type=int, metavar="N")
    add("--tolerance", type=number, default=100 * TOLERANCE, metavar="P", help="per cent of TPOT")
    add("--pool", choices=[p.name.lower() for p in PoolPolicy], help="how graphs share memory")


def _loads(text: str) -> tuple[float, ...]:
    return tuple(number(part) for part in text.split(",") if part.strip())


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Keys of the JSON answer. Raises ProjectError, OSError."""
    return advice_json(advice_of(args))


def advice_of(args: argparse.Namespace) -> Advice:
    """The advice itself. Raises ProjectError, OSError."""
    report = _engine_report(args)
    prices, machine, where = _prices(args)
    limits, limit_ground = _limits(args, report, machine)
    traffic, ground = _traffic(args)
    study = study_of(
        traffic,
        engine_of_report(report, args.sizes_today),
        prices,
        limits,
        loads=args.loads,
        others=[_other(name) for name in args.also],
        policy=PoolPolicy[(args.pool or PoolPolicy.SHARED_LARGEST_FIRST.name).upper()],
        concurrency=args.concurrency,
    )
    return advise(
        study,
        judge=args.judge,
        tolerance=args.tolerance / 100,
        grounds=(ground, limit_ground, *where),
    )


def _engine_report(args: argparse.Namespace) -> CheckReport:
    if args.config and args.log:
        first = check(
            get_engine(args.engine), args.version, chosen_settings(args), read_text(args.log)
        )
        values = {**first.settings, **chosen_settings(args)}
        return check(get_engine(args.engine), first.version, values, read_text(args.config))
    text = read_text(args.config or args.log) if (args.config or args.log) else None
    return check(get_engine(args.engine), args.version, chosen_settings(args), text)


def _prices(args: argparse.Namespace) -> tuple[Prices, Machine | None, tuple[Ground, ...]]:
    if args.run is not None:
        if args.profile is not None:
            raise SettingError("Give one of --run FILE and --profile P, not both.")
        found = calibrate(read_evidence(args.run), limits=LIMITS)
        return prices_of_model(model_of(found)), found.machine, ()
    return named_prices(args.profile, args.context_tokens), None, ()


def _limits(
    args: argparse.Namespace, report: CheckReport, machine: Machine | None
) -> tuple[EngineLimits, Ground]:
    """What was typed, else what the log says, else the recorded run's own."""
    logged = report.log.number("kv_tokens") if report.log else None
    kv = args.kv_tokens or logged or (machine.kv_tokens if machine else None)
    typed = EngineLimits(
        args.max_num_seqs or _of(report, "max_num_seqs", machine and machine.max_num_seqs),
        args.max_num_batched_tokens
        or _of(report, "max_num_batched_tokens", machine and machine.max_num_batched_tokens),
        None if kv is None else int(kv),
        machine.block_size_tokens if machine else 16,
    )
    if kv is None:
        return typed, Ground("KV tokens", Origin.ASSUMED, "500,000; give --kv-tokens or --log")
    origin = Origin.MEASURED if not args.kv_tokens else Origin.ASSUMED
    source = "typed" if args.kv_tokens else "the engine's log" if logged else "the recorded run"
    return typed, Ground("KV tokens", origin, f"{int(kv):,}, {source}")


def _of(report: CheckReport, name: str, recorded: int | None) -> int | None:
    """None where the settings name it (the engine's own rule reads them), else the run's."""
    return None if report.settings.get(name) is not None else recorded


def _traffic(args: argparse.Namespace) -> tuple[Trace | StepHistogram, Ground]:
    reading = read(args.file)
    if reading.trace is not None:
        trace = reading.trace
        if args.rate is not None:
            trace = gamma_arrivals(trace, rate_rps=args.rate, cv=1.0, seed=0)
            return trace, Ground("arrivals", Origin.ASSUMED, f"Poisson at {args.rate:g} requests/s")
        if trace.arrival_s is None and args.concurrency is not None:
            trace = gamma_arrivals(trace, rate_rps=1.0, cv=1.0, seed=0)
        return trace, Ground(
            "traffic", Origin.MEASURED, f"{len(trace):,} requests, {reading.label}"
        )
    if reading.steps is not None:
        steps = f"{reading.steps.total_steps:,} steps, {reading.label}"
        return reading.steps, Ground("traffic", Origin.MEASURED, steps)
    raise SettingError(
        f"{args.file} ({reading.label}) holds lengths, which say nothing of how many requests "
        "run together, so no decode size follows from it. Give requests with arrivals, or the "
        "requests' lengths with --rate (requests/s) or --concurrency."
    )


def _other(name: str) -> Trace:
    trace = read(name).trace
    if trace is None or trace.arrival_s is None:
        raise SettingError(f"--also {name} holds no requests with arrivals; give a trace.")
    return trace


def text(result: dict[str, Any]) -> str:
    """For people: the sentence first, then the figures that it rests on."""
    lines = [result["sentence"], f"sizes: {sizes_text(result['sizes'])}"]
    compared = result["compared"]
    if compared is not None and compared != result["today"]:
        lines.append(f"beside today's {len(result['today'])}: {sizes_text(compared)}")
    lines += [_scenario_line(item) for item in result["scenarios"]]
    lines += _list_lines(result["figures"])
    if result["judged"] is not None:
        lines.append(_judged_line(result["judged"]))
    lines += [f"rests on {g['what']} ({g['origin']}): {g['source']}" for g in result["rests_on"]]
    lines += [f"would settle it: {item}" for item in result["settle"]]
    lines += [f"warning: {item}" for item in result["warnings"]]
    if result["paste"]:
        lines += ["paste:", f"    {result['paste']}"]
    return "\n".join(lines)


def _scenario_line(item: dict[str, Any]) -> str:
    mine, theirs = item["today"], item["list"]
    name = f"  {item['name']} ({item['how']})"
    if mine["tpot_p50_ms"] is None:
        return f"{name}: decode step {mine['step_us']:,.0f} µs today, {theirs['step_us']:,.0f} µs"
    text = (
        f"{name}: TPOT p50 {mine['tpot_p50_ms']:.2f} ms today, {theirs['tpot_p50_ms']:.2f} ms; "
        f"TTFT p50 {mine['ttft_p50_ms']:.0f} ms, {theirs['ttft_p50_ms']:.0f} ms"
    )
    return f"{text}; today's list does not keep up" if item["saturated"] else text


def _list_lines(figures: dict[str, Any]) -> list[str]:
    lines = []
    for name, item in figures.items():
        if item is not None:
            lines.append(
                f"  {name}: {sum(item['graphs'].values())} graphs, {item['graph_gib']:.2f} GiB "
                f"({item['graph_memory_origin']}), {item['kv_tokens']:,} KV tokens, "
                f"{item['startup_s']:.1f} s to capture (estimated)"
            )
    return lines


def _judged_line(item: dict[str, Any]) -> str:
    change = -item["gain_pct"]
    return (
        f"your list: mean TPOT {change:+.1f} % in the traffic as it came, at worst "
        f"{item['worst_loss_pct']:+.1f} % in {item['worst_scenario']}"
    )
