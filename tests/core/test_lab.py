"""The lessons: each value by hand, and each hazard shown by running it."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.__main__ import main
from core.errors import SettingError
from core.lab import answer, derivations, last_line
from core.lab.card import Card
from core.lab.contract import what_a_graph_keeps
from core.lab.derivation import number_text
from core.lab.failing_steps import HAZARDS
from core.lab.failures import attempt
from core.lab.payback import StepModel, payback
from core.lab.rebound import rebound_input
from core.lab.shape_buckets import count_slots
from core.lab.side_effects import frozen_branch, side_effects
from core.lab.static_input import two_replays, warm_up_outcomes
from core.lab.tensor import tensor
from tests.conftest import ROOT
from tests.core.cases import case


def test_the_command_prints_the_four_numbers(capsys):
    """The last line, and nothing else."""
    assert main(["lab"]) == 0
    assert capsys.readouterr().out == "alias=17; clone=10; slots=21; break_even=301\n"


def test_the_command_gives_each_step_as_json(capsys):
    """Every lesson has a question, assumptions, steps with units and an answer."""
    assert main(["lab", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["alias"], found["clone"], found["slots"]) == (17, 10, 21)
    assert found["break_even"] == 301
    assert len(found["lessons"]) >= 12
    for lesson in found["lessons"]:
        assert lesson["question"] and lesson["assumptions"] and lesson["answer"]
        assert lesson["steps"] and all({"text", "value", "unit"} <= set(s) for s in lesson["steps"])


def test_the_line_is_computed(monkeypatch):
    """With another step, other lists and another cost the line changes."""
    import core.lab as lab

    monkeypatch.setattr(lab, "two_replays", lambda: two_replays(5.0, 6.0))
    monkeypatch.setattr(lab, "count_slots", lambda *a, **k: count_slots((1, 3, 5, 8), (1, 4, 8)))
    monkeypatch.setattr(lab, "payback", lambda *a: payback(StepModel(capture_us=100.0)))
    # 5 * 5 + 1 = 26, 6 * 6 + 1 = 37; 1 + 4 + 8 + 8 = 21 still; 100 / 2 = 50
    assert last_line(answer()) == "alias=37; clone=26; slots=21; break_even=51"


def test_the_lab_needs_numpy_only():
    """A fresh interpreter that imports the lab has loaded no other library."""
    code = "import sys, core.lab; print(*sorted(m for m in sys.modules if '.' not in m))"
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(out.stdout.split())
    assert "numpy" in loaded
    assert not loaded & {"torch", "pandas", "numba", "streamlit", "plotly", "sqlalchemy", "scipy"}


def test_no_lesson_has_an_empty_value():
    """Values are finite numbers, words, yes or no, or None for never."""
    for derivation in derivations():
        for step in derivation.steps:
            numbers = step.value if isinstance(step.value, tuple) else (step.value,)
            assert all(math.isfinite(v) for v in numbers if isinstance(v, float)), step


def test_number_text():
    """How values are printed."""
    texts = [number_text(v) for v in (1234.5, None, True, (1.0, 2.0), "x")]
    assert texts == ["1,234.5", "never", "yes", "1, 2", "x"]


# What a graph keeps ----------------------------------------------------------------------------


def test_a_graph_keeps_parameters_and_addresses():
    """x 2 -> 5 is followed (3 * 5 + 1 = 16); scale 3 -> 10 is not (eager 51)."""
    kept = what_a_graph_keeps()
    assert [(r.eager, r.replay) for r in kept.rounds] == [(7, 7), (16, 16), (51, 16)]
    multiply, add = kept.nodes
    assert multiply.parameters == (3.0,) and multiply.reads == (kept.input_address,)
    assert add.reads == multiply.writes and kept.edges == ((0, 1),)
    assert (kept.eager_launches, kept.replay_launches) == (2, 1)


# Static input ----------------------------------------------------------------------------------


def test_two_replays():
    """3 * 3 + 1 = 10 is cloned; 4 * 4 + 1 = 17 lies where the alias looks."""
    found = two_replays()
    assert (found.alias, found.clone) == (17.0, 10.0)
    assert found.output_address != found.clone_address


@given(st.integers(-20, 20), st.integers(-20, 20))
@settings(max_examples=30, deadline=None)
def test_two_replays_of_any_inputs(first, second):
    """The alias always shows the second input, the clone the first."""
    found = two_replays(float(first), float(second))
    assert (found.alias, found.clone) == (second**2 + 1, first**2 + 1)


def test_output_aliasing_case():
    """y = 10 x, read after two replays: the alias has the second result, a clone the first."""
    _, expect = case("D-CORR-03")
    card = Card()
    x = tensor(card, [0.0])
    with card.capture() as graph:
        y = x * 10.0
    x.fill_(1.0)
    graph.replay()
    clone = y.clone()
    x.fill_(2.0)
    graph.replay()
    assert (y.item(), clone.item()) == (expect["read"], expect["with_clone"])


@pytest.mark.parametrize(
    ("before", "after", "values"),
    [
        (True, True, {10.0}),
        (False, True, {10.0, 1.0}),
        (True, False, {10.0, 17.0}),
    ],
)
def test_a_warm_up_needs_both_waits(before, after, values):
    """Without the first it may read x = 0 (1); without the second x may be 4 already (17)."""
    found = warm_up_outcomes(before, after)
    assert set(found.outcomes) == values
    assert found.safe == (before and after)


def test_a_warm_up_with_no_wait_may_give_anything():
    """All three values, and a mixture of inputs where the two factors differ would show too."""
    found = warm_up_outcomes(False, False)
    assert {1.0, 10.0, 17.0} <= set(found.outcomes) and not found.safe


# Rebound, side effects, branches ---------------------------------------------------------------


def test_the_rebound_variable_reads_zero():
    """The replay reads 0 and gives 0 * 0 + 1; copy_ mends it."""
    found = rebound_input(3.0)
    assert (found.read_rebound, found.rebound, found.mended, found.eager) == (0, 1, 10, 10)
    assert found.graph_address != found.name_address


def test_a_python_counter_stands_still():
    """Warm-ups and one capture count; replays do not. A counter on the card counts replays."""
    given_, expect = case("D-CORR-05")
    found = side_effects(given_["warmups"], given_["replays"])
    assert (found.counter, found.expected) == (expect["counter"], expect["expected_by_user"])
    assert len(found.printed) == found.appended == expect["counter"]
    assert found.device_counter == given_["warmups"] + given_["replays"]


def test_side_effects_refuse_negative_counts():
    """Fewer than no warm-ups or replays is bad input."""
    with pytest.raises(SettingError):
        side_effects(-1, 3)


def test_the_branch_of_the_capture_is_frozen():
    """x = 5: captured with True gives 10 always; a graph per branch follows the flag."""
    rounds = frozen_branch((True, False, True)).rounds
    assert [r.frozen for r in rounds] == [10, 10, 10]
    assert [r.eager for r in rounds] == [r.per_branch for r in rounds] == [10, -5, 10]
    assert [r.frozen for r in frozen_branch((True, False), captured_flag=False).rounds] == [-5, -5]


# Capture failures ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "klass", "code", "line"),
    [
        (".item()", "host_sync", 900, ".item()"),
        ("nonzero()", "data_dependent_shape", 900, ".nonzero()"),
        (".cpu()", "host_sync", 900, ".cpu()"),
        ("a host tensor", "h2d_copy", None, "tensor(x.card"),
        ("synchronize()", "host_sync", 900, "synchronize()"),
        ("an unjoined stream", "unjoined", 904, "card.capture()"),
    ],
)
def test_each_failure_is_real_and_diagnosed(name, klass, code, line):
    """The broken step raises, the doctor names it with its line, and the mended one replays what
    the broken one gives eagerly, at an input that the capture did not see."""
    found = attempt(name)
    assert (found.first.klass, found.first.code) == (klass, code)
    assert found.first.site is not None and line in found.first.site.code
    assert found.eager == found.replay
    assert "Traceback" in found.log and str(ROOT) not in found.log


def test_every_hazard_is_tested_and_unknown_ones_are_refused():
    """Six hazards, of both kinds; another name is bad input."""
    assert len(HAZARDS) == 6 and {h.waits for h in HAZARDS} == {True, False}
    with pytest.raises(SettingError, match="known are"):
        attempt("nothing")
