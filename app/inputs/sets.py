"""Widgets to frozen choices: the bucket sets to compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app import compute, state
from app.deciding.best_choice import best_choice, best_inputs, k_inputs
from app.drawing.markdown_text import as_text
from app.inputs import kept_sets
from app.inputs.cost import steps_cost
from app.inputs.engine_choice import EngineChoice
from app.inputs.engine_defaults import engine_default, shared_settings
from app.inputs.parsing import parse_sizes
from app.inputs.running_engine import today
from app.workload.other_traffic import other_inputs, with_others
from core.engines import ENGINES
from core.errors import ProjectError, SettingError
from core.records import BucketSet, StepHistogram

POWERS = "Powers of two"
BEST = "Best possible"
OWN = "My list"
FROM_LOG = "Your engine (from the log)"
TODAY = "Your engine today"
DEFAULT_SETS = ("vllm", POWERS, BEST)
OWN_SIZES = "1, 2, 4, 8, 16, 32, 64, 128, 256"
"""My list, until the user types one."""


def own_sizes() -> str:
    """My list, as typed."""
    return str(state.value("own_sizes", OWN_SIZES))


def engine_of(bucket_set: BucketSet) -> EngineChoice | None:
    """The engine whose own list a set is, and whose rule its steps follow; None: they round up."""
    if bucket_set.name == TODAY:
        return today()
    for name in ENGINES:
        if bucket_set.name == set_label(name):
            return EngineChoice(name, None, None, shared_settings(name))
    return None


def engines_of(sets: Sequence[BucketSet]) -> dict[str, EngineChoice]:
    """{name of a set: the engine whose own list it is}."""
    found = {item.name: engine_of(item) for item in sets}
    return {name: choice for name, choice in found.items() if choice is not None}


def set_label(name: str) -> str:
    """A set as it is called before it is made, by what it is chosen by."""
    if name in ENGINES:
        return f"{ENGINES[name].label} default"
    return f"{BEST}, K graphs" if name == BEST else name


def set_inputs(histogram: StepHistogram, captured: BucketSet | None) -> list[BucketSet]:
    """Widgets that choose the sets to compare; invalid ones are named and left out."""
    names = _name_inputs(captured)
    left, right = st.columns(2)
    with left:
        k_inputs(compute.MAX_GRAPHS)
    _own_input(right, OWN in names)
    made = kept_sets.keep_form(own_sizes(), histogram.unit)
    if made is not None:
        _compare_too(made)
    with st.expander("How the best set is chosen"):
        best_inputs()
        other_inputs(histogram)
    return chosen_sets(histogram, captured, names)


def _own_input(place: Any, compared: bool) -> None:
    """My list as text; `chosen_sets` says what is wrong with it only where it is compared."""
    place.text_input(
        OWN,
        key=state.remember("own_sizes", OWN_SIZES),
        help="Capture sizes, e.g. 1, 2, 4, 8..64/8. Choose 'My list' above to see it.",
    )
    state.keep("own_sizes")
    if compared:
        return
    try:
        parse_sizes(own_sizes())
    except ProjectError as error:
        place.warning(as_text(f"{OWN}: {error}"))


def _name_inputs(captured: BucketSet | None) -> list[str]:
    """Which sets are compared; those that this traffic does not have are let go."""
    options = [*ENGINES, POWERS, BEST, OWN, *kept_sets.options()]
    if captured is not None:
        options.insert(0, FROM_LOG)
    if today() is not None:
        options.insert(0, TODAY)
    default = [name for name in DEFAULT_SETS if name in options]
    chosen = state.value("sets", default)
    offered = [name for name in chosen if name in options]
    if offered != list(chosen):
        state.set_values({"sets": offered or default})
    st.multiselect(
        "Bucket sets to compare",
        options,
        format_func=set_label,
        key=state.remember("sets", default),
    )
    return state.keep("sets")


def chosen_sets(
    histogram: StepHistogram, captured: BucketSet | None, names: Sequence[str] | None = None
) -> list[BucketSet]:
    """The sets last chosen, for the traffic at hand; what cannot be made is said."""
    chosen: Sequence[str] = state.value("sets", list(DEFAULT_SETS)) if names is None else names
    sets = []
    for name in chosen:
        try:
            sets.append(_make_set(name, histogram, captured))
        except ProjectError as error:
            st.warning(as_text(f"{set_label(name)}: {error}"))
    return sets


def _make_set(name: str, histogram: StepHistogram, captured: BucketSet | None) -> BucketSet:
    if name == FROM_LOG and captured is not None:
        return BucketSet(FROM_LOG, captured.sizes, histogram.unit)
    if name == TODAY:
        choice = today()
        if choice is None:
            raise SettingError("the engine's configuration is not kept; paste it on Engine again.")
        sizes = compute.checked(choice, None).sizes
        return BucketSet(TODAY, sizes, histogram.unit, f"{ENGINES[choice.engine].label}, as set.")
    if name == POWERS:
        top = int(histogram.sizes[-1])
        return BucketSet(POWERS, tuple(2**i for i in range((top - 1).bit_length() + 1)))
    if name == BEST:
        choice = best_choice()
        steps = with_others(histogram)
        view = steps_cost(steps)
        sizes = compute.best_set(steps, choice, view.cost, view.memory)
        return BucketSet(f"{BEST}, K={choice.num_graphs}", sizes, histogram.unit)
    if name == OWN:
        return BucketSet(OWN, parse_sizes(own_sizes()))
    if name in kept_sets.options():
        return kept_sets.kept_set(name, histogram.unit)
    if name not in ENGINES:
        raise SettingError("this traffic has no such set; choose another on the Buckets page.")
    return default_set(name, histogram)


def break_even_set(sets: Sequence[BucketSet]) -> str:
    """Name of the set that Break-even weighs: the one chosen there, else the first."""
    return _name_of("even_set", sets, sets[0].name)


def export_set(sets: Sequence[BucketSet]) -> str:
    """Name of the set to paste into an engine: the one chosen for it, else the last."""
    return _name_of("export_set", sets, sets[-1].name)


def _name_of(key: str, sets: Sequence[BucketSet], default: str) -> str:
    chosen = str(state.value(key, default))
    return chosen if chosen in {item.name for item in sets} else default


def break_even_choice(place: Any, sets: Sequence[BucketSet]) -> BucketSet:
    """The widget of `break_even_set`, drawn in `place`."""
    return _set_choice(place, "even_set", sets, sets[0].name)


def export_choice(place: Any, sets: Sequence[BucketSet]) -> BucketSet:
    """The widget of `export_set`, drawn in `place`."""
    return _set_choice(place, "export_set", sets, sets[-1].name)


def _set_choice(place: Any, key: str, sets: Sequence[BucketSet], default: str) -> BucketSet:
    """A choice that is gone is let go."""
    names = [item.name for item in sets]
    if state.value(key, default) not in names:
        state.let_go(key)
    place.selectbox("Bucket set", names, key=state.remember(key, default, follows=True))
    return sets[names.index(state.keep(key))]


def default_set(name: str, histogram: StepHistogram) -> BucketSet:
    """An engine's own list. Raises SettingError, CaptureSizesError (it captures nothing)."""
    found = engine_default(name, histogram.unit)
    return BucketSet(f"{ENGINES[name].label} default", found.sizes, found.unit, found.note)


