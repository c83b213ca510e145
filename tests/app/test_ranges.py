"""Numbers that a session brings are held against what their widgets take, before a browser is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from app.ranges import RANGES
from tests.app.apptest import open_app, to_page
from tests.conftest import ROOT


def remembered(name: str) -> Iterator[ast.Call]:
    """Calls of state.remember that stand inside a call of this kind of widget."""
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(f".{name}"):
                for inner in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
                    if ast.unparse(inner.func) == "state.remember":
                        yield inner


def test_every_number_is_held_against_its_range():
    """A browser cuts a number that its widget does not take, which would be saved as a change."""
    calls = [*remembered("number_input"), *remembered("slider")]
    without = [ast.unparse(c) for c in calls if "within" not in {k.arg for k in c.keywords}]
    assert len(calls) > 12 and without == []


@pytest.mark.usefixtures("own_database")
def test_ranges_are_those_of_the_widgets():
    """What pages read without drawing it keeps to the range of the widget that people type into."""
    at = open_app(example="1")
    held = at.session_state["bucketwise"]
    held.values |= {"arrive": "closed", "prefix_use": "typed"}
    seen = {}
    for page in ("workload.py", "buckets.py", "memory.py", "serve.py", "break_even.py"):
        to_page(at, page)
        for box in (*at.number_input, *at.slider):
            seen[box.key] = (box.min, box.max)
    shared = set(seen) & set(RANGES)
    assert len(shared) >= 24
    assert {key: seen[key] for key in shared} == {key: RANGES[key] for key in shared}
