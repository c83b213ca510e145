"""What the lessons have in common: the derivation to unfold, questions, numbers, code."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from app import state
from core.lab.derivation import Derivation, number_text

_SPECIAL = "\\`*_{}[]<>$#|~"


def plain(text: str) -> str:
    """Text that Markdown shows as it stands."""
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in text)


def derivation_view(derivation: Derivation, title: str = "How this follows") -> None:
    """Assumptions, then every computed step with its unit, then the sentence they lead to."""
    with st.expander(f"{title}: assumptions, steps, units"):
        st.markdown("**Assumed**\n\n" + "\n".join(f"- {plain(a)}" for a in derivation.assumptions))
        lines = [f"{i}. {_step(s)}" for i, s in enumerate(derivation.steps, start=1)]
        st.markdown("**Computed**\n\n" + "\n".join(lines))
        st.markdown(f"**So:** {plain(derivation.answer)}")


def _step(step: object) -> str:
    text, value, unit = step.text, step.value, step.unit  # pyright: ignore
    shown = unit.replace("us", "µs", 1) if unit.startswith("us") else unit
    return f"{plain(text)}: **{plain(number_text(value))}** {shown}".rstrip()


def metrics(values: Mapping[str, str]) -> None:
    """Numbers side by side; each text holds its unit."""
    for column, (label, value) in zip(st.columns(len(values)), values.items(), strict=True):
        column.metric(label, value)


def number(
    label: str, key: str, default: float, low: float, high: float, step: float = 1.0
) -> float:
    """A number that the session keeps."""
    whole = isinstance(default, int)
    st.number_input(
        label,
        int(low) if whole else float(low),
        int(high) if whole else float(high),
        step=int(step) if whole else float(step),
        key=state.remember(key, default, within=(low, high)),
    )
    return state.keep(key)


def switch(label: str, key: str, default: bool) -> bool:
    """A switch that the session keeps."""
    st.toggle(label, key=state.remember(key, default))
    return bool(state.keep(key))


def choice(label: str, options: list[str], key: str) -> str:
    """One of a few, kept by the session."""
    st.selectbox(label, options, key=state.remember(key, options[0]))
    return str(state.keep(key))


def answered(key: str, guesses: Mapping[str, float | None], right: Mapping[str, float]) -> bool:
    """Say how the guesses compare once all are given; True when the answer may be shown.

    guesses, right : by the same names
    """
    show = switch("Show the answer", f"{key}_show", False)
    if all(guess is not None for guess in guesses.values()):
        wrong = [name for name, value in right.items() if guesses[name] != value]
        truth = ", ".join(f"{name} = {value:g}" for name, value in right.items())
        if wrong:
            st.warning(f"Not quite: {truth}.")
        else:
            st.success(f"Right: {truth}.")
        return True
    return show


def guess(label: str, key: str) -> float | None:
    """A number that may stay empty."""
    return st.number_input(label, value=None, step=1.0, format="%g", key=key)
