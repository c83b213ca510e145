"""Profiles measured on real cards, shipped so that a user without one sees real curves."""

from __future__ import annotations

import json
from pathlib import Path

from core.records import Profile, profile_from_json

FOLDER = Path(__file__).resolve().parent


def shipped_profiles() -> dict[str, Profile]:
    """Every profile of this folder by its file's name. Raises RecordError."""
    return {
        path.stem: profile_from_json(json.loads(path.read_text("utf-8")), path.name)
        for path in sorted(FOLDER.glob("*.json"))
    }
