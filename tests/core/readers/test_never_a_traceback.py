"""Whatever bytes come in: a Reading that adds up, or one sentence."""

from __future__ import annotations

import gzip
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.commands.import_ import summary
from core.errors import ProjectError
from core.readers import read, sniff
from tests.core.readers.sample import TRACES

SAMPLES = sorted(p for p in TRACES.iterdir() if p.is_file() and p.suffix not in (".md", ".py"))
SEEDS = 12
MAX_BYTES = 6000


def read_or_sentence(data: bytes) -> None:
    """Reads; a refusal must be one line, a Reading must add up."""
    try:
        reading = read(data, name="upload")
    except ProjectError as error:
        assert str(error) and "\n" not in str(error)
        assert len(str(error)) < 700
        return
    assert reading.rows == reading.kept + sum(reading.dropped.values())
    assert all(0 < len(lines) <= 5 for lines in reading.dropped_examples.values())
    summary(reading)


@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    """Random bytes never give anything but a Reading or a ProjectError."""
    read_or_sentence(data)


@given(
    st.lists(
        st.lists(
            st.one_of(
                st.integers(-5, 10**19).map(str),
                st.floats(allow_nan=True).map(str),
                st.text(max_size=6),
                st.sampled_from(["", "NaN", "2023-11-16 18:15:46", '"', '"1,098"', "1e400"]),
            ),
            max_size=5,
        ),
        max_size=8,
    ),
    st.sampled_from(
        ["prompt_tokens,output_tokens,time", "length,count", "batch,count", "a,b,c", "", "#"]
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_random_tables(rows: list[list[str]], header: str, delimiter: str) -> None:
    """Tables of any cells never give anything but a Reading or a ProjectError."""
    lines = [header.replace(",", delimiter), *(delimiter.join(row) for row in rows)]
    read_or_sentence("\n".join(lines).encode("utf-8", "replace"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_cut_and_changed_samples(path) -> None:
    """Each sample, cut anywhere or with changed bytes, is read or refused in a sentence."""
    whole = path.read_bytes()
    rng = random.Random(path.name)
    for _ in range(SEEDS):
        start = rng.randrange(max(1, len(whole) - MAX_BYTES)) if rng.random() < 0.5 else 0
        data = bytearray(whole[start : start + rng.randrange(1, MAX_BYTES)])
        for _ in range(rng.choice((0, 1, 3, 20))):
            place = rng.randrange(len(data))
            action = rng.randrange(3)
            if action == 0:
                data[place] = rng.randrange(256)
            elif action == 1:
                data[place:place] = rng.choice(
                    (b'"', b"\n", b",", b"[", b"{", b"\0", b"-", b"9" * 30)
                )
            else:
                del data[place : place + rng.randrange(1, 40)]
            if not data:
                data = bytearray(b"\n")
        read_or_sentence(bytes(data))


@settings(max_examples=40)
@given(st.binary(max_size=200), st.integers(0, 60))
def test_damaged_gzip(data: bytes, cut: int) -> None:
    """A packed file cut short or damaged is a sentence."""
    packed = gzip.compress(b"prompt_tokens,output_tokens\n1,2\n" + data, mtime=0)
    read_or_sentence(packed[: len(packed) - cut] + data[:5])


def test_every_sample_has_a_named_format() -> None:
    """sniff names the format of every sample."""
    from core.readers import FORMATS

    for path in SAMPLES:
        if not path.name.startswith("expected"):
            assert sniff(path) in FORMATS
