"""Mooncake's JSON Lines."""

from __future__ import annotations

import json

import pytest

from core.errors import FileContentError
from core.readers import ReadOptions, read
from tests.core.readers.sample import TRACES, check_lengths, expected


@pytest.mark.parametrize("name", ["mooncake_conversation.jsonl", "mooncake_synthetic.jsonl.gz"])
def test_real_slices(name: str) -> None:
    """Lengths, arrivals in ms and prefix hits are those computed apart from the readers."""
    reading, facts = read(TRACES / name), expected()[name]
    check_lengths(reading, facts)
    assert reading.format == "mooncake-jsonl"
    assert reading.facts["distinct_arrivals"] == facts["distinct_arrivals"]
    assert reading.facts["prefix_block_hits"] == facts["prefix_block_hits"]
    assert reading.trace is not None and reading.trace.prefix_hit_tokens is not None
    assert int(reading.trace.prefix_hit_tokens.sum()) == facts["prefix_hit_tokens"]


def test_conversation_says_its_ticks() -> None:
    """Arrivals recorded on 3 s ticks are said to be an artefact, and milliseconds are named."""
    warnings = " ".join(read(TRACES / "mooncake_conversation.jsonl").warnings)
    assert "ticks of about 3 s" in warnings
    assert "milliseconds" in warnings


def rows(*items: dict) -> bytes:
    return "\n".join(json.dumps(item) for item in items).encode()


def test_prefix_hits_by_hand() -> None:
    """Only a leading run of known blocks is a hit, and never more than the prompt."""
    data = rows(
        {"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 3]},
        {"timestamp": 10, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 9]},
        {"timestamp": 20, "input_length": 1500, "output_length": 5, "hash_ids": [7, 2, 3]},
        {"timestamp": 30, "input_length": 1030, "output_length": 5, "hash_ids": [1, 2, 3]},
    )
    trace = read(data).trace
    assert trace is not None and trace.prefix_hit_tokens is not None
    # 0; blocks 1,2 = 1024; block 7 is new: 0; 3 blocks = 1536, but the prompt has 1030
    assert trace.prefix_hit_tokens.tolist() == [0, 1024, 0, 1030]
    assert trace.arrival_s is not None and trace.arrival_s.tolist() == [0.0, 0.01, 0.02, 0.03]


def test_ids_that_do_not_fit_give_no_prefix_hits() -> None:
    """Ids of another block size are not turned into tokens."""
    data = rows(
        *({"timestamp": i, "input_length": 100, "output_length": 1, "hash_ids": [1, 2, 3]}
          for i in range(3))
    )  # fmt: skip
    reading = read(data)
    assert reading.trace is not None and reading.trace.prefix_hit_tokens is None
    assert any("does not fit blocks of 512" in warning for warning in reading.warnings)


def test_replay_form_with_delays_and_texts() -> None:
    """Later turns with only a delay, and prompts given as text, are counted and left out."""
    data = rows(
        {"session_id": "a", "timestamp": 0, "input_length": 10, "output_length": 5},
        {"session_id": "a", "delay": 50, "input_length": 12, "output_length": 5},
        {"session_id": "b", "timestamp": 7, "text_input": "very private", "output_length": 5},
    )
    reading = read(data)
    assert reading.kept == 1 and reading.rows == 3
    assert sorted(reading.dropped) == [
        "later turn with only a delay: its arrival hangs on the turn before",
        "prompt given as text, without its length",
    ]
    assert "very private" not in repr(reading)


def test_damaged_lines_are_counted() -> None:
    """A cut line, a list, and a failed request are named with their lines."""
    good = {"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": [1]}
    data = rows(good, good, {**good, "output_length": 0}) + b"\n[1]\n" + b'{"timestamp": 3, "inp'
    reading = read(data)
    assert reading.dropped == {
        "output tokens is 0 (failed or rejected request)": 1,
        "item is not an object": 1,
        "line is not JSON (cut or damaged)": 1,
    }
    assert reading.dropped_examples["line is not JSON (cut or damaged)"] == (5,)


def test_seconds_in_disguise() -> None:
    """Fractions that would be an absurd rate in milliseconds are seconds."""
    data = rows(
        *({"timestamp": i * 0.01, "input_length": 5, "output_length": 5, "hash_ids": [1]}
          for i in range(40))
    )  # fmt: skip
    assert read(data).trace.duration_s == pytest.approx(0.39)  # type: ignore[union-attr]


def test_user_chooses_the_unit() -> None:
    """The time unit can be changed by the user."""
    data = rows(
        *({"timestamp": i, "input_length": 5, "output_length": 5, "hash_ids": [1]}
          for i in range(3))
    )  # fmt: skip
    seconds = read(data, options=ReadOptions(time_unit="s")).trace
    assert seconds is not None and seconds.duration_s == 2.0


def test_nothing_usable() -> None:
    """A trace of failed requests alone is refused in a sentence."""
    bad = {"timestamp": 0, "input_length": 5, "output_length": 0, "hash_ids": [1]}
    with pytest.raises(FileContentError, match="no row can be used"):
        read(rows(bad, bad))
