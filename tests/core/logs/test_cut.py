"""A log that was cut anywhere states nothing that the whole log does not state there."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines.check import check
from core.logs.record import EngineLog
from core.not_faster.gather import part_of
from core.readers import read
from tests.core.logs.test_prefix import stated
from tests.core.logs.texts import EVERY

FALSE = ("ran out of memory", "failed", "stopped", "ran eager")
PROGRESS = ("capture_progress", "capture_free_gib", "capture_done", "capture_stopped_at")
PROGRESS += ("capture_total", "capture_taken_gib", "captures")


@cache
def after_lines(name: str, count: int) -> EngineLog:
    """What the first lines state, whole."""
    return stated(name, "".join(f"{line}\n" for line in EVERY[name].split("\n")[:count]))


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_cut_states_nothing_false(name: str, data: st.DataObject) -> None:
    """Each value is that of the whole lines before the cut, or of the line in which it is."""
    text = EVERY[name]
    at = data.draw(st.integers(0, len(text)))
    log, whole = stated(name, text[:at]), stated(name, text)
    lines = text[:at].count("\n")
    near = [after_lines(name, lines), after_lines(name, lines + 1)]
    for key, value in log.flat().items():
        if key not in PROGRESS:
            assert any(other.flat().get(key) == value for other in near), (key, value)
    assert log.off is None or whole.off is not None
    order, all_of_it = log.graphs_first, whole.graphs_first
    assert order is None or (all_of_it is not None and order.value == all_of_it.value)
    if whole.off is None:
        assert not [w for w in log.warnings if any(words in w for words in FALSE)]


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_no_answer_from_a_cut_log_is_false(name: str, data: st.DataObject) -> None:
    """Neither the reader, nor the check, nor the not-faster answer says more than the log does."""
    text = EVERY[name]
    engine = ENGINES[name.split()[0]]
    at = data.draw(st.integers(len(text) // 8, len(text)))
    cut, whole = text[:at], stated(name, text)
    if engine.log_form is None or not engine.log_form.shows(cut) or whole.off is not None:
        return
    part = part_of(read(cut.encode(), name="engine.log"), "engine.log")
    if part.facts is not None:
        assert part.facts.off is None and part.facts.stopped is None
    findings = check(engine, text=cut).findings
    assert not [f for f in findings if f.id == "graphs-off"]
    first = whole.graphs_first
    for finding in findings:
        if first is not None and "In this log graphs were captured" in finding.text:
            assert f"captured {'before' if first.value else 'after'} the KV" in finding.text
