"""Of an uploaded file only numbers are stored, and words that are ours, not the file's."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from core.errors import ProjectError
from core.readers import read
from core.readers.reading import Reading
from core.store.kept_texts import NAME, is_ours, without_file_texts
from core.store.workload_account import account_of
from tests.conftest import DATA
from tests.core.store.session_cases import READING, readings, same

WORDS_A_FILE = 25
MAX_BYTES = 100_000
TEXTS = [
    path
    for folder in ("traces", "engine_logs", "engine_runs")
    for path in sorted((DATA / folder).iterdir())
    if path.suffix in (".csv", ".json", ".jsonl", ".log", ".txt", ".prom")
    and path.stat().st_size < MAX_BYTES
]


def test_by_hand():
    """Names of columns, models and parts go, also out of the warnings; the rest stays."""
    reading = replace(
        READING,
        columns={"prompt_tokens": "acme in", "output_tokens": "out"},
        warnings=("'acme in' holds no zeros; several models: fox-7b (3).", "Times are in seconds."),
        facts={
            "engine": "vLLM",
            "engine_version": "0.23.0rc1",
            "models": {"fox-7b": 3, "fox": 1},
            "parts": ["run of fox"],
            "capture_progress": {"Capturing CUDA graphs (FULL)": {"done": 3}, "fox": {"done": 1}},
            "kv_tokens": 1000,
            "nothing": {},
        },
    )
    kept = without_file_texts(reading)
    assert kept.columns == {} and kept.all_columns == ()
    assert kept.warnings == (
        f"'{NAME}' holds no zeros; several models: {NAME} (3).",
        "Times are in seconds.",
    )
    assert kept.facts == {
        "engine": "vLLM",
        "engine_version": "0.23.0rc1",
        "capture_progress": {"Capturing CUDA graphs (FULL)": {"done": 3}},
        "kv_tokens": 1000,
        "nothing": {},
    }
    assert kept.trace is reading.trace and kept.dropped == reading.dropped


@pytest.mark.parametrize(
    "text", ["sk-1234567890", "fox", "FULL_AND_FOX", "tokens\n", "ｔoken", "→"]
)
def test_words_that_are_not_ours(text: str):
    """Keys, names, control characters and look-alikes of our words are not kept."""
    assert not is_ours(text)


@given(readings())
def test_a_second_time_changes_nothing(reading: Reading):
    """What is stored is its own stored form; otherwise a digest would not hold."""
    once = without_file_texts(reading)
    assert same(without_file_texts(once), once)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_no_word_of_a_real_file_is_stored(path: Path):
    """Any word of a real file may be replaced by another: where the file can still be read, the
    other word is in nothing that is stored."""
    text = path.read_text()
    words = sorted(set(re.findall(r"[A-Za-z][A-Za-z0-9_]{2,}", text)))
    random.Random(path.name).shuffle(words)
    for word in words[:WORDS_A_FILE]:
        changed = re.sub(rf"(?<![A-Za-z0-9_]){word}(?![A-Za-z0-9_])", "Canaryxq", text)
        try:
            reading = read(changed.encode(), name="file")
        except ProjectError:
            continue
        assert "canaryxq" not in json.dumps(account_of(reading)).lower(), word
