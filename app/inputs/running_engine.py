"""The engine of this session: as the Engine page has it, under the Serve page's limits."""

from __future__ import annotations

from dataclasses import replace

from app import compute, state
from app.inputs.engine_choice import EngineChoice
from app.inputs.engine_defaults import shared_settings
from app.serving.choice import ServingLimits
from app.serving.inputs import serving_limits
from app.study.memory import memory_by_size
from core.engines import ENGINES
from core.engines.check import CheckReport
from core.engines.graphs_take import GraphsEffect, GraphsTake
from core.errors import ProjectError
from core.graph_memory import graphs_effect
from core.records import GraphMemory, PoolPolicy
from core.simulate import Machine
from core.study.build import EngineLimits, engine_of_report, machine_of, names_limit
from core.study.graphs import EngineChoice as StudiedEngine
from core.study.prices import Prices


def today() -> EngineChoice | None:
    """The engine as set on the Engine page, once it captures something."""
    return state.session().values.get("engine_choice")


def chosen_engine() -> EngineChoice:
    """The engine as set on the Engine page, under the limits as they are now; the first one known
    until one is set."""
    chosen = today()
    name = chosen.engine if chosen is not None else str(state.value("engine", next(iter(ENGINES))))
    if name not in ENGINES:
        name = next(iter(ENGINES))
    if chosen is not None and chosen.text is not None:
        return chosen
    version = None if chosen is None else chosen.version
    return EngineChoice(name, version, None, shared_settings(name))


def studied_engine(choice: EngineChoice | None = None) -> StudiedEngine:
    """An engine as the study takes it; None: the session's own. Raises ProjectError."""
    return engine_of_report(compute.checked(choice or chosen_engine(), None))


def engine_machine(engine: StudiedEngine, report: CheckReport, limits: ServingLimits) -> Machine:
    """The Serve page's engine; what the engine's own settings say goes before its limits."""
    seqs, tokens = "max_num_seqs", "max_num_batched_tokens"
    found = machine_of(
        engine,
        EngineLimits(
            None if names_limit(report.settings, seqs) else limits.max_num_seqs,
            None if names_limit(report.settings, tokens) else limits.max_num_batched_tokens,
            limits.kv_tokens,
            limits.block_size_tokens,
        ),
    )
    return replace(
        found,
        mode=limits.mode,
        whole_prompt_must_fit=limits.whole_prompt_must_fit,
        prefix_cache=limits.prefix_cache,
        acceptance=limits.acceptance if found.draft_tokens else 0.0,
    )


def graph_memory(prices: Prices, policy: PoolPolicy) -> GraphMemory:
    """What this engine's graphs of that model take, by size: the study's figure of any list. That
    of the prices alone where the engine would not start.

    policy : of the pool, for which alone it holds
    """
    try:
        report = compute.checked(chosen_engine(), None)
        engine = engine_of_report(report)
        machine = engine_machine(engine, report, serving_limits())
        return memory_by_size(engine, prices.shape, machine.max_num_seqs, policy)
    except ProjectError:
        return prices.memory


def _effect() -> GraphsEffect | None:
    """What the engine's graphs take from; None where it would not start."""
    try:
        engine = studied_engine()
        return graphs_effect(str(engine.engine), engine.version, engine.settings)
    except ProjectError:
        return None


def graphs_take_kv() -> bool:
    """Whether more graphs leave fewer KV tokens, by this engine's and release's rule."""
    effect = _effect()
    return effect is None or effect.take is GraphsTake.KV_TOKENS


def graphs_effect_words() -> str:
    """The same in a sentence, and whose rule it is."""
    effect, chosen = _effect(), chosen_engine()
    if effect is None:
        return ""
    return f"{ENGINES[chosen.engine].label} ({effect.origin.value}): {effect.sentence}"
