"""How an answer follows: assumptions, steps with units, and the sentence they lead to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

Value = float | int | str | bool | None | tuple[float, ...]


@dataclass(frozen=True)
class Step:
    """One computed value; `text` says how it came about."""

    text: str
    value: Value
    unit: str = ""


@dataclass(frozen=True)
class Derivation:
    """A lesson's reasoning; every value in it was computed by the lesson."""

    name: str
    question: str
    assumptions: tuple[str, ...]
    steps: tuple[Step, ...]
    answer: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def number_text(value: Value) -> str:
    """1234.5 -> '1,234.5'; None -> 'never'; True -> 'yes'."""
    if value is None:
        return "never"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(number_text(item) for item in value)
    return value if isinstance(value, str) else f"{value:,.6g}"
