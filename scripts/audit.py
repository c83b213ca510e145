"""Ask the advisory service whether an installed package has a known vulnerability (pip-audit).

python scripts/audit.py

Exit 1: a vulnerability is known, or pip-audit itself failed. Exit 0: none is known, or the service
could not be asked, which is printed. With BUCKETWISE_REQUIRE_AUDIT set that is a failure too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

COMMAND = (
    *(sys.executable, "-m", "pip_audit", "--local", "--format", "json"),
    *("--progress-spinner", "off", "--timeout", "10"),
)
TIMEOUT_S = 240
# pip-audit ends with a traceback where its service is out of reach; these words are its last lines.
OUT_OF_REACH = ("ConnectionError", "Timeout", "Could not connect", "ServiceError", "Max retries")


def audit(command: Sequence[str] = COMMAND, timeout_s: float = TIMEOUT_S) -> tuple[int, list[str]]:
    """Run pip-audit; the exit code and the lines to print."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return _not_asked(f"no answer within {timeout_s:g} s")
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (json.JSONDecodeError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        if any(word in done.stderr for word in OUT_OF_REACH):
            return _not_asked(last[:200])
        return 1, [f"Audit failed: pip-audit ended with {done.returncode}: {last}"]
    return verdict(dependencies)


def verdict(dependencies: Sequence[dict[str, Any]]) -> tuple[int, list[str]]:
    """What pip-audit's list of packages says.

    A package that the service does not know is "skipped", and pip-audit still ends well: where all
    are skipped, nothing was audited.
    """
    skipped = [item["name"] for item in dependencies if "skip_reason" in item]
    audited = len(dependencies) - len(skipped)
    if not audited:
        return _not_asked(f"it knows none of the {len(skipped)} installed packages")
    lines = [
        f"{item['name']} {item['version']}: {vulnerability['id']}, mended in "
        f"{', '.join(vulnerability.get('fix_versions', ())) or 'no release yet'}"
        for item in dependencies
        for vulnerability in item.get("vulns", ())
    ]
    summary = f"Audit: {audited} packages, {len(lines)} known vulnerabilities."
    if skipped:
        summary += f" The service does not know {len(skipped)}: {', '.join(skipped)}."
    return (1 if lines else 0), [*lines, summary]


def _not_asked(reason: str) -> tuple[int, list[str]]:
    line = f"Audit NOT done: the advisory service could not be asked ({reason})."
    if os.environ.get("BUCKETWISE_REQUIRE_AUDIT"):
        return 1, [line, "BUCKETWISE_REQUIRE_AUDIT is set, so this is a failure."]
    return 0, [line]


def main() -> int:
    code, lines = audit()
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
