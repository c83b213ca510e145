"""Whether slow decoding keeps itself slow."""

from __future__ import annotations

import pytest

from core.choice.feedback import steady_states
from core.errors import SettingError
from tests.core.cases import case


def test_two_stable_states():
    """20 a second: 18 run on graphs (0.9 s), 72 eager (3.6 s), the largest graph holds 32: both
    states keep themselves."""
    given, expect = case("D-FEEDBACK-01")
    found = steady_states(**given)
    assert found.graph_batch == pytest.approx(expect["graph_batch"])
    assert found.eager_batch == pytest.approx(expect["eager_batch"])
    assert found.graph_stable == expect["graph_state_stable"]
    assert found.eager_stable == expect["eager_state_stable"]
    assert found.verdict == expect["verdict"] and "burst" in found.summary


@pytest.mark.parametrize(
    ("graph", "eager", "verdict"),
    [(0.9, 1.0, "graphs"), (2.0, 3.0, "eager"), (2.0, 1.0, "unstable")],
)
def test_the_other_verdicts(graph, eager, verdict):
    """At 20 a second and a largest graph of 32: 18 and 20 fit; 40 and 60 do not; 40 would leave the
    graphs and 20 return to them."""
    found = steady_states(
        arrival_per_s=20, residence_graph_s=graph, residence_eager_s=eager, largest_graph=32
    )
    assert found.verdict == verdict and found.summary


def test_nothing_below_zero():
    """A rate of 0 sustains nothing and is refused."""
    with pytest.raises(SettingError, match="arrival_per_s is 0"):
        steady_states(arrival_per_s=0, residence_graph_s=1, residence_eager_s=1, largest_graph=1)
