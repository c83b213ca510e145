"""How the best set is to be chosen: what it minimises and what it must respect."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from app import state
from app.inputs.parsing import parse_sizes
from core.buckets import Limits
from core.records import PoolPolicy

PADDING, TIME = "fewest padded slots", "least step time"
KEYS = (
    *("best_objective", "best_include", "best_multiple", "best_memory_mib"),
    *("best_guard", "best_eager"),
)


@dataclass(frozen=True)
class BestChoice:
    """Objective and limits of the best set.

    memory_mib : most memory its graphs may take [MiB]; None: no limit
    """

    num_graphs: int = 16
    objective: str = PADDING
    include: tuple[int, ...] = ()
    multiple_of: int = 1
    allow_eager: bool = False
    memory_mib: float | None = None
    policy: PoolPolicy = PoolPolicy.SHARED_LARGEST_FIRST

    @property
    def limits(self) -> Limits:
        return Limits(None, self.multiple_of, self.include, self.allow_eager)


def best_choice() -> BestChoice:
    """The choice last made. Raises CaptureSizesError for a list that is none."""
    include = str(state.value("best_include", "")).strip()
    guard = (state.value("max_num_seqs", 256),) if state.value("best_guard", False) else ()
    mib = state.value("best_memory_mib", 0.0)
    return BestChoice(
        state.value("best_k", 16),
        state.value("best_objective", PADDING),
        (*(parse_sizes(include) if include else ()), *guard),
        state.value("best_multiple", 1),
        state.value("best_eager", False),
        mib if mib > 0 else None,
        state.value("policy", PoolPolicy.SHARED_LARGEST_FIRST),
    )


def best_inputs() -> None:
    """Widgets for what the best set minimises and keeps to."""
    left, middle, right = st.columns(3)
    left.segmented_control(
        "It minimises",
        [PADDING, TIME],
        key=state.remember("best_objective", PADDING),
        required=True,
        help="Padded slots cost little on a memory-bound step; step time says what they cost.",
    )
    middle.text_input(
        "Sizes to include in any case",
        key=state.remember("best_include", ""),
        help="For example 1, 8.",
    )
    right.number_input(
        *("Multiples of", 1, 256),
        key=state.remember("best_multiple", 1, within=(1, 256)),
        help="Of 1 + draft tokens with speculative decoding, or of the tensor-parallel size.",
    )
    _limit_inputs()
    for key in KEYS:
        state.keep(key)


def _limit_inputs() -> None:
    left, middle, right = st.columns(3)
    left.number_input(
        *("Graph memory at most [MiB], 0 = no limit", 0.0, 1e7),
        step=50.0,
        key=state.remember("best_memory_mib", 0.0, within=(0.0, 1e7)),
    )
    middle.checkbox(
        "Always include max_num_seqs",
        key=state.remember("best_guard", False),
        help="A guard: today's traffic is a sample, and steps above the largest size run eager.",
    )
    right.checkbox(
        "Large steps may run eager",
        key=state.remember("best_eager", False),
        help="Only with the objective 'least step time': leaves sizes above the largest graph "
        "eager where that is cheaper.",
    )


def k_inputs(most: int) -> None:
    """The number of graphs, dragged or typed: two widgets, one number."""
    state.remember("best_k", 16, within=(1, most))
    st.session_state["best_k_slider"] = st.session_state["best_k"]
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    left.slider(
        *("Graphs in the best set (K)", 1, most),
        key="best_k_slider",
        on_change=_dragged,
        help="How many graphs the best possible set may capture.",
    )
    right.number_input("K, typed", 1, most, key="best_k")
    state.keep("best_k")


def _dragged() -> None:
    state.set_values({"best_k": st.session_state["best_k_slider"]})


def take_k(num_graphs: int) -> None:
    """Make it the number of graphs; the widgets are drawn already, so run again."""
    state.session().values["best_k"] = num_graphs
    state.session().drawn.discard("best_k")
    st.rerun()
