"""Two sessions, or two versions of one, worked out as their own pages would work them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from app import compute, state
from app.charts.memory import CapacityMark
from app.drawing.markdown_text import as_text
from app.inputs import sets as inputs
from app.inputs.cost import steps_cost
from app.inputs.memory import chosen_memory, pool_policy
from app.inputs.sets import BEST
from app.sessions import current as sessions
from app.sessions.document import as_browser
from app.web.unfit import refuse_last, unfit_sentences
from app.workload import traffic
from core.buckets import Frontier
from core.errors import ProjectError
from core.readers.reading import Reading
from core.records import BucketSet, StepHistogram
from core.records.session import TuningSession
from core.session_figures import TRAFFIC, Figure, SetFigures, Unit

KEPT_READINGS = 4
SHOWN_CHARS = 40


@dataclass(frozen=True)
class Side:
    """One of the two. histogram, frontier : None where its traffic gives no step sizes."""

    name: str
    colour: str
    document: TuningSession
    note: str
    origin: str
    histogram: StepHistogram | None
    frontier: Frontier | None
    sets: tuple[SetFigures, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every number of this side: of its traffic, then of each set."""
        steps = self.histogram
        largest = None if steps is None else float(steps.sizes[-1])
        total = None if steps is None else float(steps.total_steps)
        about = (
            Figure(TRAFFIC, "steps", Unit.COUNT, total),
            Figure(TRAFFIC, "largest step", Unit.COUNT, largest),
        )
        return (*about, *(figure for item in self.sets for figure in item.figures))


def side_of(session_id: str, version: int | None, colour: str) -> Side:
    """Load a version (None: the newest) and work it out; what cannot be is said on the page.

    Raises SessionError.
    """
    found = sessions.loaded(session_id, version)
    name = f"{_short(found.document.name)}, version {found.version}"
    browser = as_browser(found.document, _reading(session_id, found.document))
    with state.as_if(browser):
        side = _without_unfit(name, colour, found.document)
        for sentence in unfit_sentences():
            st.warning(as_text(f"{name}: {sentence}"))
        return side


def _without_unfit(name: str, colour: str, document: TuningSession) -> Side:
    """Worked out with the default for every setting that cannot be used, as the pages do it.

    A setting that can be used and leads to nothing is no such: its sentence stands for the numbers.
    """
    while True:
        try:
            return _worked_out(name, colour, document)
        except ProjectError as error:
            st.warning(as_text(str(error)))
            return Side(name, colour, document, "no numbers", "", None, None, ())
        except Exception:
            if not refuse_last():
                raise


def _short(name: str) -> str:
    """For legends and column headers."""
    return name if len(name) <= SHOWN_CHARS else f"{name[: SHOWN_CHARS - 1]}…"


def told_apart(first: Side, second: Side) -> list[Side]:
    """The two under names that differ, as legends and columns need them."""
    if first.name != second.name:
        return [first, second]
    return [
        replace(side, name=f"{side.name} ({place})")
        for side, place in ((first, "first"), (second, "second"))
    ]


def _reading(session_id: str, kept: TuningSession) -> Reading | None:
    """The traffic of a document; the last few stay in the browser session, by content."""
    if kept.workload is None:
        return None
    held: dict[str, Reading] = state.session().values.setdefault("compare_readings", {})
    digest = kept.workload.digest
    if digest not in held:
        reading = sessions.traffic_of(session_id, kept)
        assert reading is not None
        while len(held) >= KEPT_READINGS:
            held.pop(next(iter(held)))
        held[digest] = reading
    return held[digest]


def _worked_out(name: str, colour: str, document: TuningSession) -> Side:
    workload = state.session().workload
    found = traffic.current_traffic(stop=False) if workload is not None else None
    if workload is None or found is None or not len(found.histogram.sizes):
        return Side(name, colour, document, "no step sizes", "", None, None, ())
    steps = found.histogram
    try:
        view = steps_cost(steps)
        frontier = compute.best_frontier(steps)
    except ProjectError as error:
        st.warning(as_text(str(error)))
        return Side(name, colour, document, found.note, "", steps, None, ())
    sets = _set_figures(steps, workload, view)
    return Side(name, colour, document, found.note, view.cost.origin.value, steps, frontier, sets)


def _set_figures(
    steps: StepHistogram, workload: state.Workload, view: compute.CostView
) -> tuple[SetFigures, ...]:
    chosen = inputs.chosen_sets(steps, workload.reading.captured)
    found = []
    for item, mark in zip(chosen, _marks(chosen, workload, view), strict=True):
        try:
            run = compute.replayed(steps, item.sizes, inputs.engine_of(item))
        except ProjectError as error:
            st.warning(as_text(f"{item.name}: {error}"))
            continue
        found.append(
            SetFigures(
                # The best sets of both sides belong together, whatever their K.
                name=BEST if item.name.startswith(BEST) else item.name,
                num_graphs=len(item),
                waste=run.report.waste,
                coverage=run.report.coverage,
                step_us=compute.step_us(run, view.cost),
                graph_bytes=compute.graph_bytes(item.sizes, view.memory, pool_policy()),
                kv_tokens=None if mark is None else mark.kv_tokens,
                requests=None if mark is None else mark.requests,
            )
        )
    return tuple(found)


def _marks(
    chosen: Sequence[BucketSet], workload: state.Workload, view: compute.CostView
) -> Sequence[CapacityMark | None]:
    """What each set leaves; None where the Memory page has a sentence instead, said here too."""
    try:
        memory = chosen_memory(workload)
        return [
            compute.capacity_mark(item, "", memory, view.memory, view.takes_kv) for item in chosen
        ]
    except ProjectError as error:
        st.warning(as_text(str(error)))
        return [None] * len(chosen)


def set_names(sides: Sequence[Side]) -> list[str]:
    """Sets of either side, each once."""
    return list(dict.fromkeys(item.name for side in sides for item in side.sets))
