"""The compiled scanner, and order and ties of arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.readers import read
from core.readers.common import blocks, scan, ties
from core.readers.common.clock import spread_ticks
from tests.core.readers.sample import TRACES

TABLES = ["azure_conv.csv", "azure_code.csv.gz", "vidur_splitwise_conv.csv", "vidur_arxiv.csv",
          "etalon_sharegpt8k.csv", "aibrix.csv", "plain_semicolon_bom_crlf.csv"]  # fmt: skip


def both_ways(data: bytes, monkeypatch: pytest.MonkeyPatch):
    """The Reading with and without the compiled scanner, in small blocks."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 512)
    readings = []
    for compiled in (True, False):
        monkeypatch.setattr(scan, "use_numba", lambda seen, answer=compiled: answer)
        readings.append(read(data))
    return readings


def assert_same(first, second) -> None:
    assert first.rows == second.rows and first.dropped == second.dropped
    assert first.dropped_examples == second.dropped_examples
    assert first.warnings == second.warnings and first.facts == second.facts
    assert np.array_equal(first.trace.prompt_tokens, second.trace.prompt_tokens)
    assert np.array_equal(first.trace.output_tokens, second.trace.output_tokens)
    if first.trace.arrival_s is not None:
        assert np.array_equal(first.trace.arrival_s, second.trace.arrival_s)


@pytest.mark.parametrize("name", TABLES)
def test_compiled_and_plain_parsers_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, reasons, lines and every number are the same either way."""
    assert_same(*both_ways((TRACES / name).read_bytes(), monkeypatch))


DIRTY = [
    "2023-11-16 18:15:46.68059,5,1", "2024-02-29T00:00:00,6,1", "2023-02-29 00:00:00,7,1",
    "1969-12-31 23:59:59.5,8,1", "2023-11-16 24:00:00,9,1", "2023-13-01 00:00:00,1,1",
    "2023-11-16 18:15:46Z,3,1", '"2023-11-16 18:15:46",4,1', "2023-11-16 18:15:46, 5,1",
    "2023-11-16 18:15:46,5,0", "2023-11-16 18:15:46,,1", "# 2023", "", "2023-11-16,5,1",
    "2023-11-16 18:15:46.123456789,5,1", "2023-11-16 18:15:46.1234567891,5,1",
    "2023-11-16 18:15:46,99999999999,1", "2023-11-16 18:15:46,5,1,1", "2023-11-16 18:15:46,1e2,1",
    "2000-02-29 12:00:00,5,1", "1900-02-29 12:00:00,5,1", "2100-03-01 00:00:00,5,2",
]  # fmt: skip


@given(st.lists(st.sampled_from(DIRTY), min_size=1, max_size=12), st.booleans())
def test_odd_rows_are_the_same_either_way(rows: list[str], crlf: bool) -> None:
    """Whatever the scanner does not know it leaves to the others, without a trace of itself."""
    good = "2023-11-16 18:15:45,5,5"
    end = "\r\n" if crlf else "\n"
    text = end.join(["time,prompt_tokens,output_tokens", good, good, *rows, good])
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_same(*both_ways(text.encode(), monkeypatch))


@given(
    st.lists(
        st.tuples(
            st.decimals(0, 10**9, places=3), st.integers(0, 10**7), st.integers(0, 10**7)
        ),
        min_size=1, max_size=30,
    )
)  # fmt: skip
def test_numbers_are_the_same_either_way(rows) -> None:  # type: ignore[no-untyped-def]
    """Decimal arrivals come out as the same floats."""
    lines = [f"{t},{p},{o}" for t, p, o in rows]
    text = "\n".join(["time_s,prompt_tokens,output_tokens", "0.5,1,1", *lines])
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_same(*both_ways(text.encode(), monkeypatch))


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 5))
def test_ties_by_brute_force(values: list[int], stretch: int) -> None:
    """Distinct arrivals, shared ones and backward steps, whatever the stretch."""
    arrival = np.array(values, float)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(ties, "STRETCH", stretch)
        backwards = sum(b < a for a, b in zip(values, values[1:], strict=False))
        assert ties.backward_steps(arrival) == backwards
        ordered = sorted(values)
        shared = sum(ordered.count(v) > 1 for v in ordered)
        assert ties.tie_counts(np.sort(arrival)) == (len(set(values)), shared)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_spreading_keeps_order_and_ends(values: list[int]) -> None:
    """Spread arrivals never fall, stay within their tick and keep the first one."""
    arrival = np.sort(np.array(values, float))
    spread = spread_ticks(arrival)
    assert (np.diff(spread) >= 0).all() and (spread >= arrival).all()
    later = np.unique(arrival)
    for value, moved in zip(arrival, spread, strict=True):
        after = later[later > value]
        assert len(after) == 0 or moved < after[0]
