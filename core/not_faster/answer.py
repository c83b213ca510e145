"""The answer to "graphs are on, but nothing got faster": one sentence, and four groups of data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.not_faster.time_split import TimeSplit
from core.records import Origin


class Group(StrEnum):
    """Where the time that graphs promise can be lost."""

    REPLAY = "did the graphs replay"
    HOST = "host submission"
    KERNELS = "padding and kernel time"
    BOUNDARY = "the boundary of the graph"


class Verdict(StrEnum):
    """What the data say of a group."""

    CAUSE = "this is it"
    PART = "part of it"
    NOT = "not it"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True)
class Evidence:
    """One thing that the data show, and what kind of number it rests on."""

    text: str
    origin: Origin


@dataclass(frozen=True)
class GroupFacts:
    """What the data say of one group, before the groups are weighed against each other.

    known : the data can tell whether the group matters
    decisive : the verdict, where no weighing is needed
    matters : it matters, though not in microseconds that can be counted
    lost_us : mean time a step loses to it; None where that is not known [us]
    missing : what to upload so that it can be told, or be told better
    """

    group: Group
    known: bool
    evidence: tuple[Evidence, ...] = ()
    todo: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    lost_us: float | None = None
    decisive: Verdict | None = None
    matters: bool = False


@dataclass(frozen=True)
class GroupAnswer:
    """One group, judged. todo is empty where there is nothing to do."""

    group: Group
    verdict: Verdict
    evidence: tuple[Evidence, ...]
    todo: tuple[str, ...]
    missing: tuple[str, ...]
    lost_us: float | None


@dataclass(frozen=True)
class Answer:
    """The whole answer.

    sentence : the overall verdict; helps : whether graphs save time; None where it cannot be told
    groups : the gravest first
    split : where a step's time goes; None without step times, steps and captured sizes
    notes : what the answer rests on
    """

    sentence: str
    helps: bool | None
    groups: tuple[GroupAnswer, ...]
    split: TimeSplit | None
    notes: tuple[str, ...]

    def of(self, group: Group) -> GroupAnswer:
        """The answer of one group."""
        return next(item for item in self.groups if item.group is group)
