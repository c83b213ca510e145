"""From messages to an EngineLog, by an engine's rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.logs.bars import Bars
from core.logs.lines import LogLine, messages, text_lines
from core.logs.prefix import strip_ansi
from core.logs.record import Cap, Downgrade, EngineLog, Stated
from core.logs.rules import Into, Rule, sizes_in, typed
from core.logs.warnings import log_warnings

EVIDENCE_CHARS = 240
MODES = ("NONE", "PIECEWISE", "FULL", "FULL_AND_PIECEWISE", "FULL_DECODE_ONLY")
_OOM = re.compile(
    r"(?:CUDA|HIP|NPU)(?: error:)? out of memory|OutOfMemoryError(?:[:(]|$)"
    r"|cudaErrorMemoryAllocation"
)
_LISTS = {Into.CAPTURED: "captured", Into.PREFILL: "prefill"}
_NAMED = {Into.FACT: "facts", Into.SETTING: "settings", Into.GRAPHS: "graphs"}
_ORDER = (Into.START, Into.KV_POOL, Into.CAPTURE)


class Collector:
    """Feed it every message of a log, in order."""

    def __init__(self, form: LogForm) -> None:
        self.form = form
        self.bars = Bars()
        self.found: dict[str, dict[str, Stated[Any]]] = {g: {} for g in _NAMED.values()}
        self.single: dict[str, Stated[Any]] = {}
        self.modes: list[Stated[str]] = []
        self.downgrades: list[Stated[Downgrade]] = []
        self.caps: list[Stated[Cap]] = []
        self.order: list[Stated[Into]] = []
        self.ranks: Mapping[str, int] | None = None
        self.out_of_memory = False

    def feed(self, line: LogLine) -> None:
        """Take note of what a message states."""
        text = line.message
        self.bars.feed(text, line.number, line.ended)
        if ("memory" in text or "OutOf" in text or "Memory" in text) and _OOM.search(text):
            self.out_of_memory = True
            if any(self.bars.open()) and "finished" not in self.single:
                self.single["failed"] = self._stated(text, line)
        for item in self.form.rules:
            if item.needle in text and not (item.unless and item.unless in text):
                self._match(item, line)

    def _match(self, item: Rule, line: LogLine) -> None:
        text = line.message
        if item.after:
            text = text[text.index(item.needle) + len(item.needle) :]
        if item.every:
            found = list(item.pattern.finditer(text))
        else:
            found = [m for m in [item.pattern.search(text)] if m is not None]
        for match in found:
            groups = {
                name: value
                for name, value in match.groupdict().items()
                if value is not None and not _cut(match, name, line)
            }
            if groups or not match.re.groups:
                self._take(item, groups, line)

    def _take(self, item: Rule, groups: dict[str, str], line: LogLine) -> None:
        into = item.into
        if into in _NAMED:
            for name, value in groups.items():
                self.found[_NAMED[into]][name] = self._stated(typed(value), line)
        elif into in _LISTS:
            self._take_sizes(_LISTS[into], item, groups, line)
        elif into is Into.MODE:
            self.modes.append(self._stated(next(iter(groups.values())), line))
        elif into is Into.DOWNGRADE and groups.get("mode") in MODES:
            changed = Downgrade(groups["mode"], groups.get("asked"), groups.get("reason", ""))
            self.downgrades.append(self._stated(changed, line))
        elif into is Into.CAP and "largest" in groups:
            asked = int(groups["asked"]) if "asked" in groups else None
            cap = Cap(int(groups["largest"]), asked, groups.get("reason", "").strip())
            self.caps.append(self._stated(cap, line))
        elif into in _ORDER:
            self._take_order(into, line)
        elif into in (Into.RELEASE, Into.OFF, Into.FAILED, Into.FINISHED):
            words = item.words or next(iter(groups.values()), line.message)
            self.single[into.name.lower()] = self._stated(words.strip().rstrip("."), line)

    def _take_order(self, into: Into, line: LogLine) -> None:
        """Ranks take turns, so one of them tells the order; a start is of all of them."""
        if into is Into.START:
            self.ranks = None
        elif self.ranks is None:
            self.ranks = line.ranks
        elif self.ranks != line.ranks:
            return
        self.order.append(self._stated(into, line))

    def _take_sizes(self, name: str, item: Rule, groups: dict[str, str], line: LogLine) -> None:
        text = " ".join(groups.values())
        sizes = sizes_in(" ".join(re.findall(item.item, text)) if item.item else text)
        if item.every and (before := self.single.get(name)) is not None:
            sizes = tuple(sorted({*before.value, *sizes}))
        self.single[name] = self._stated(sizes, line)

    def _stated(self, value: Any, line: LogLine) -> Stated[Any]:
        text = " ".join(line.message[: 4 * EVIDENCE_CHARS].split())
        shown = text if len(text) <= EVIDENCE_CHARS else f"{text[: EVIDENCE_CHARS - 1]}…"
        return Stated(value, line.number, shown)

    def finish(self) -> EngineLog:
        """Everything stated, with what follows from it."""
        log = EngineLog(
            engine=self.form.id,
            release=self.single.get("release"),
            captured=self.single.get("captured"),
            prefill=self.single.get("prefill"),
            settings=self.found["settings"],
            graphs=self.found["graphs"],
            facts=self.found["facts"],
            mode_asked=self.modes[0] if self.modes else None,
            mode=self._mode(),
            downgrades=tuple(self.downgrades),
            caps=tuple(self.caps),
            off=self._off(),
            failed=self.single.get("failed"),
            out_of_memory=self.out_of_memory,
            finished=self.single.get("finished"),
            graphs_first=self._graphs_first(),
            bars=self.bars.found,
        )
        log = replace(log, facts={**log.facts, **self.form.derived(log)})
        return replace(log, warnings=(*log_warnings(log), *self.form.warnings(log)))

    def _off(self) -> Stated[str] | None:
        """A setting or a mode that switches graphs off states it as much as a sentence does.

        Of several, the one that tells why: a setting, a mode that the engine changed, a sentence.
        None where a capture ended after the last of them: another start.
        """
        found = []
        for name, value in self.form.off_settings.items():
            stated = self.found["settings"].get(name)
            if stated is not None and stated.value == value:
                found.append(Stated(f"{name}={value}", stated.line, stated.text))
        mode = self._mode()
        if mode is not None and mode.value == "NONE":
            found.append(Stated("cudagraph_mode NONE", mode.line, mode.text))
        found += [self.single["off"]] if "off" in self.single else []
        finished = self.single.get("finished")
        last = max((stated.line for stated in found), default=0)
        if not found or (finished is not None and finished.line > last):
            return None
        return found[0]

    def _mode(self) -> Stated[str] | None:
        if self.downgrades:
            last = self.downgrades[-1]
            return Stated(last.value.mode, last.line, last.text)
        return self.modes[-1] if self.modes else None

    def _graphs_first(self) -> Stated[bool] | None:
        """From the first start that shows both; None where the order is seen two ways."""
        seen: set[bool] = set()
        found: Stated[bool] | None = None
        first: Stated[Into] | None = None
        for event in self.order:
            if event.value is Into.START:
                first = None
            elif first is None:
                first = event
            elif event.value is not first.value:
                begins = first.value is Into.CAPTURE
                seen.add(begins)
                found = found or Stated(begins, first.line, first.text)
                first = event if begins else first
        return found if len(seen) == 1 else None


def _cut(match: re.Match[str], name: str, line: LogLine) -> bool:
    """Whether a number or word may go on where an unended log was cut.

    A single sentence that somebody pasted is whole; a printed name=value is followed by more.
    """
    text = match.string
    if line.ended or match.end(name) < len(text) or not match[name][-1:].isalnum():
        return False
    return line.number > 1 or text[: match.start(name)].endswith("=")


def _nothing(log: EngineLog) -> Mapping[str, Stated[Any]]:
    return {}


def _silent(log: EngineLog) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class LogForm:
    """How one engine's log reads.

    id : of the engine; name, label : of the format; marks : by which a log is recognised
    wanted : lines that can matter; rank : among the formats
    off_settings : {setting: value} with which no graph is captured
    derived : facts that follow from what is stated; warnings : sentences of this engine alone
    """

    id: str
    name: str
    label: str
    marks: re.Pattern[str]
    wanted: re.Pattern[bytes]
    rules: tuple[Rule, ...]
    rank: int = 20
    off_settings: Mapping[str, Any] = field(default_factory=dict)
    derived: Callable[[EngineLog], Mapping[str, Stated[Any]]] = _nothing
    warnings: Callable[[EngineLog], Iterable[str]] = _silent
    collector: type[Collector] = Collector

    def begin(self) -> Collector:
        """A collector of one log."""
        return self.collector(self)

    def shows(self, text: str) -> bool:
        """Whether a text is such a log."""
        return self.marks.search(strip_ansi(text)) is not None

    def read(self, text: str) -> EngineLog:
        """A log at hand as text."""
        found = self.begin()
        for line in messages(text_lines(text)):
            found.feed(line)
        return found.finish()
