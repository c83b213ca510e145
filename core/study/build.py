"""A study from what people give: traffic, the engine's settings, prices, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.engines import get_engine
from core.engines.check import CheckReport
from core.engines.graphs_take import GraphsTake
from core.errors import HistogramError, SettingError
from core.graph_memory import graphs_effect, shipped_graph_memory
from core.records import GraphMemory, ModelShape, Origin, PoolPolicy, SizeUnit, StepHistogram, Trace
from core.simulate import Machine
from core.study.accounting import Accounting
from core.study.graphs import EngineChoice, Graphs, graphs_of
from core.study.prices import ASSUMED_SHAPE, Prices
from core.study.scenario import LOADS, Scenario, histogram_scenarios, scenarios_of
from core.study.study import Study

KV_TOKENS = 500_000
"""KV cache where nobody tells it; assumed."""


@dataclass(frozen=True)
class EngineLimits:
    """Limits of the engine; None takes the engine's setting of that name, else the default.

    kv_tokens : what the engine has beside today's graphs, as its log says
    """

    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    kv_tokens: int | None = None
    block_size_tokens: int = 16


def study_of(
    traffic: Trace | StepHistogram,
    engine: EngineChoice,
    prices: Prices,
    limits: EngineLimits | None = None,
    *,
    loads: Sequence[float] = LOADS,
    others: Sequence[Trace] = (),
    policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST,
    machine: Machine | None = None,
    concurrency: int | None = None,
) -> Study:
    """Put together once, for pages and commands alike.

    machine : with all its rules, where they are known; else made of the limits
    Raises SettingError, HistogramError for sizes that are no decode steps.
    """
    machine = machine or machine_of(engine, limits or EngineLimits())
    engine = with_limits(engine, machine)
    accounting = accounting_of(engine, prices, policy)
    return Study(
        _scenarios(traffic, machine, loads, others),
        engine,
        _without_graphs(machine, engine, accounting),
        prices.cost,
        prices.prefill,
        accounting,
        prices.error,
        concurrency,
    )


def _without_graphs(machine: Machine, engine: EngineChoice, accounting: Accounting) -> Machine:
    """The machine with the KV tokens that today's graphs take given back."""
    each = accounting.kv_bytes_per_token
    if not accounting.takes_kv or not each:
        return machine
    taken, _ = accounting.bytes_of(graphs_of(engine, None, machine.max_num_seqs))
    return replace(machine, kv_tokens=machine.kv_tokens + round(taken / each))


def _scenarios(
    traffic: Trace | StepHistogram,
    machine: Machine,
    loads: Sequence[float],
    others: Sequence[Trace],
) -> tuple[Scenario, ...]:
    if isinstance(traffic, Trace):
        return scenarios_of(traffic, loads, others)
    if traffic.unit is not SizeUnit.REQUESTS:
        raise HistogramError(
            f"The histogram counts {traffic.unit.value}, which are no decode steps: how many "
            "requests run together does not follow from lengths. Give --rate (requests/s) or "
            "--concurrency with lengths, or a histogram of decode batches."
        )
    if traffic.total_steps == 0:
        raise HistogramError("The histogram holds no step, so nothing can be judged on it.")
    return histogram_scenarios(traffic, machine.max_num_seqs, loads)


def engine_of_report(report: CheckReport, today: Sequence[int] | None = None) -> EngineChoice:
    """The engine as its settings were read; the list that runs is `today`, else the one that its
    log shows, else the one that its settings name, else what they lead to.

    Raises SettingError where it would not start.
    """
    rules = get_engine(report.engine)
    if not report.starts:
        why = next((finding.text for finding in report.findings), "")
        raise SettingError(f"{rules.label} would not start with these settings: {why}")
    _, values, listed = rules.checked_values(report.version, report.settings)
    logged = report.log.sizes if report.log else None
    given = today or (listed if logged is None else logged)
    off = tuple(name for name, value in rules.off_settings.items() if values.get(name) == value)
    if off:
        # What keeps it from capturing runs today, and is left out for the lists that are tried.
        given = ()
    left_out = {rules.list_setting, *off}
    settings = {n: v for n, v in rules.own_names(report.settings).items() if n not in left_out}
    sizes = None if given is None else tuple(given)
    return EngineChoice(rules.id, report.version, settings, sizes, off)


def names_limit(settings: Mapping[str, Any], limit: str) -> bool:
    """Whether an engine's settings say this limit, by whichever of its names.

    limit : a key of COMMON
    """
    return any(settings.get(name) is not None for name in COMMON[limit])


