"""Slices of real files and what is right about them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from core.commands.import_ import summary
from core.readers import Reading

TRACES = Path(__file__).resolve().parents[2] / "data" / "traces"


@cache
def expected() -> dict[str, Any]:
    return json.loads((TRACES / "expected.json").read_text())


@cache
def expected_tools() -> dict[str, Any]:
    return json.loads((TRACES / "expected_tools.json").read_text())


def check_lengths(reading: Reading, facts: dict[str, Any]) -> None:
    """Rows, percentiles, totals and duration agree with the figures computed apart."""
    result = summary(reading)
    assert reading.rows == facts["rows"]
    assert reading.kept == facts["kept"]
    assert reading.rows == reading.kept + sum(reading.dropped.values())
    for what in ("prompt", "output"):
        for key, value in facts.get(what, {}).items():
            assert abs(result[what][key] - value) < 1e-6, (what, key)
    if "duration_s" in facts:
        assert abs(result["duration_s"] - facts["duration_s"]) < 2e-6
