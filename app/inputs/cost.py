"""The step cost in use: an assumption, a roofline, a fitted model or a measured profile."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import compute, state, theme
from app.calibrating.fitted_models import fitted_models
from app.drawing.markdown_text import as_text
from app.inputs.cost_choice import Assumption, CostChoice, Roofline
from app.inputs.memory import model_config_text, pool_policy
from app.inputs.running_engine import graph_memory, graphs_take_kv
from app.measuring.known_profiles import family, known_profiles, profile_choice
from core.cards import CARDS
from core.cost.of_prefill import can_price
from core.cost.of_tokens import MAX_ROWS, decodes
from core.records import PoolPolicy, Profile, SizeUnit, StepHistogram
from core.study.prices import Prices

ASSUMED = "Assumed: memory-bound 8B decode step"
ROOFLINE = "Estimated: roofline of model and card"
TERMS = {
    "launch_us": ("eager: submit at least [µs]", 12_900.0, 100.0),
    "launch_us_per_row": ("eager: submit a row [µs]", 9.5, 1.0),
    "step_us": ("replay: fixed [µs]", 5_800.0, 100.0),
    "step_us_per_row": ("replay: a row [µs]", 44.0, 1.0),
    "capture_ms": ("capture one graph [ms]", 80.0, 5.0),
}


def cost_inputs() -> compute.CostView:
    """Widgets of the sidebar. Raises InputError for a choice that gives no cost."""
    options = [ASSUMED, ROOFLINE, *fitted_models(), *known_profiles()]
    if state.value("cost_name", ASSUMED) not in options:
        state.set_values({"cost_name": ASSUMED})
    st.selectbox(
        "Step cost",
        options,
        key=state.remember("cost_name", ASSUMED),
        help="Times of eager and replayed steps. Measure your own card on the Measure page, or fit "
        "your own engine's run on the Calibrate page.",
    )
    name = state.keep("cost_name")
    if name == ASSUMED:
        with st.expander("Adjust the assumption"):
            for term, (label, default, step) in TERMS.items():
                key = state.remember(f"cost_{term}", default, within=(0.0, 1e9))
                st.number_input(label, 0.0, 1e9, step=step, key=key)
                state.keep(key)
    elif name == ROOFLINE:
        st.selectbox("Card", list(CARDS), key=state.remember("cost_card", "H200"))
        state.keep("cost_card")
        st.number_input(
            *("Context [tokens]", 0, 10_000_000),
            step=512,
            key=state.remember("cost_context", 1024, within=(0, 10_000_000)),
        )
        state.keep("cost_context")
        st.caption("The model is the one on the Memory page.")
    elif name in known_profiles():
        _context_input(name)
    view = compute.cost_view(_choice())  # step times alone: the sidebar is drawn before the limits
    st.caption(as_text(theme.origin_text(view.cost.origin, view.cost.source)))
    return view


def _context_input(name: str) -> None:
    """The context of a step, for a profile whose step was measured at several."""
    profile = known_profiles()[name]
    contexts = family(profile).contexts
    if len(contexts) < 2:
        return
    if state.value("context_of", "") != name:
        own = profile.spec.context_tokens
        state.set_values({"context_of": name, "profile_context": own})
    st.number_input(
        "Context of a step [tokens a request]",
        1,
        10_000_000,
        step=256,
        key=state.remember("profile_context", profile.spec.context_tokens, within=(1, 10_000_000)),
        help=f"Measured at {' and '.join(f'{c:,}' for c in contexts)} tokens; straight between "
        "them, estimated beyond.",
    )
    state.keep("profile_context")


def chosen_cost() -> compute.CostView:
    """The step cost last chosen, of decode steps: what simulations take. Raises InputError."""
    prices = chosen_prices()
    return replace(
        compute.cost_view(_choice()),
        memory=graph_memory(prices, pool_policy()),
        private_memory=graph_memory(prices, PoolPolicy.PRIVATE),
        takes_kv=graphs_take_kv(),
    )


def chosen_prices() -> Prices:
    """The same choice with how far off it may be, and the model it is of. Raises InputError."""
    return compute.prices_of(_choice())


def steps_cost(steps: StepHistogram) -> compute.CostView:
    """The same choice as it prices these steps: by rows, or by tokens where they may hold prompts.

    Graphs of decode steps take what the engine's own do, in the study and on every page; those of
    prompts alone what was measured of such. Raises InputError.
    """
    if decodes(steps):
        return chosen_cost()
    return compute.steps_view(_choice(), steps, _max_rows())


def tokens_cost(unit: SizeUnit) -> compute.CostView:
    """The same choice for steps that may hold prompts, sizes in `unit`. Raises InputError."""
    return compute.tokens_view(_choice(), unit, _max_rows())


def _max_rows() -> int:
    """The most requests that decode together, as the Workload and Serve pages were told."""
    return state.value("max_num_seqs", MAX_ROWS)


def measured_profile(steps: StepHistogram) -> Profile | None:
    """The profile that the price of these steps is fitted to; None where nothing was measured, or
    where it is put together from two."""
    profile = known_profiles().get(str(state.value("cost_name", ASSUMED)))
    if profile is None or decodes(steps):
        return profile
    if steps.unit is SizeUnit.TOKENS:
        return None
    prompts = family(profile).prompts
    return prompts if prompts is not None and can_price(prompts) else None


def _choice() -> CostChoice:
    name = str(state.value("cost_name", ASSUMED))
    if name == ROOFLINE:
        roofline = Roofline(
            state.value("cost_card", "H200"),
            state.value("cost_context", 1024),
            model_config_text(),
            state.value("tp", 1),
        )
        return CostChoice(name, roofline=roofline)
    if name in fitted_models():
        return CostChoice(name, model=fitted_models()[name])
    if name in known_profiles():
        profile = known_profiles()[name]
        chosen = state.value("context_of", "") == name and len(family(profile).contexts) > 1
        context = state.value("profile_context", None) if chosen else None
        return profile_choice(name, profile, context)
    if name != ASSUMED:
        state.say_unused("cost_name", name, ASSUMED)
    terms = {term: state.value(f"cost_{term}", default) for term, (_, default, _) in TERMS.items()}
    return CostChoice(name, assumption=Assumption(**terms))
