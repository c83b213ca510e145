"""Records survive JSON exactly, and what is no such record is refused by field."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import RecordError
from core.records import FloatArray, IntArray, Origin
from core.records.plain import from_plain, to_plain


@dataclass(frozen=True)
class Inner:
    whole: int
    real: float = 0.5


@dataclass(frozen=True, eq=False)
class Sample:
    text: str
    flag: bool
    origin: Origin
    mode: Literal["a", "b"]
    counts: IntArray
    times: FloatArray
    inner: Inner
    several: tuple[Inner, ...] = ()
    perhaps: float | None = None
    numbers: tuple[int, ...] = field(default_factory=tuple)


GOOD: dict[str, Any] = {
    "text": "t",
    "flag": True,
    "origin": "fitted",
    "mode": "a",
    "counts": [1, 2],
    "times": [1, 2.5],
    "inner": {"whole": 3},
    "several": [{"whole": 1, "real": 2}],
    "perhaps": None,
    "numbers": [4],
}

reals = st.floats(allow_nan=False, allow_infinity=False)
wholes = st.integers(-(2**63), 2**63 - 1)
inners = st.builds(Inner, st.integers(), reals)
samples = st.builds(
    Sample,
    *(st.text(), st.booleans(), st.sampled_from(Origin), st.sampled_from("ab")),
    st.lists(wholes).map(lambda v: np.array(v, np.int64)),
    st.lists(reals).map(lambda v: np.array(v, np.float64)),
    *(inners, st.lists(inners).map(tuple), st.none() | reals),
    st.lists(st.integers()).map(tuple),
)


@given(samples)
def test_a_record_comes_back_exactly(sample: Sample):
    """Through the text of JSON: every field, every bit of every number."""
    text = json.dumps(to_plain(sample), allow_nan=False)
    back = from_plain(Sample, json.loads(text), "sample")
    assert to_plain(back) == to_plain(sample)
    assert back.counts.dtype == np.int64 and back.times.dtype == np.float64
    assert back.inner == sample.inner and back.several == sample.several
    assert type(back.origin) is Origin and type(back.numbers) is tuple


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("text", 1, "sample.text is 1; a text is expected"),
        ("flag", 1, "sample.flag is 1; true or false is expected"),
        ("origin", "guessed", r"sample.origin is 'guessed'; one of \['measured'"),
        ("origin", [], r"sample.origin is \[\]; one of"),
        ("mode", "c", r"sample.mode is 'c'; one of \['a', 'b'\] is expected"),
        ("counts", [1, 2.5], r"sample.counts\[1\] is 2.5; a whole number"),
        ("counts", [2**63], r"sample.counts\[0\] is 9223372036854775808; a number of 64 bits"),
        ("times", [float("nan")], r"sample.times\[0\] is nan; a number"),
        ("times", [10**400], r"sample.times\[0\] is 1000"),
        ("times", "12", "sample.times is '12'; a list"),
        ("inner", {"whole": True}, "sample.inner.whole is True; a whole number"),
        ("inner", {}, "sample.inner: field 'whole' is missing"),
        ("inner", 3, "sample.inner: an object was expected, got int"),
        ("several", [{"whole": 1, "x": 2}], r"sample.several\[0\]: unknown field 'x'"),
        ("perhaps", "none", "sample.perhaps is 'none'; a number"),
    ],
)
def test_what_is_no_such_record_is_named(name: str, value: Any, sentence: str):
    """Field, value and what was expected."""
    assert from_plain(Sample, GOOD, "sample").times.tolist() == [1.0, 2.5]
    with pytest.raises(RecordError, match=sentence):
        from_plain(Sample, {**GOOD, name: value}, "sample")


@pytest.mark.parametrize("value", [float("inf"), float("nan"), b"x", object(), 1 + 2j, {1: 2}])
def test_what_json_cannot_carry_is_refused(value: Any):
    """Nothing is rounded, pickled or made a text in silence."""
    with pytest.raises(RecordError, match="cannot be written as JSON"):
        to_plain(Inner(1, value))
