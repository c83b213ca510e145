"""Compare vLLM's rules with files of answers of the engine's own code, release by release.

python scripts/compare_oracle.py                 every file in tests/data/engine_oracle
python scripts/compare_oracle.py FILE RELEASE    one file, e.g. of a release to be added
python scripts/compare_oracle.py --write         put the rates into docs/engines.md
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.core.engines.vllm_exceptions import reason  # noqa: E402
from tests.core.engines.vllm_oracle import FOLDER, Row, differences, read_rows, releases  # noqa: E402

DOC = ROOT / "docs" / "engines.md"
START, END = "<!-- vllm-oracle -->", "<!-- /vllm-oracle -->"
SHOWN = 5


@dataclass(frozen=True)
class Rate:
    """Rows of one release: all, those that agree, those excepted with a reason."""

    release: str
    rows: int
    agree: int
    excepted: int

    @property
    def cells(self) -> str:
        return f"| {self.release} | {self.rows} | {self.agree / self.rows:.1%} | {self.excepted} |"


def rate(release: str, rows: list[Row], show: bool = False) -> Rate:
    """Compares every row; with `show`, prints the first that differ without a reason."""
    agree, excepted, kinds = 0, 0, Counter[str]()
    for row in rows:
        found = differences(release, row)
        agree += not found
        if found and reason(release, row):
            excepted += 1
        elif found:
            kinds[", ".join(part.part for part in found)] += 1
            if show and kinds.total() <= SHOWN:
                print(row["settings"], *found, sep="\n    ")
    if kinds:
        print(f"{release}: {kinds.total()} rows differ: {dict(kinds)}", file=sys.stderr)
    return Rate(release, len(rows), agree, excepted)


def table(rates: list[Rate]) -> str:
    """Newest first, as the block of docs/engines.md."""
    head = "| Release | rows | agree | excepted, with a reason |\n| --- | --- | --- | --- |"
    return "\n".join([START, head, *(r.cells for r in reversed(rates)), END])


def write(text: str) -> None:
    """Replaces the block between the two marks."""
    before, _, rest = DOC.read_text("utf-8").partition(START)
    after = rest.partition(END)[2]
    DOC.write_text(before + text + after, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description="compare vLLM's rules with answers of its own code"
    )
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("release", nargs="?")
    parser.add_argument("--write", action="store_true", help="put the rates into docs/engines.md")
    args = parser.parse_args()
    if args.file and not args.release:
        parser.error("name the release beside its file")
    if args.file:
        rates = [rate(args.release, read_rows(args.file), show=True)]
    else:
        rates = [rate(name, read_rows(FOLDER / f"vllm-{name}.json.gz")) for name in releases()]
    print(table(rates))
    if args.write:
        write(table(rates))
    return int(any(r.agree + r.excepted < r.rows for r in rates))


if __name__ == "__main__":
    sys.exit(main())
