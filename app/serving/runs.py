"""The Serve page's runs: one simulated engine a bucket set, its KV cache less its graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from app import compute, state, theme
from app.charts.serving import Served
from app.drawing.markdown_text import as_text
from app.inputs import sets as inputs
from app.inputs.memory import chosen_model, pool_policy
from app.inputs.running_engine import studied_engine
from app.serving.choice import ServingLimits, cost_of, machine_of, requests_of
from core.errors import ProjectError
from core.records import BucketSet, SizeUnit, Trace
from core.serving.sweep import machine_beside_graphs
from core.simulate import Machine, SimulationResult, warnings_before
from core.study.graphs import graphs_of

__all__ = [
    "Plan",
    "ServingLimits",
    "cost_of",
    "kv_bytes_per_token",
    "machine_of",
    "plans",
    "requests_of",
    "results",
    "run",
    "run_key",
    "say_what_is_amiss",
]

EAGER = "No graphs (eager)"


@dataclass(frozen=True)
class Plan:
    """One way to serve: a set, and the engine that is left beside its graphs.

    sizes : None: no graph at all
    mixed : sizes that steps with prefill replay; empty: they have no graph
    buckets : what decode steps of 0, 1, 2 ... requests replay, -1 eager; None: they round up
    """

    name: str
    sizes: tuple[int, ...] | None
    machine: Machine
    mixed: tuple[int, ...] = ()
    buckets: tuple[int, ...] | None = None


def kv_bytes_per_token() -> float:
    """Of the model chosen on the Memory page [bytes]."""
    return chosen_model().kv_bytes_per_token


def plans(sets: Sequence[BucketSet], limits: ServingLimits, view: compute.CostView) -> list[Plan]:
    """One plan a set, and eager as the yardstick; what leaves no KV cache is said."""
    found, problems = plans_of(sets, limits, view)
    for text in problems:
        st.warning(as_text(text))
    return found


def plans_of(
    sets: Sequence[BucketSet], limits: ServingLimits, view: compute.CostView
) -> tuple[list[Plan], list[str]]:
    """The plans, and a sentence for each set that has none; draws nothing. Raises SettingError."""
    whole = machine_of(limits)
    found, problems = _without_graphs(whole, view)
    policy = pool_policy()
    for item in sets:
        graphs = compute.graph_bytes(item.sizes, view.memory, policy)
        taken = graphs if view.takes_kv else 0.0
        try:
            machine = _whole_blocks(machine_beside_graphs(whole, taken, kv_bytes_per_token()))
            mixed, buckets = _graphs_of(item, limits)
        except ProjectError as error:
            problems.append(f"{item.name}: {error}")
        else:
            found.append(Plan(item.name, item.sizes, machine, mixed, buckets))
    return found, problems


def _whole_blocks(machine: Machine) -> Machine:
    """Of a part of a block nothing is served."""
    block = machine.block_size_tokens
    return replace(machine, kv_tokens=machine.kv_tokens // block * block)


def _without_graphs(whole: Machine, view: compute.CostView) -> tuple[list[Plan], list[str]]:
    """The yardstick; a sentence instead where no eager step is known."""
    if view.cost.eager_known:
        return [Plan(EAGER, None, whole)], []
    return [], [f"{EAGER}: {compute.EAGER_UNKNOWN}"]


def _graphs_of(
    item: BucketSet, limits: ServingLimits
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """What the engine whose own list it is, else the session's, makes of a set, as in the study:
    sizes of steps with prefill, and what decode steps replay. Raises ProjectError."""
    engine = studied_engine(inputs.engine_of(item))
    graphs = graphs_of(engine, item.sizes, limits.max_num_seqs)
    by_tokens = limits.sizes_count is SizeUnit.TOKENS
    width = 1 + limits.draft_tokens if by_tokens else 1
    if int(graphs.slots[-1]) != limits.max_num_seqs * width:
        return item.sizes, None  # it counts otherwise than the Serve page was told: they round up
    return graphs.mixed, tuple(graphs.bucket.tolist())


def say_what_is_amiss(trace: Trace, limits: ServingLimits, chosen: Sequence[Plan]) -> None:
    """Warnings before a run, each once. Raises SettingError where nothing could be served."""
    requests = requests_of(trace, limits)
    said: dict[str, list[str]] = {}
    for plan in chosen:
        for text in warnings_before(requests, plan.machine, limits.concurrency):
            said.setdefault(text, []).append(plan.name)
    for text, names in said.items():
        whose = "" if len(names) == len(chosen) else f"{', '.join(names)}: "
        st.warning(as_text(whose + text))


def run_key(trace: Trace, limits: ServingLimits, view: compute.CostView) -> str:
    """Names all that a run depends on but its plan."""
    return compute.content_digest((trace, limits, view.cost, view.prefill))


def run(
    key: str,
    trace: Trace,
    limits: ServingLimits,
    chosen: Sequence[Plan],
    view: compute.CostView,
) -> None:
    """Serve with each plan that has not been served, under one progress bar with a way out; runs of
    plans that are not chosen now are let go.

    What is done is kept at once: Cancel (any click, in truth) makes Streamlit end this run of the
    page at the next sign of progress, and the page is drawn anew with what there is.
    """
    done = _kept(key)
    for gone in set(done) - set(chosen):
        del done[gone]
    waiting = [plan for plan in chosen if plan not in done]
    requests, cost = requests_of(trace, limits), cost_of(view.cost, limits)
    place = st.empty()
    with place.container():
        bar = st.progress(0.0, text="Serving …")
        st.button("Cancel", key="cancel_serving", help="What is done by then stays.")
    for i, plan in enumerate(waiting):

        def show(share: float, i: int = i, plan: Plan = plan) -> None:
            text = as_text(f"Serving with {plan.name} ({i + 1} of {len(waiting)}) …")
            bar.progress(min(1.0, (i + share) / len(waiting)), text=text)

        show(0.0)
        done[plan] = compute.served(
            *(requests, plan.machine, cost, plan.mixed or None, view.prefill),
            *(limits.concurrency, plan.buckets, show),
        )
    place.empty()


def _kept(key: str) -> dict[Plan, SimulationResult]:
    """Runs of these settings by plan, to be added to; those of other settings are let go."""
    values = state.session().values
    stored = values.get("served")
    if stored is None or stored[0] != key:
        stored = values["served"] = (key, {})
    return stored[1]


def any_runs() -> bool:
    """Has this browser served anything, with whatever settings?"""
    return state.session().values.get("served") is not None


def results(key: str, chosen: Sequence[Plan]) -> list[Served]:
    """The runs there are of exactly these settings, in the order of the plans."""
    stored = state.session().values.get("served")
    done = stored[1] if stored is not None and stored[0] == key else {}
    return [
        Served(
            plan.name,
            theme.EAGER if plan.sizes is None else state.colour_of(plan.name),
            len(plan.sizes or ()),
            plan.machine.kv_tokens,
            done[plan],
        )
        for plan in chosen
        if plan in done
    ]
