"""What to run: the study's verdict, its list to paste, and the figures beside what runs today."""

from __future__ import annotations

import streamlit as st

from app import state
from app.deciding.verdict_rows import holding_rows, scenario_rows
from app.drawing.markdown_text import as_text
from app.drawing.views import table
from app.inputs.study_choice import chosen_study
from app.study import StudyChoice, advice_for, request_count
from core.engines import ENGINES
from core.errors import ProjectError
from core.records import Origin
from core.study.advice import Advice
from core.study.verdict import Kind

MOST_AT_ONCE = 20_000
"""Requests that are judged without being asked: some fifty lists at seven loads in seconds."""
WAITING = "Simulating lists beside what runs today … (longer the first time after an installation)"
WORDS = (
    "TPOT: time a token, between the tokens of a request after its first. TTFT: time to the first "
    "token, from a request's arrival. p50: half of the requests are faster. x1.5: the same "
    "requests coming 1.5 times as fast. Every figure is estimated: each list was simulated with "
    "its own graphs in every row."
)
STEP_WORDS = (
    "A histogram of decode batches has no arrivals: other loads are its sizes times the load, "
    "which is a guess. Every figure is estimated."
)


def verdict_section(workload: state.Workload) -> None:
    """The verdict of this session's study; a sentence where the traffic leads to none."""
    st.subheader("What to run", anchor=False)
    advice = _worked_out(workload)
    if advice is not None:
        show_advice(advice)


def verdict_line(workload: state.Workload) -> None:
    """The sentence alone, where the study takes seconds; nothing where the traffic leads to none:
    the Buckets page says why."""
    try:
        choice = chosen_study(workload)
        if request_count(choice) <= MOST_AT_ONCE:
            with st.spinner(WAITING):
                sentence = advice_for(choice).sentence
            st.markdown(f"**What to run:** {as_text(sentence)}")
            st.page_link("app_pages/buckets.py", label="The list, and what it rests on")
    except ProjectError:
        return


def study_at_once(workload: state.Workload) -> StudyChoice | None:
    """The study that the pages work out unasked, or were asked for; None where there is none."""
    try:
        choice = chosen_study(workload)
    except ProjectError:
        return None
    return choice if _is_asked(request_count(choice)) else None


def _is_asked(number: int) -> bool:
    return number <= MOST_AT_ONCE or state.value("judge_all", 0) == number


def _worked_out(workload: state.Workload) -> Advice | None:
    try:
        choice = chosen_study(workload)
        if not _may_run(choice):
            return None
        with st.spinner(WAITING):
            return advice_for(choice)
    except ProjectError as error:
        st.info(as_text(str(error)))
        return None


def _may_run(choice: StudyChoice) -> bool:
    """Large traffic is judged when somebody asks for it."""
    number = request_count(choice)
    if _is_asked(number):
        return True
    st.info(
        f"With {number:,} requests this takes minutes: each of some fifty lists is simulated at "
        "seven loads."
    )
    if st.button("Work out what to run", key="judge", type="primary"):
        state.session().values["judge_all"] = number
        return True
    return False


def show_advice(advice: Advice) -> None:
    """Sentence, list, figures, grounds."""
    st.markdown(f"**{as_text(advice.sentence)}**")
    st.caption(as_text(f"{_whose(advice)} {_claim(advice)}"))
    _paste(advice)
    estimated = Origin.ESTIMATED.value
    table(scenario_rows(advice), "verdict", estimated)
    table(holding_rows(advice), "verdict_takes", estimated)
    requests = any(scenario.trace is not None for scenario in advice.study.scenarios)
    st.caption(WORDS if requests else STEP_WORDS)
    with st.expander("What this rests on"):
        for ground in advice.rests_on:
            st.markdown(
                f"- {as_text(ground.what)} ({ground.origin.value}): {as_text(ground.source)}"
            )
    if advice.settle:
        st.markdown("Would settle it:")
        for text in advice.settle:
            st.markdown(f"- {as_text(text)}")


def _whose(advice: Advice) -> str:
    """For which engine it is said, and where to say another."""
    engine = advice.study.engine
    if engine.rules is None:
        return "For an engine that rounds every step up."
    return (
        f"For {engine.rules.label} {engine.version} as the Engine and Serve pages have it; say "
        "there what you run."
    )


def _claim(advice: Advice) -> str:
    return (
        f"Gains below {100 * advice.verdict.claim:.1f} % are not claimed: the step times may be "
        "as far off."
    )


def _paste(advice: Advice) -> None:
    """The list in the engine's own form; one that stays is folded away."""
    if not advice.paste:
        return
    found, name = advice.verdict, advice.study.engine.engine
    label = ENGINES[name].label if name is not None else "your engine"
    if found.kind is Kind.KEEP:
        place = st.expander(f"The list that stays: {len(found.sizes)} sizes, for {label}")
    else:
        place = st.container()
        place.caption(f"Paste this into {label}:")
    place.code(advice.paste, language="sh", wrap_lines=True)
    for warning in advice.warnings:
        place.warning(as_text(warning))
