"""Which engine the user runs, as one frozen choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EngineChoice:
    """An engine as the user runs it. settings complete and override the text."""

    engine: str
    version: str | None
    text: str | None
    settings: Mapping[str, Any]
