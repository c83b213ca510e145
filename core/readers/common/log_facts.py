"""What an engine's log says beside step sizes: seconds, GiB, tokens, progress bars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.readers.common.bucketed import sums_reading
from core.readers.common.drops import Drops
from core.readers.common.requests import Notes
from core.readers.reading import Reading
from core.records import BucketSet, Grade, StepHistogram, Trace

NO_STEPS = (
    "No step sizes in this log: only what the engine said of its graphs and memory was read. {how}"
)
_BAR = re.compile(
    r"(?P<what>(?:Captur|Warming)[^:|]{0,200}):\s{0,9}\d{1,3}%\|[^|]{0,400}\|\s{0,9}"
    r"(?P<done>\d+)/(?P<total>\d+)\s*\[(?P<time>[\d:]{1,12})<"
)
_SIZE = re.compile(r"\b(?:bs|num_tokens)\s*=\s*(\d+)")
_FREE = re.compile(r"avail_mem\s*=\s*([\d.]+)\s*(?:GB|GiB)")
_OOM = re.compile(r"out of memory|OutOfMemoryError|CUDA error: out of memory", re.IGNORECASE)
MAX_BARS = 64


@dataclass(frozen=True)
class Rule:
    """A message. needle : a part that is looked for first; pattern : groups are facts by name."""

    needle: str
    pattern: re.Pattern[str]


def rule(needle: str, pattern: str) -> Rule:
    return Rule(needle, re.compile(pattern))


def number(text: str) -> int | float | str:
    """A group's text as a number where it is one; thousands separators are taken out."""
    plain = text.replace(",", "")
    if re.fullmatch(r"-?\d{1,15}", plain):
        return int(plain)
    if re.fullmatch(r"-?\d{1,12}\.\d+", plain):
        return float(plain)
    return text[:80]


def note_facts(rules: Sequence[Rule], message: str, facts: dict[str, Any]) -> None:
    """Put what a message says into facts; a later message wins."""
    for item in rules:
        if item.needle in message and (match := item.pattern.search(message)):
            facts.update({k: number(v) for k, v in match.groupdict().items() if v is not None})


def sizes_in(text: str) -> tuple[int, ...]:
    """Positive integers of a printed list, ascending and without repeats."""
    found = {int(n) for n in re.findall(r"\d{1,9}", text)}
    return tuple(sorted(n for n in found if n > 0))


@dataclass
class Bar:
    """One progress bar: how far it came, and free memory at each size."""

    done: int = 0
    total: int = 0
    seconds: int = 0
    size: int | None = None
    free_gib: list[tuple[int, float]] = field(default_factory=list)


@dataclass
class Progress:
    """Progress bars of a capture, and whether memory ran out on the way."""

    bars: dict[str, Bar] = field(default_factory=dict)
    out_of_memory: bool = False

    def feed(self, message: str) -> None:
        """Take note of a bar's update."""
        if not self.out_of_memory and _OOM.search(message):
            self.out_of_memory = True
        if "%|" not in message or not (match := _BAR.search(message)):
            return
        name = _SIZE.sub("", _FREE.sub("", match["what"]))
        name = " ".join(re.sub(r"\(\s*\)", "", name).split())[:60]
        if name not in self.bars and len(self.bars) >= MAX_BARS:
            return
        bar = self.bars.setdefault(name, Bar())
        bar.done, bar.total = int(match["done"][:9]), int(match["total"][:9])
        bar.seconds = sum(
            int(part[:6] or 0) * 60**i for i, part in enumerate(reversed(match["time"].split(":")))
        )
        size, free = _SIZE.search(match["what"]), _FREE.search(match["what"])
        if size:
            bar.size = int(size[1][:9])
            if free and len(bar.free_gib) < 4096:
                point = (bar.size, float(free[1]))
                if not bar.free_gib or bar.free_gib[-1][0] != bar.size:
                    bar.free_gib.append(point)

    def facts(self) -> dict[str, Any]:
        """JSON: graphs captured and seconds by bar; the memory curve; where it failed."""
        result: dict[str, Any] = {}
        if self.bars:
            result["capture_progress"] = {
                name: {"done": b.done, "total": b.total, "seconds": b.seconds}
                for name, b in self.bars.items()
            }
        for bar in self.bars.values():
            if bar.free_gib:
                result["capture_free_gib"] = [list(point) for point in bar.free_gib]
            if bar.done < bar.total:
                result.update(capture_done=bar.done, capture_total=bar.total)
                if bar.size is not None:
                    result["capture_stopped_at"] = bar.size
                if len(bar.free_gib) > 1:
                    taken = bar.free_gib[0][1] - bar.free_gib[-1][1]
                    result["capture_taken_gib"] = round(taken, 4)
        if self.out_of_memory:
            result["out_of_memory"] = True
        return result

    def warnings(self) -> list[str]:
        """Sentences about captures that did not end."""
        sentences = []
        for name, bar in self.bars.items():
            if bar.done >= bar.total:
                continue
            where = f" at size {bar.size}" if bar.size is not None else ""
            if self.out_of_memory:
                sentences.append(
                    f"{name} ran out of memory{where} after {bar.done} of {bar.total}: the KV "
                    "cache left too little for graphs, and the first (largest) ones take nearly "
                    "all of it."
                )
            else:
                sentences.append(
                    f"{name} stopped{where} after {bar.done} of {bar.total}, or the log was cut."
                )
        return sentences


def log_reading(
    form: tuple[str, str],
    steps: StepHistogram | None,
    rows: int,
    drops: Drops,
    notes: Notes,
    captured: BucketSet | None = None,
    how: str = "",
    trace: Trace | None = None,
) -> Reading:
    """Grade A with steps, D without.

    form : name and label of the format. how : what the user can do to have steps logged.
    """
    name, label = form
    if steps is None and trace is None:
        say = [NO_STEPS.format(how=how).strip()]
        reading = sums_reading(name, label, rows, drops, notes, say)
        return Reading(**{**vars(reading), "captured": captured})
    return Reading(
        format=name,
        label=label,
        grade=Grade.STEPS,
        rows=rows,
        kept=rows - drops.total,
        steps=steps,
        dropped=dict(drops.counts),
        dropped_examples=drops.examples,
        warnings=tuple(notes.warnings),
        facts=notes.facts,
        captured=captured,
    )
