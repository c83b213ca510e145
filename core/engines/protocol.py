"""What every engine module answers: its list, its dispatch, its graph count, in one shape.

An engine is one file of this package that holds `ENGINE`, an instance of `Engine`. It declares its
releases and settings and answers one question, `_plan`: which graphs does this release capture
under these settings. Default lists, dispatch, checks and exports all follow from that plan.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

from core.engines.settings import Setting, checked
from core.engines.versions import Release, resolve
from core.errors import CaptureSizesError
from core.records import IntArray, SizeUnit, normalised_sizes


class StepKind(StrEnum):
    """DECODE: every request of the step decodes, each with the same number of tokens.
    PREFILL: the step holds prompt tokens, alone or mixed with decoding requests."""

    DECODE = "decode"
    PREFILL = "prefill"


class Mode(StrEnum):
    """How a step runs."""

    FULL = "full"
    PIECEWISE = "piecewise"
    EAGER = "eager"
    RECOMPILE = "recompile"
    ERROR = "error"


class Severity(StrEnum):
    """ERROR: the engine does not start or steps fail. WARNING: steps get slower or the setting is
    changed. INFO: good to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class DefaultSizes:
    """The list an engine captures, ascending; empty when it captures nothing."""

    sizes: tuple[int, ...]
    unit: SizeUnit
    notes: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class GraphList:
    """Graphs of one mode that a step may use.

    sizes : ascending
    exact : only a step of exactly a captured size replays (padding is off)
    max_ratio : a step runs eager when its padded size exceeds this multiple of its size
    """

    mode: Mode
    sizes: tuple[int, ...]
    exact: bool = False
    max_ratio: float | None = None


@dataclass(frozen=True)
class Dropped:
    """Sizes that were asked for and will not be captured."""

    sizes: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class GraphCount:
    """Graphs of one kind; `variants` multiplies (LoRA cases, draft models)."""

    what: str
    sizes: int
    variants: int = 1

    @property
    def graphs(self) -> int:
        return self.sizes * self.variants


@dataclass(frozen=True)
class Finding:
    """One thing that will happen with a configuration.

    affected : smallest and largest step size it concerns, in the plan's unit of `kind`
    share : part of the user's steps that it concerns, 0..1; None without a histogram
    fix : the exact text to use, or what to change
    """

    id: str
    severity: Severity
    text: str
    fix: str = ""
    load: str = ""
    affected: tuple[int, int] | None = None
    kind: StepKind = StepKind.DECODE
    share: float | None = None


@dataclass(frozen=True)
class Plan:
    """What an engine captures for a release, settings and, if given, the user's list.

    sizes : the list as the engine's configuration ends up holding it [unit]
    decode, prefill : graphs for each kind of step, the preferred ones first
    tokens_per_request : slots one request takes in a decode step [unit]
    full_load : the widest decode step the settings allow [unit]; None when the engine decides it
        from memory
    above : what a decode step does that no graph holds
    """

    sizes: tuple[int, ...]
    unit: SizeUnit
    decode: tuple[GraphList, ...]
    prefill: tuple[GraphList, ...] = ()
    prefill_unit: SizeUnit = SizeUnit.TOKENS
    tokens_per_request: int = 1
    full_load: int | None = None
    above: Mode = Mode.EAGER
    dropped: tuple[Dropped, ...] = ()
    added: tuple[int, ...] = ()
    counts: tuple[GraphCount, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    source: str = ""

    @property
    def graphs(self) -> int:
        """Graph keys captured at start-up, all kinds and variants."""
        return sum(count.graphs for count in self.counts)

    def lists(self, kind: StepKind) -> tuple[GraphList, ...]:
        return self.decode if kind is StepKind.DECODE else self.prefill


@dataclass(frozen=True)
class Dispatch:
    """What steps of given sizes do.

    padded : (n,) slots the step runs with; -1 where it runs eager or fails, so without padding
    modes : one Mode a step
    """

    sizes: IntArray
    padded: IntArray
    modes: tuple[Mode, ...] = field(repr=False)
    unit: SizeUnit = SizeUnit.TOKENS


class Engine(ABC):
    """One serving engine. Sub-classes set the class variables and answer `_plan`."""

    id: ClassVar[str]
    label: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    position: ClassVar[int] = 100
    versions: ClassVar[tuple[str, ...]]
    settings: ClassVar[tuple[Setting, ...]]
    list_setting: ClassVar[str | None] = None
    max_settings: ClassVar[tuple[str, ...]] = ()

    def default_sizes(
        self,
        version: str | None = None,
        settings: Mapping[str, object] | None = None,
        kind: StepKind = StepKind.DECODE,
    ) -> DefaultSizes:
        """The list this engine uses today with these settings, "your engine today".

        version : a release; None for the newest known. An unknown one is answered with the
            nearest known rule, and the first note says so
        Raises SettingError for unknown settings, values out of range, and combinations with which
        the engine does not start.
        """
        plan = self.plan(version, settings)
        if kind is StepKind.DECODE:
            return DefaultSizes(plan.sizes, plan.unit, plan.notes, plan.source)
        sizes = plan.prefill[0].sizes if plan.prefill else ()
        return DefaultSizes(sizes, plan.prefill_unit, plan.notes, plan.source)

    def plan(
        self,
        version: str | None = None,
        settings: Mapping[str, object] | None = None,
        capture_sizes: Sequence[int] | IntArray | None = None,
    ) -> Plan:
        """Which graphs are captured; `capture_sizes` stands in for the engine's own list flag.

        Raises SettingError as `default_sizes`, CaptureSizesError for a list that holds something
        else than whole numbers of 1 or more.
        """
        release, note = resolve(self.label, self.versions, version)
        values = checked(self.label, self.settings, settings)
        if capture_sizes is not None:
            values |= dict.fromkeys(self.max_settings)
            wanted: tuple[int, ...] | None = normalised_sizes(capture_sizes)
        else:
            wanted = values.get(self.list_setting) if self.list_setting else None
        plan = self._plan(release, values, wanted)
        return plan if not note else _with_note(plan, note)

    @abstractmethod
    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        """The plan for checked values; `wanted` is the user's list, or None."""

    def no_list(self, wanted: tuple[int, ...] | None) -> None:
        """Raises CaptureSizesError when a list is given to an engine that takes none."""
        if wanted is not None:
            raise CaptureSizesError(f"{self.label} has no setting for a list of capture sizes.")


def _with_note(plan: Plan, note: str) -> Plan:
    return replace(plan, notes=(note, *plan.notes))
