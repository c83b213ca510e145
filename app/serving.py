"""The Serve page's runs: one simulated engine a bucket set, its KV cache less its graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from app import compute, state, theme
from app.charts.serving import Served
from app.inputs import ServingLimits
from app.memory_inputs import chosen_model
from core.errors import ProjectError
from core.records import BucketSet, PoolPolicy, Trace
from core.serving_sweep import machine_beside_graphs
from core.simulate import Machine

EAGER = "No graphs (eager)"


@dataclass(frozen=True)
class Plan:
    """One way to serve: a set, and the engine that is left beside its graphs."""

    name: str
    sizes: tuple[int, ...] | None
    machine: Machine

    @property
    def key(self) -> tuple[object, ...]:
        return (self.name, self.sizes, self.machine)


def kv_bytes_per_token() -> float:
    """Of the model chosen on the Memory page [bytes]."""
    return chosen_model().kv_bytes_per_token


def plans(sets: Sequence[BucketSet], limits: ServingLimits, view: compute.CostView) -> list[Plan]:
    """One plan a set, and eager as the yardstick; what leaves no KV cache is said."""
    whole = machine_of(limits)
    found = [Plan(EAGER, None, whole)]
    policy = state.value("policy", PoolPolicy.SHARED_LARGEST_FIRST)
    for item in sets:
        taken = compute.graph_bytes(item.sizes, view.memory, policy)
        try:
            machine = machine_beside_graphs(whole, taken, kv_bytes_per_token())
        except ProjectError as error:
            st.warning(f"{item.name}: {error}")
        else:
            found.append(Plan(item.name, item.sizes, machine))
    return found


def machine_of(limits: ServingLimits) -> Machine:
    """The engine with the whole KV cache."""
    return Machine(
        kv_tokens=limits.kv_tokens,
        max_num_seqs=limits.max_num_seqs,
        max_num_batched_tokens=limits.max_num_batched_tokens,
    )


def run(
    key: str,
    trace: Trace,
    limits: ServingLimits,
    chosen: Sequence[Plan],
    view: compute.CostView,
) -> None:
    """Serve with each plan, one after another, under one progress bar; Streamlit's stop ends it."""
    bar = st.progress(0.0, text="Serving …")
    requests = compute.scaled(trace, limits.load_factor)
    runs = []
    for i, plan in enumerate(chosen):

        def show(share: float, i: int = i, plan: Plan = plan) -> None:
            bar.progress(min(1.0, (i + share) / len(chosen)), text=f"Serving with {plan.name} …")

        show(0.0)
        result = compute.served(requests, plan.machine, view.cost, plan.sizes, view.prefill, show)
        colour = theme.EAGER if plan.sizes is None else state.colour_of(plan.name)
        size = len(plan.sizes or ())
        runs.append(Served(plan.name, colour, size, plan.machine.kv_tokens, result))
    bar.empty()
    state.session().values["served"] = (key, runs)


def results(key: str) -> list[Served] | None:
    """The runs of exactly these settings; None before they were made."""
    stored = state.session().values.get("served")
    return stored[1] if stored is not None and stored[0] == key else None