def _take_as_own(text: str) -> None:
    """Make a list the user's own and compare it; the widgets are drawn already, so run again."""
    state.session().values["own_sizes"] = text
    state.session().drawn -= {"own_sizes"}
    _compare_too(OWN)


def _compare_too(name: str) -> None:
    """Choose a set beside the others, and run again: the widget is drawn already."""
    chosen = state.value("sets", list(DEFAULT_SETS))
    state.session().values["sets"] = [*dict.fromkeys([*chosen, name])]
    state.session().drawn -= {"sets"}
    st.rerun()


def take_clicked(text: str | None) -> None:
    """The list of a clicked point becomes the user's own, once a click; None: nothing clicked.

    A chart keeps its selection through later runs, which must not undo what is typed meanwhile.
    """
    values = state.session().values
    if text is None or values.get("own_taken") == text:
        values["own_taken"] = text
        return
    values["own_taken"] = text
    _take_as_own(text)


def toggle_own(size: int | None) -> None:
    """Add a size to the user's own list, or take it out, once a click; None: nothing clicked."""
    values = state.session().values
    if size is None or size < 1 or values.get("own_clicked") == size:
        values["own_clicked"] = size
        return
    values["own_clicked"] = size
    try:
        sizes = set(parse_sizes(own_sizes()))
    except ProjectError:
        return  # what is typed is no list yet; its own warning says so
    changed = sorted(sizes ^ {size})
    if changed:
        _take_as_own(", ".join(map(str, changed)))
