"""EngineLog: everything that an engine's log states, each with the line that states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from core.logs.bars import Bar

T = TypeVar("T")


@dataclass(frozen=True)
class Stated(Generic[T]):
    """A value and its evidence: the line's number from 1, and its message."""

    value: T
    line: int
    text: str

    @property
    def where(self) -> str:
        """For a sentence: line 12 ("Graph capturing finished in 4 secs")."""
        return f'line {self.line} ("{self.text}")'


@dataclass(frozen=True)
class Downgrade:
    """A graph mode that the engine changed by itself; asked : None where it is not named."""

    mode: str
    asked: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Cap:
    """A largest capture size that the engine lowered by itself; asked : from which."""

    largest: int
    asked: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class EngineLog:
    """What a log states. None, or a missing key, means that it does not say.

    engine : id of the log's form; release : as printed
    captured, prefill : the lists as printed, ascending; () where it states that there are none
    settings : by the engine's names, typed; graphs : {kind: graphs captured, or to be captured}
    facts : seconds, GiB and tokens by name
    mode_asked, mode : the graph mode at first, and in the end
    off : in which words it states that graphs are off, unless a later line ends a capture
    failed : the line that states that capturing failed or memory ran out
    finished : the line that states that capturing ended
    graphs_first : whether graphs were captured before the KV cache was allocated
    """

    engine: str
    release: Stated[str] | None = None
    captured: Stated[tuple[int, ...]] | None = None
    prefill: Stated[tuple[int, ...]] | None = None
    settings: Mapping[str, Stated[Any]] = field(default_factory=dict)
    graphs: Mapping[str, Stated[int]] = field(default_factory=dict)
    facts: Mapping[str, Stated[Any]] = field(default_factory=dict)
    mode_asked: Stated[str] | None = None
    mode: Stated[str] | None = None
    downgrades: tuple[Stated[Downgrade], ...] = ()
    caps: tuple[Stated[Cap], ...] = ()
    off: Stated[str] | None = None
    failed: Stated[str] | None = None
    out_of_memory: bool = False
    finished: Stated[str] | None = None
    graphs_first: Stated[bool] | None = None
    bars: Mapping[str, Bar] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The captured sizes: none where graphs are off, else the list below every cap."""
        if self.off is not None:
            return ()
        if self.captured is None:
            return None
        top = min((cap.value.largest for cap in self.caps), default=None)
        return tuple(n for n in self.captured.value if top is None or n <= top)

    def number(self, name: str) -> float | None:
        """A fact that is a number; None where it is not stated."""
        found = self.facts.get(name)
        value = found.value if found is not None else None
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if good else None  # type: ignore[arg-type]

    @property
    def capture_s(self) -> float | None:
        """Seconds of all captures [s]."""
        return self.number("capture_s")

    @property
    def graph_gib(self) -> float | None:
        """What graphs really took [GiB]."""
        took = self.number("graph_gib")
        return took if took is not None else self.number("pool_gib")

    @property
    def estimated_graph_gib(self) -> float | None:
        """What the engine estimated beforehand that they take [GiB]."""
        return self.number("estimated_graph_gib")

    @property
    def kv_tokens(self) -> float | None:
        """Tokens that the KV cache holds."""
        return self.number("kv_tokens")

    @property
    def free_gib(self) -> float | None:
        """Memory that was free after capturing [GiB]."""
        return self.number("free_gib")

    @property
    def plain_settings(self) -> dict[str, Any]:
        return {name: stated.value for name, stated in self.settings.items()}

    @property
    def plain_facts(self) -> dict[str, Any]:
        return {name: stated.value for name, stated in self.facts.items()}

    @property
    def plain_graphs(self) -> dict[str, int]:
        return {what: stated.value for what, stated in self.graphs.items()}

    def flat(self) -> dict[str, Any]:
        """Everything by name as JSON types, for a reader's facts."""
        result = {**self.plain_settings, **self.plain_facts}
        if self.release is not None:
            result["engine_version"] = self.release.value
        if self.mode is not None:
            result["cudagraph_mode"] = self.mode.value
        if self.off is not None:
            result["graphs_off"] = self.off.value
        if self.downgrades:
            result["mode_changes"] = [
                f"{item.value.asked or 'the mode'} became {item.value.mode}: {item.text}"
                for item in self.downgrades
            ]
        if self.caps:
            result["effective_max"] = min(cap.value.largest for cap in self.caps)
        if self.graphs_first is not None:
            result["graphs_before_kv_cache"] = self.graphs_first.value
        return {**result, **self._progress()}

    def _progress(self) -> dict[str, Any]:
        """Graphs and seconds by bar; the memory curve; how far a capture came."""
        result: dict[str, Any] = {}
        if self.bars:
            result["capture_progress"] = {
                name: {"done": b.done, "total": b.total, "seconds": b.seconds}
                for name, b in self.bars.items()
            }
        for bar in self.bars.values():
            if bar.free_gib:
                result["capture_free_gib"] = [list(point) for point in bar.free_gib]
            if not bar.complete and self.finished is None:
                result.update(_stopped(bar))
        if self.out_of_memory:
            result["out_of_memory"] = True
        return result


def _stopped(bar: Bar) -> dict[str, Any]:
    """How far a bar came that did not end, and what it took until then [GiB]."""
    result: dict[str, Any] = {"capture_done": bar.done, "capture_total": bar.total}
    if bar.size is not None:
        result["capture_stopped_at"] = bar.size
    if len(bar.free_gib) > 1:
        result["capture_taken_gib"] = round(bar.free_gib[0][1] - bar.free_gib[-1][1], 4)
    return result
