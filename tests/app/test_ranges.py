"""Numbers that a session brings are held against what their widgets take, before a browser is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

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
