"""From the choices of every page to the one study that they lead to."""

from __future__ import annotations

from dataclasses import replace

from app import compute, state
from app.inputs.cost import chosen_prices
from app.inputs.memory import pool_policy
from app.inputs.running_engine import chosen_engine, engine_machine
from app.serving.choice import ServingLimits, requests_of
from app.serving.inputs import serving_limits
from app.serving.kv_cache import is_typed, kv_room
from app.study import NO_DECODES, StudyChoice
from app.workload import traffic
from core.engines.check import CheckReport
from core.errors import HistogramError, SettingError
from core.records import Origin, SizeUnit, StepHistogram, Trace
from core.study.advice import Ground
from core.study.build import engine_of_report

NO_ARRIVALS = (
    "The file has lengths without arrivals, so how many requests run together is not known. Type a "
    "request rate on the Workload page, or a concurrency on the Serve page (closed loop)."
)
UNIT_RATE_RPS = 1.0
"""Of a closed loop, which takes a request when one is done: of arrivals it uses the order alone."""


def chosen_study(workload: state.Workload) -> StudyChoice:
    """What the session's traffic, engine, prices and limits lead to.

    Raises ProjectError: traffic without decode steps, settings with which no engine starts.
    """
    limits = serving_limits()
    report = compute.checked(chosen_engine(), None)
    engine = engine_of_report(report, _captured(workload, report))
    steps, ground = _traffic(workload, limits)
    tokens, before_graphs, kv_ground = _kv(workload, report, limits)
    return StudyChoice(
        *(steps, engine, chosen_prices()),
        engine_machine(engine, report, replace(limits, kv_tokens=tokens)),
        before_graphs,
        pool_policy(),
        limits.concurrency,
        (ground, kv_ground),
    )


def _captured(workload: state.Workload, report: CheckReport) -> tuple[int, ...] | None:
    """The list that the uploaded log shows, where it is a log of this engine."""
    captured = workload.reading.captured
    of_this = workload.reading.format.startswith(report.engine)
    return captured.sizes if captured is not None and of_this else None


def _traffic(
    workload: state.Workload, limits: ServingLimits
) -> tuple[Trace | StepHistogram, Ground]:
    """Decode batches as they are, or the requests under the chosen load."""
    reading = workload.reading
    if reading.steps is not None:
        if reading.steps.unit is not SizeUnit.REQUESTS:
            raise HistogramError(
                f"{workload.name} counts {reading.steps.unit.value}, not requests a decode step; "
                "give decode batches, or requests with arrivals."
            )
        words = f"{reading.steps.total_steps:,} steps, {reading.label}"
        return reading.steps, Ground("traffic", Origin.MEASURED, words)
    if reading.trace is None:
        raise HistogramError(NO_DECODES)
    trace = traffic.workload_requests(workload)
    if trace is None:
        raise SettingError(NO_ARRIVALS)
    given = trace.arrival_s is not None and reading.trace.arrival_s is not None
    if trace.arrival_s is None:
        trace = compute.with_arrivals(trace, UNIT_RATE_RPS)
    origin = Origin.MEASURED if given else Origin.ASSUMED
    words = f"{len(trace):,} requests, {reading.label}"
    return requests_of(trace, limits), Ground("traffic", origin, words)


def _kv(
    workload: state.Workload, report: CheckReport, limits: ServingLimits
) -> tuple[int, bool, Ground]:
    """KV tokens, whether they are those before graphs, and who says so."""
    if is_typed():
        words = f"{limits.kv_tokens:,}, typed on the Serve page"
        return limits.kv_tokens, False, Ground("KV tokens", Origin.ASSUMED, words)
    facts = {**workload.reading.facts, **(report.log.facts if report.log else {})}
    logged = facts.get("kv_tokens")
    if isinstance(logged, (int, float)) and logged >= limits.block_size_tokens:
        words = f"{int(logged):,}, the engine's log"
        return int(logged), False, Ground("KV tokens", Origin.MEASURED, words)
    room = kv_room()
    if room.problem:
        words = f"{room.tokens:,} before graphs; the Memory page has no figure"
        return room.tokens, True, Ground("KV tokens", Origin.ASSUMED, words)
    words = f"{room.tokens:,} before graphs, for the card and model of the Memory page"
    return room.tokens, True, Ground("KV tokens", Origin.ESTIMATED, words)
