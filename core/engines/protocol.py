"""What every engine module answers: its list, its dispatch, its graph count, in one shape.

An engine is one file of this package that holds `ENGINE`, an instance of `Engine`. It declares its
releases and settings and answers one question, `_plan`: which graphs does this release capture
under these settings. Default lists, dispatch, checks and exports all follow from that plan.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from core.data_parallel import RankRule
from core.engines.config import Config
from core.engines.dispatch import Dispatch, RankDispatch, dispatch, dispatch_ranks
from core.engines.export import ExportForm
from core.engines.memory import GraphCost, MemoryAccount
from core.engines.options import Option
from core.engines.plan import DefaultSizes, Plan, StepKind
from core.engines.settings import LARGEST, Setting, checked
from core.engines.startup_log import LogReading, LogRule
from core.engines.versions import Release, resolve, version_key
from core.errors import CaptureSizesError, SettingError
from core.records import IntArray, normalised_sizes


class Engine(ABC):
    """One serving engine. Sub-classes set the class variables and answer `_plan`.

    common_names : {name that other engines use: this engine's setting}, accepted beside its own
    list_setting : the setting that holds a user's list; None for an engine that takes none
    max_settings : settings that stand for a list and are left out when one is tried
    assumed : {release: why} of the releases whose rule was not read in their own text
    refuses_twice : a setting given by two flags or keys keeps the engine from starting
    """

    id: ClassVar[str]
    label: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    position: ClassVar[int] = 100
    versions: ClassVar[tuple[str, ...]]
    assumed: ClassVar[Mapping[str, str]] = {}
    settings: ClassVar[tuple[Setting, ...]]
    common_names: ClassVar[Mapping[str, str]] = {}
    list_setting: ClassVar[str | None] = None
    max_settings: ClassVar[tuple[str, ...]] = ()
    rank_rule: ClassVar[RankRule] = RankRule.MAX
    options: ClassVar[tuple[Option, ...]] = ()
    rewrites: ClassVar[tuple[tuple[str, str], ...]] = ()
    refuses_twice: ClassVar[bool] = False
    log_rules: ClassVar[tuple[LogRule, ...]] = ()
    log_marker: ClassVar[str] = ""
    memory_rule: ClassVar[MemoryAccount]
    export_settings: ClassVar[Mapping[str, object]] = {}

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
        release, values, wanted = self.checked_values(version, settings, capture_sizes)
        plan = self._plan(release, values, wanted)
        note = self.version_note(version)
        return replace(plan, known=False, notes=(note, *plan.notes)) if note else plan

    def checked_values(
        self,
        version: str | None = None,
        settings: Mapping[str, object] | None = None,
        capture_sizes: Sequence[int] | IntArray | None = None,
    ) -> tuple[Release, dict[str, Any], tuple[int, ...] | None]:
        """The release that answers, every setting with its value, and the user's list or None."""
        release, _ = resolve(self.label, self.versions, version)
        values = checked(self.label, self.settings, self.own_names(settings or {}))
        if capture_sizes is None:
            return release, values, values.get(self.list_setting or "")
        values |= dict.fromkeys(self.max_settings)
        wanted = normalised_sizes(capture_sizes)
        if wanted[-1] > LARGEST:
            raise CaptureSizesError(f"Capture size {wanted[-1]} is above {LARGEST}.")
        if self.list_setting:
            values[self.list_setting] = wanted
        return release, values, wanted

    def own_names(self, settings: Mapping[str, object]) -> dict[str, object]:
        """Settings that were given by the name most engines use, under this engine's own."""
        result: dict[str, object] = {}
        for name, value in settings.items():
            own = self.common_names.get(name, name)
            if own in result:
                raise SettingError(f"{self.label}: {own} is given twice, once as {name}.")
            result[own] = value
        return result

    def version_note(self, version: str | None) -> str:
        """Where the rule is borrowed from, when that release's own was not read; else empty."""
        release, note = resolve(self.label, self.versions, version)
        why = self.assumed.get(str(release), "")
        return f"{note} {why}".strip()

    def dispatch_sizes(
        self,
        sizes: Sequence[int] | IntArray,
        capture_sizes: Sequence[int] | IntArray | None = None,
        version: str | None = None,
        settings: Mapping[str, object] | None = None,
        kind: StepKind = StepKind.DECODE,
    ) -> Dispatch:
        """What steps of these sizes do, by this engine's own rule.

        sizes : (n,) in the plan's unit of `kind` (core.engines.dispatch.in_plan_unit converts)
        capture_sizes : the list to try; None for the one the settings lead to
        Raises as `plan`; HistogramError for a size below 1.
        """
        plan = self.plan(version, settings, capture_sizes)
        return dispatch(plan, sizes, kind, self.run_time_size)

    def dispatch_ranks(
        self,
        ranks: Sequence[int],
        capture_sizes: Sequence[int] | IntArray | None = None,
        version: str | None = None,
        settings: Mapping[str, object] | None = None,
        kind: StepKind = StepKind.DECODE,
    ) -> RankDispatch:
        """What data-parallel ranks with these sizes do together, by this engine's own rule."""
        return dispatch_ranks(
            self.plan(version, settings, capture_sizes), ranks, self.rank_rule, kind
        )

    def run_time_size(self, size: int) -> int:
        """The size that is compiled while serving, for engines that do so."""
        return size

    def forms(
        self,
        version: str,
        settings: Mapping[str, Any],
        sizes: tuple[int, ...],
        kind: StepKind = StepKind.DECODE,
    ) -> tuple[ExportForm, ...]:
        """A list as text, the recommended form first; () for an engine that takes none.

        `export_settings` are the settings that these texts themselves set.
        """
        return ()

    def fix_line(self, version: str, settings: Mapping[str, Any], sizes: tuple[int, ...]) -> str:
        """What to write so that the engine captures these sizes, for findings."""
        forms = self.forms(version, settings, sizes)
        return forms[0].text.strip() if forms else "This engine takes no list of its own."

    def memory(
        self,
        version: str | None = None,
        settings: Mapping[str, object] | None = None,
        capture_sizes: Sequence[int] | IntArray | None = None,
        costs: Mapping[str, GraphCost] | None = None,
    ) -> MemoryAccount:
        """What the engine sets aside for graphs before it sizes the KV cache.

        costs : measured memory of one graph by kind (the plan's `counts`), where the engine
            measures; without, its estimate cannot be computed
        """
        release, values, wanted = self.checked_values(version, settings, capture_sizes)
        plan = self._plan(release, values, wanted)
        return self._memory(_exact(version, release), values, plan, costs or {})

    def _memory(
        self,
        release: Release,
        values: dict[str, Any],
        plan: Plan,
        costs: Mapping[str, GraphCost],
    ) -> MemoryAccount:
        return self.memory_rule

    def read_own_form(self, text: str) -> Config | None:
        """A configuration in a form that only this engine has; None when the text is none."""
        return None

    def complete_log(self, log: LogReading) -> LogReading:
        """A log reading with what follows from it."""
        return log

    @abstractmethod
    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        """The plan for checked values; `wanted` is the user's list, or None."""


def _exact(version: str | None, release: Release) -> Release:
    """The release asked for, where its place in the order is known: memory rules have borders
    between the releases whose lists were read."""
    return Release(version) if version and version_key(version) else release