def machine_of(engine: EngineChoice, limits: EngineLimits) -> Machine:
    """Limits given, else by the engine's settings, else the simulator's defaults."""
    values = _checked_settings(engine)
    seqs = limits.max_num_seqs or _whole(values, "max_num_seqs") or 256
    tokens = limits.max_num_batched_tokens or _whole(values, "max_num_batched_tokens") or 8192
    drafts = _whole(values, "num_speculative_tokens") or 0
    width = 1 + drafts
    return Machine(
        kv_tokens=limits.kv_tokens or KV_TOKENS,
        block_size_tokens=limits.block_size_tokens,
        max_num_seqs=seqs,
        max_num_batched_tokens=max(tokens, seqs * width),
        draft_tokens=drafts,
    )


COMMON = {
    "max_num_seqs": ("max_num_seqs", "max_running_requests", "max_batch_size"),
    "max_num_batched_tokens": ("max_num_batched_tokens", "chunked_prefill_size", "max_num_tokens"),
    "num_speculative_tokens": ("num_speculative_tokens",),
}
"""Engines' own names of the limits."""


def _checked_settings(engine: EngineChoice) -> Mapping[str, Any]:
    if engine.engine is None:
        return engine.settings
    return get_engine(engine.engine).checked_values(engine.version, engine.settings)[1]


def _whole(values: Mapping[str, Any], name: str) -> int | None:
    for key in COMMON[name]:
        value = values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def with_limits(engine: EngineChoice, machine: Machine) -> EngineChoice:
    """The engine told the limits that its list follows from, where its settings leave them out."""
    if engine.engine is None:
        return engine
    rules = get_engine(engine.engine)
    known = {setting.name for setting in rules.settings}
    settings = dict(engine.settings)
    for name, value in (
        ("max_num_seqs", machine.max_num_seqs),
        ("max_num_batched_tokens", machine.max_num_batched_tokens),
    ):
        own = next((key for key in COMMON[name] if key in known), None)
        given = {rules.common_names.get(key, key) for key in settings}
        if own is not None and own not in given:
            settings[own] = value
    return replace(engine, settings=settings)


def accounting_of(engine: EngineChoice, prices: Prices, policy: PoolPolicy) -> Accounting:
    """Graph memory by kind where the engine and the shape are known; whom it takes from.

    Raises SettingError.
    """
    if engine.engine is None:
        return Accounting(prices.memory, policy, prices.kv_bytes_per_token)
    effect = graphs_effect(engine.engine, engine.version, engine.settings)
    return Accounting(
        prices.memory,
        policy,
        prices.kv_bytes_per_token,
        effect.take is GraphsTake.KV_TOKENS,
        effect.sentence,
        effect.origin,
        _by_kind(engine, prices.shape or ASSUMED_SHAPE, prices.shape is None, policy),
    )


LARGEST_SIZE = 8192
"""Up to which graph memory is told by size [tokens]; straight on from there."""


def graph_memory_by_size(
    engine: EngineChoice, shape: ModelShape | None, max_num_seqs: int, policy: PoolPolicy
) -> GraphMemory:
    """The accounting's model of an engine's graphs, for functions that add up one list of sizes.

    shape : None is taken to be the assumed step times' model
    A list that holds the largest full graph, or ends below it, takes what `Accounting` says of it.
    Raises SettingError, ModelConfigError.
    """
    if engine.engine is None:
        raise SettingError("Without an engine, no graph memory by size is known.")
    today = graphs_of(replace(engine, today=None), None, max_num_seqs)
    full_load = int(today.slots[-1])
    found = shipped_graph_memory(engine.engine, engine.version).points(
        shape or ASSUMED_SHAPE,
        max(LARGEST_SIZE, full_load),
        largest_full=full_load if today.lists.full or not today.lists else 0,
        piecewise=bool(today.lists.piecewise),
        policy=policy,
    )
    return found if shape is not None else replace(found, origin=Origin.ASSUMED)


def _by_kind(engine: EngineChoice, shape: ModelShape, guessed: bool, policy: PoolPolicy):
    assert engine.engine is not None
    model = shipped_graph_memory(engine.engine, engine.version)

    def bytes_of(graphs: Graphs) -> tuple[float, Origin]:
        found = model.predict(graphs.lists, shape, policy)
        return found.total_bytes, Origin.ASSUMED if guessed else found.origin

    return bytes_of
