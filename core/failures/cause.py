"""What a diagnosis holds: causes, each with its evidence, its layer and what to try."""

from __future__ import annotations

from dataclasses import dataclass

from core.failures.call_sites import CallSite
from core.failures.capture_errors import Rank
from core.failures.layers import Layer
from core.failures.switches import Served, Switch


@dataclass(frozen=True)
class Cause:
    """One finding.

    evidence : the line that shows it, shortened; line : its number in the text, from 1
    times : how often the same was found
    site : the innermost line of the user's or the engine's code, where the text tells
    layer : the part of the engine that the stack points to; shown_by : the frame or line that does
    switches : what to switch off to find it, in order; only the first cause has them
    in_capture : it came while a capture ran, as far as the text tells
    """

    klass: str
    evidence: str
    line: int
    cause: str
    remedy: str
    rank: Rank = Rank.ROOT
    code: int | None = None
    times: int = 1
    site: CallSite | None = None
    layer: Layer | None = None
    shown_by: str = ""
    switches: tuple[Switch, ...] = ()
    in_capture: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """Causes, root causes first; `lines` read; the engine that the text names."""

    causes: tuple[Cause, ...]
    lines: int
    served: Served = Served()

    @property
    def first(self) -> Cause | None:
        """Where to begin."""
        return self.causes[0] if self.causes else None
