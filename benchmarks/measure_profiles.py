"""Measure specs of benchmarks/specs on the card of this machine and keep them as shipped profiles.

python -m benchmarks.measure_profiles h200 llama-8b-8k qwen-0.5b-8k qwen-0.5b-prefill

writes core/profiles/h200-NAME.json for each, prefill chunks to core/profiles/more. It needs torch,
Triton and numpy, and neither queue nor database.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ship_profile import main as ship
from core.errors import ProjectError
from core.records import MeasureSpec, SizeUnit, spec_from_json, to_json_dict
from gpu_worker.measure import measure_all, row_text

ROOT = Path(__file__).resolve().parents[1]
SPECS, PROFILES = ROOT / "benchmarks" / "specs", ROOT / "core" / "profiles"


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0; 2 with one sentence when a spec cannot be read or measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measure_profiles")
    parser.add_argument("prefix", help="the card's name in the profiles' names, e.g. h200")
    parser.add_argument("names", nargs="+", metavar="NAME", help="specs, without .json")
    parser.add_argument("--specs", type=Path, default=SPECS, help="their folder")
    parser.add_argument("--out", type=Path, default=PROFILES, help="where profiles go")
    args = parser.parse_args(argv)
    try:
        for name in args.names:
            path = args.specs / f"{name}.json"
            spec = spec_from_json(json.loads(path.read_text()), str(path))
            folder = args.out if spec.unit is SizeUnit.REQUESTS else args.out / "more"
            measure(spec, folder / f"{args.prefix}-{name}.json")
    except (ProjectError, OSError, ValueError) as error:
        print(f"python -m benchmarks.measure_profiles: {error}", file=sys.stderr)
        return 2
    return 0


def measure(spec: MeasureSpec, target: Path) -> None:
    """One spec; a failed row is printed and stays in the profile, for the tests to refuse."""
    print(f"{target.stem}: {len(spec.sizes)} sizes at {spec.context_tokens} tokens", flush=True)
    profile = measure_all(spec, lambda row: print(row_text(row), flush=True))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "profile.json"
        raw.write_text(json.dumps(to_json_dict(profile)))
        ship(raw, target)


if __name__ == "__main__":
    sys.exit(main())
