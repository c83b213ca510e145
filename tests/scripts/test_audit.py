"""The audit of dependencies: a known vulnerability fails, a silent service is said."""

from __future__ import annotations

import json
import sys

import pytest

from scripts.audit import audit

CLEAN = {"name": "quiet", "version": "1.0", "vulns": []}
HOLED = {
    "name": "holed",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": [], "description": "bad"}],
}
UNKNOWN = {"name": "private", "skip_reason": "Dependency not found"}


@pytest.fixture(autouse=True)
def not_required(monkeypatch):
    monkeypatch.delenv("BUCKETWISE_REQUIRE_AUDIT", raising=False)


def stand_in(code: str) -> list[str]:
    """A command that answers as pip-audit does."""
    return [sys.executable, "-c", code]


def answering(*dependencies: dict, code: int = 0) -> list[str]:
    text = json.dumps({"dependencies": dependencies, "fixes": []})
    return stand_in(f"import sys; print({text!r}); sys.exit({code})")


def test_a_known_vulnerability_fails_and_is_named():
    """Package, release, advisory and the release that mends it; exit 1."""
    code, lines = audit(answering(CLEAN, HOLED, code=1))
    assert code == 1
    assert lines[0] == "holed 2.0: PYSEC-1, mended in 2.1"


def test_no_vulnerability_passes_and_counts():
    """What the service does not know is named, not counted as audited."""
    code, lines = audit(answering(CLEAN, UNKNOWN))
    assert code == 0
    assert lines == [
        "Audit: 1 packages, 0 known vulnerabilities. The service does not know 1: private."
    ]


def test_a_service_that_knows_nothing_is_no_clean_bill():
    """pip-audit ends well when every package was skipped; that nothing was audited is said."""
    code, lines = audit(answering(UNKNOWN, UNKNOWN))
    assert code == 0
    assert lines[0].startswith("Audit NOT done") and "none of the 2" in lines[0]


OUT_OF_REACH = (
    "import sys; sys.stderr.write('requests.exceptions.ConnectionError: no route\\n'); sys.exit(1)"
)


def test_an_unreachable_service_is_said_and_passes():
    """No connection: one clear line, exit 0."""
    code, lines = audit(stand_in(OUT_OF_REACH))
    assert (code, len(lines)) == (0, 1)
    assert "could not be asked" in lines[0] and "no route" in lines[0]


def test_a_service_that_hangs_is_left():
    """After the time limit the same."""
    code, lines = audit(stand_in("import time; time.sleep(60)"), timeout_s=0.5)
    assert code == 0 and "no answer within 0.5 s" in lines[0]


def test_an_audit_can_be_required(monkeypatch):
    """Where the service is known to be in reach, silence is a failure."""
    monkeypatch.setenv("BUCKETWISE_REQUIRE_AUDIT", "1")
    assert audit(stand_in(OUT_OF_REACH))[0] == 1


def test_a_broken_pip_audit_fails():
    """Not installed, or a wrong argument: that is our own mistake."""
    code, lines = audit(stand_in("import sys; sys.exit('No module named pip_audit')"))
    assert code == 1 and "No module named pip_audit" in lines[0]
