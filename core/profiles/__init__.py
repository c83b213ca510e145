"""Profiles measured on real cards, shipped so that a machine without one sees real curves.

benchmarks/ship_profile.py writes them; docs/measurements.md tells how each was measured.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from core.records import Profile, profile_from_json

FOLDER = Path(__file__).resolve().parent


@cache
def _read(path: Path) -> Profile:
    return profile_from_json(json.loads(path.read_text(encoding="utf-8")), path.name)


def shipped_profiles() -> dict[str, Profile]:
    """Decode steps by batch size, the profile's name first, e.g. "h200-llama-8b".

    Raises RecordError, naming the file, if one does not follow the schema.
    """
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.json"))}


def comparison_profiles() -> dict[str, Profile]:
    """What is no decode curve by batch size: pool policies of one list, prefill chunks by tokens.

    Few samples a row where memory is the subject. Raises RecordError.
    """
    return {path.stem: _read(path) for path in sorted((FOLDER / "more").glob("*.json"))}
