"""The right values of tests/data/cases, by id."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tests.conftest import DATA


@cache
def _by_id() -> dict[str, dict[str, Any]]:
    cases = json.loads((DATA / "cases" / "cases.json").read_text("utf-8"))
    return {case["id"]: case for case in cases}


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Input and expected answer of a case."""
    found = _by_id()[name]
    return found["input"], found["expect"]


def histogram_counts(data: dict[str, int]) -> dict[int, int]:
    """{size: steps} with whole sizes, as JSON keys are text."""
    return {int(size): steps for size, steps in data.items()}
