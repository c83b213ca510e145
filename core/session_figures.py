"""What a session comes to, in numbers, and two sessions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """What a number counts; a difference of shares is in percentage points."""

    COUNT = "count"
    SHARE = "share"
    US = "us"
    BYTES = "bytes"
    TOKENS = "tokens"


@dataclass(frozen=True)
class Figure:
    """One number. value : None where it is not known; about : a bucket set, or TRAFFIC."""

    about: str
    what: str
    unit: Unit
    value: float | None


TRAFFIC = "traffic"


@dataclass(frozen=True)
class SetFigures:
    """What one bucket set comes to.

    waste, coverage : shares; step_us : mean wall time of a step [us]; graph_bytes [bytes];
    kv_tokens : KV cache beside the graphs [tokens]; requests : that fit into it; None: not known
    """

    name: str
    num_graphs: int
    waste: float | None
    coverage: float | None
    step_us: float | None
    graph_bytes: float | None
    kv_tokens: int | None
    requests: int | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every number of the set, in the order of reading."""
        numbers = (
            ("graphs", Unit.COUNT, self.num_graphs),
            ("waste", Unit.SHARE, self.waste),
            ("coverage", Unit.SHARE, self.coverage),
            ("mean step", Unit.US, self.step_us),
            ("graph memory", Unit.BYTES, self.graph_bytes),
            ("KV capacity", Unit.TOKENS, self.kv_tokens),
            ("concurrent requests", Unit.COUNT, self.requests),
        )
        return tuple(Figure(self.name, what, unit, value) for what, unit, value in numbers)


@dataclass(frozen=True)
class SideBySide:
    """One number of two sessions; None where one does not have it."""

    about: str
    what: str
    unit: Unit
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        """Second less first; None where one of them is missing."""
        if self.first is None or self.second is None:
            return None
        return self.second - self.first

    @property
    def is_same(self) -> bool:
        return self.first == self.second


def side_by_side(first: Sequence[Figure], second: Sequence[Figure]) -> tuple[SideBySide, ...]:
    """Both sessions' numbers, those of the same set and meaning in one row.

    The first session's order, then what only the second has.
    """
    units = {(item.about, item.what): item.unit for item in (*first, *second)}
    abouts = dict.fromkeys(about for about, _ in units)
    found = [{(item.about, item.what): item.value for item in side} for side in (first, second)]
    return tuple(
        SideBySide(about, what, unit, found[0].get((about, what)), found[1].get((about, what)))
        for wanted in abouts
        for (about, what), unit in units.items()
        if about == wanted
    )
