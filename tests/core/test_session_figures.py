"""Two sessions' numbers side by side, by hand and for any sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.session_figures import Figure, SetFigures, Unit, side_by_side

FIRST = SetFigures("Mine", 4, 0.19, 1.0, 900.0, 2.0**30, 1000, 24)


def test_by_hand():
    """Rows of one set stand together; the difference is the second less the first."""
    second = SetFigures("Mine", 5, 0.055, 1.0, 880.5, 2.0**30, None, 20)
    other = SetFigures("Other", 1, None, 0.5, None, None, None, None)
    rows = side_by_side(FIRST.figures, (*other.figures, *second.figures))
    mine = {row.what: row for row in rows if row.about == "Mine"}
    assert [row.about for row in rows] == ["Mine"] * 7 + ["Other"] * 7
    assert mine["graphs"].difference == 1 and mine["graphs"].unit is Unit.COUNT
    assert round(mine["waste"].difference or 0, 6) == -0.135
    assert mine["mean step"].difference == -19.5
    assert mine["coverage"].is_same and mine["graph memory"].difference == 0
    assert mine["KV capacity"].difference is None and not mine["KV capacity"].is_same
    assert mine["concurrent requests"].difference == -4
    shares = [row for row in rows if row.about == "Other" and row.what == "coverage"]
    assert (shares[0].first, shares[0].second, shares[0].difference) == (None, 0.5, None)


FIGURES = st.lists(
    st.builds(
        Figure,
        st.sampled_from("abc"),
        st.sampled_from(["waste", "graphs"]),
        st.just(Unit.COUNT),
        st.none() | st.integers(-9, 9).map(float),
    ),
    unique_by=lambda item: (item.about, item.what),
    max_size=6,
)


@given(FIGURES, FIGURES)
def test_nothing_is_left_out_and_turning_around_turns_the_sign(first, second):
    """Every number of either session is in exactly one row; exchanged, differences change sign."""
    rows = side_by_side(first, second)
    for side, name in ((first, "first"), (second, "second")):
        for item in side:
            (row,) = [r for r in rows if (r.about, r.what) == (item.about, item.what)]
            assert getattr(row, name) == item.value
    back = {(r.about, r.what): r for r in side_by_side(second, first)}
    assert len(back) == len(rows)
    for row in rows:
        turned = back[row.about, row.what].difference
        assert turned is None if row.difference is None else turned == -row.difference
    assert all(row.is_same for row in side_by_side(first, first))
