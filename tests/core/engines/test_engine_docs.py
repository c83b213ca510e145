"""docs/engines.md names every engine, release and finding."""

from __future__ import annotations

import re
from pathlib import Path

import core.engines
from core.engines import ENGINES
from tests.conftest import ROOT

DOC = (ROOT / "docs" / "engines.md").read_text("utf-8")
SOURCES = Path(core.engines.__file__).parent.glob("*.py")


def test_engines_and_releases_are_documented() -> None:
    """Each label and each release that is known."""
    for engine in ENGINES.values():
        assert engine.label in DOC
        for version in engine.versions:
            assert version in DOC, (engine.label, version)


def test_findings_are_documented() -> None:
    """Each id that a finding can have."""
    ids = set()
    for path in SOURCES:
        ids |= set(re.findall(r"\bFinding\(\s*\"([a-z0-9-]+)\"", path.read_text("utf-8")))
    assert len(ids) > 20
    missing = {name for name in ids if f"`{name}`" not in DOC}
    assert not missing
