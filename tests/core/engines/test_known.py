"""A rule that was not read in the release asked for says so in every answer."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.check import check
from core.engines.export import export


@pytest.mark.parametrize(
    ("engine", "asked", "source"),
    [
        ("sglang", "0.5.3", "0.4.10"),
        ("sglang", "0.5.99", "0.5.23"),
        ("trtllm", "0.20", "a text of 2025"),
        ("trtllm", "1.1", "a text of 2025"),
        ("fastdeploy", "2.0", "before PR 2844"),
        ("lmdeploy", "0.9", "0.18.0"),
    ],
)
def test_borrowed_rules_are_told(engine: str, asked: str, source: str) -> None:
    """`known` is false, and plan, check and export name where the rule comes from."""
    found = ENGINES[engine]
    plan = found.plan(asked)
    assert not plan.known
    assert source in plan.notes[0]
    report = check(found, asked)
    note = next(finding for finding in report.findings if finding.id == "nearest-rule")
    assert source in note.text
    assert source in export(found, [1, 2], asked).warnings[0]
    assert source in found.default_sizes(asked).notes[0]


def test_rules_read_in_their_release_are_known() -> None:
    """Every other listed release answers for itself, without such a note."""
    for engine in ENGINES.values():
        for version in engine.versions:
            if version not in engine.assumed:
                assert engine.plan(version).known, (engine.id, version)
                assert engine.version_note(version) == ""
