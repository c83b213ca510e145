"""Profiles measured on real cards, shipped so that a machine without one sees real curves."""

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
    """Every shipped profile by its name, e.g. "h200-llama-8b".

    Raises RecordError, naming the file, if one does not follow the schema.
    """
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.json"))}
