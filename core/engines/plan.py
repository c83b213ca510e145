"""What an engine captures, as data: graphs for each kind of step, what was dropped, findings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.records import SizeUnit


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
    among : sizes of all graphs, where only the next of them is tried, of whichever mode it is
    """

    mode: Mode
    sizes: tuple[int, ...]
    exact: bool = False
    max_ratio: float | None = None
    among: tuple[int, ...] = ()


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

    sizes : the list as the engine ends up capturing it [unit]
    configured : the list in its configuration, where that is another (drafts round it later)
    decode, prefill : graphs for each kind of step, the preferred ones first
    tokens_per_request : slots one request takes in a decode step [unit]
    full_load : the widest decode step the settings allow [unit]; None when the engine decides it
        from memory
    asked_max : the maximum that was asked for, by a scalar setting [unit]
    above : what a decode step does that no graph holds
    known : the rule was read in the release that was asked for; else a note says where it is from
    eager_above : decode steps above this size run eager without a look-up
    """

    sizes: tuple[int, ...]
    unit: SizeUnit
    decode: tuple[GraphList, ...]
    prefill: tuple[GraphList, ...] = ()
    prefill_unit: SizeUnit = SizeUnit.TOKENS
    configured: tuple[int, ...] | None = None
    tokens_per_request: int = 1
    full_load: int | None = None
    asked_max: int | None = None
    above: Mode = Mode.EAGER
    eager_above: int | None = None
    dropped: tuple[Dropped, ...] = ()
    added: tuple[int, ...] = ()
    counts: tuple[GraphCount, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    source: str = ""
    known: bool = True

    @property
    def graphs(self) -> int:
        """Graph keys captured at start-up, all kinds and variants."""
        return sum(count.graphs for count in self.counts)

    def count_text(self) -> str:
        """How the sizes become graphs, e.g. "51 sizes become 102 graphs: 51 piecewise, 51 full"."""
        parts = ", ".join(
            f"{c.sizes} {c.what}" + (f" x {c.variants}" if c.variants > 1 else "")
            for c in self.counts
        )
        return f"{len(self.sizes)} sizes become {self.graphs} graphs: {parts}"

    def objects(self, num_layers: int) -> int:
        """CUDA graph objects: a piecewise size is one between each two layers, layers + 1."""
        return sum(
            count.graphs * (num_layers + 1 if count.what == Mode.PIECEWISE.value else 1)
            for count in self.counts
        )

    def lists(self, kind: StepKind) -> tuple[GraphList, ...]:
        return self.decode if kind is StepKind.DECODE else self.prefill
