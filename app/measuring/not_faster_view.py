"""The pieces of the page on graphs that do not pay: what to judge by, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from app import compute, state, theme
from app.charts.time_split import mean_split_figure, size_split_figure
from app.compute.not_faster import file_part, reading_part
from app.drawing.markdown_text import as_text
from app.drawing.views import chart
from app.inputs import sets as inputs
from app.inputs.cost import chosen_cost
from app.measuring.known_profiles import family, known_profiles, profile_choice
from app.workload import traffic
from core.cost.family import ProfileFamily
from core.errors import ProjectError
from core.not_faster import Answer, Group, GroupAnswer, Known, Verdict
from core.not_faster.gather import Part, gather, in_own_unit, ran_without
from core.padding import PaddingReport
from core.records import StepCost, StepHistogram

FILES = "not_faster_files"
SESSION, AS_SAID = "The traffic of this session", "As the engine says"
TITLES = {
    Group.REPLAY: "Did the graphs replay?",
    Group.HOST: "Host submission",
    Group.KERNELS: "Padding and kernel time",
    Group.BOUNDARY: "The boundary of the graph",
}
BADGES = {
    Verdict.CAUSE: "red",
    Verdict.PART: "orange",
    Verdict.NOT: "green",
    Verdict.UNKNOWN: "gray",
}


@dataclass
class Files:
    """Files by name: those in use, and those of earlier visits to the page, whose uploader is
    empty again. forgotten : how often they were; a new key empties an uploader."""

    used: dict[str, bytes] = field(default_factory=dict)
    earlier: dict[str, bytes] = field(default_factory=dict)
    forgotten: int = 0


def file_inputs() -> list[Part]:
    """The uploader and the files in use; one that cannot be read is named and left out."""
    kept: Files = state.session().values.setdefault(FILES, Files())
    key = f"not_faster_upload_{kept.forgotten}"
    if key not in state.session().drawn:
        state.session().drawn.add(key)
        kept.earlier = kept.used
    files = st.file_uploader(
        "Engine log, metrics, recorded run or measured profile (optional, several together)",
        accept_multiple_files=True,
        key=key,
        help="The log from the start of the engine; vLLM with --cudagraph-metrics, SGLang with its "
        "decode lines. A run of the same engine without graphs can be added to compare.",
    )
    kept.used = kept.earlier | {file.name: file.getvalue() for file in files}
    if kept.used:
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.caption(f"In use: {as_text(', '.join(kept.used))}.")
        if right.button("Forget", key="not_faster_forget", width="stretch"):
            state.session().values[FILES] = Files(forgotten=kept.forgotten + 1)
            st.rerun()
    parts = []
    for name, data in kept.used.items():
        try:
            parts.append(file_part(name, data))
        except ProjectError as error:
            st.error(str(error))
    return parts


def known_inputs(parts: list[Part]) -> Known:
    """Widgets for what the files leave open, and all of it together. Raises ProjectError."""
    workload = state.session().workload
    if workload is not None:
        parts = [*parts, reading_part(workload.reading, workload.name)]
    steps = _steps(parts)
    relatives, cost = _times(parts)
    report, source = None, ""
    if steps is not None:
        steps, report, source = _replayed(parts, steps)
    return gather(
        parts, steps=steps, report=report, sizes_source=source, family=relatives, cost=cost
    )


def _steps(parts: list[Part]) -> StepHistogram | None:
    """Of a file, or of the session's traffic; asked where both are there."""
    ordered = sorted(parts, key=ran_without)
    counted = {p.name: p.reading.steps for p in ordered if p.reading and p.reading.steps}
    found = traffic.current_traffic(stop=False)
    workload = state.session().workload
    if found is not None and workload is not None:
        counted.pop(workload.name, None)
        counted[SESSION] = found.histogram
    if len(counted) < 2:
        return next(iter(counted.values()), None)
    if state.value("not_faster_steps", "") not in counted:
        state.set_values({"not_faster_steps": next(iter(counted))})
    st.selectbox("Steps of", list(counted), key=state.remember("not_faster_steps", SESSION))
    return counted[state.keep("not_faster_steps")]


def _times(parts: list[Part]) -> tuple[ProfileFamily | None, StepCost]:
    """An uploaded profile's, else those of the sidebar. Raises InputError."""
    profile = next((part.profile for part in parts if part.profile is not None), None)
    if profile is not None:
        return family(profile), compute.cost_view(profile_choice("uploaded", profile)).cost
    chosen = known_profiles().get(str(state.value("cost_name", "")))
    return None if chosen is None else family(chosen), chosen_cost().cost


def _replayed(
    parts: list[Part], steps: StepHistogram
) -> tuple[StepHistogram, PaddingReport | None, str]:
    """The steps through a set of the session; a report of None takes what the engine says."""
    facts = [part.facts for part in parts if part.facts is not None]
    if facts and all(item.off is not None for item in facts):
        return steps, None, ""  # no size is captured, whatever one would like
    said = any(item.captured for item in facts)
    sets = {item.name: item for item in inputs.chosen_sets(steps, None)}
    options = [AS_SAID, *sets] if said else list(sets)
    if not options:
        return steps, None, ""
    key = "not_faster_said" if said else "not_faster_set"  # what the engine says comes first
    if state.value(key, "") not in options:
        state.set_values({key: options[0]})
    st.selectbox("Captured sizes", options, key=state.remember(key, options[0]))
    name = state.keep(key)
    if name == AS_SAID:
        return steps, None, ""
    found = compute.replayed(steps, sets[name].sizes, inputs.engine_of(sets[name]))
    own = in_own_unit(steps, found.steps)
    return own, found.report, f"the {len(sets[name])} sizes of {name}"


def show_answer(found: Answer, unit: str, with_sentence: bool = True) -> None:
    """The sentence, where the time goes, and the four groups, the gravest first.

    with_sentence : False where the page has said already that there is nothing to judge
    """
    if with_sentence:
        say = {True: st.success, False: st.error, None: st.info}[found.helps]
        say(as_text(found.sentence))
    if found.split is not None:
        chart(mean_split_figure(found.split), "split_mean", found.split.source)
        chart(size_split_figure(found.split, unit), "split_sizes", found.split.source)
        st.caption(
            "Green is what no graph can save. Red is what a step without a graph takes beyond its "
            "kernels: mostly the host submitting them one by one, which a replay does at once. "
            "Whether it is the host, the box on host submission tells."
        )
    for item in found.groups:
        _show_group(item)
    for note in found.notes:
        st.caption(as_text(note))


def _show_group(item: GroupAnswer) -> None:
    with st.container(border=True):
        badge = f":{BADGES[item.verdict]}-badge[{item.verdict.value}]"
        lost = f" loses {theme.us_text(item.lost_us)} a step" if item.lost_us else ""
        st.markdown(f"**{TITLES[item.group]}** {badge}{lost}")
        lines = [f"- {as_text(e.text)} *({e.origin.value})*" for e in item.evidence]
        if lines:
            st.markdown("\n".join(lines))
        if item.todo:
            words = "\n".join(f"- {as_text(text)}" for text in item.todo)
            st.markdown(f"What to do:\n{words}")
        if item.missing:
            st.caption(f"To tell more, give {as_text('; '.join(item.missing))}.")
