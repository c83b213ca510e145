"""From a log or a traceback to the first cause of a failed capture.

The error that is read last is seldom the one that came first: code 901 and a poisoned allocator
follow from something earlier. So every line is looked at, each finding is ranked, and root causes
stand before what follows from them, in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.errors import FileContentError
from core.failures import capture_errors as known
from core.failures.call_sites import CallSite, Frames
from core.failures.capture_errors import RULES, Rank, Rule

EVIDENCE_CHARS = 240
MOST_CAUSES = 50
EXPLAINED_BY_CODE = (known.FORBIDDEN.klass, "h2d_copy")
"""Classes whose message is the same for several calls: PyTorch refuses .cpu() with the words of a
copy to the card."""
ORDER = (Rank.ROOT, Rank.SIGN, Rank.CONSEQUENCE)

_EXCEPTION = re.compile(r"(?:^|[\s|])((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)): ?(\S.*)?$")
_CAPTURE = re.compile(
    r"captur\w*[^,]*graph|graph\w*[^,]*captur|capturing|during capture|capture_(?:begin|end|model)"
    r"|failed capture|cuda\.graph\(",
    re.IGNORECASE,
)
_NO_CAPTURE = re.compile(
    r"no capture|outside (?:of )?(?:a )?capture|not capturing|capture_size|finished|completed|took",
    re.IGNORECASE,
)
_WORDS = (
    *("captur", "cudagraph", "cuda.graph(", "graph is empty", "graph addresses", "error"),
    *("exception", "assert", "philox", "stream", "alloc", "memory", "all_reduce", "pointer attr"),
    *("cublas", "hipblas", "watchdog", "during handling", "direct cause", "file "),
    *("second engine", "another ", "other thread", "thread-", "distinct sizes"),
)
"""One of these stands in every line that matters, in small letters; most lines of a log have none,
and the patterns are a hundred times slower than looking for words."""
_CHAINED = re.compile(r"During handling of the above exception|was the direct cause of the follow")
_FAILED_LOAD = re.compile(r"second engine|another (?:engine|model)|other thread|Thread-\d", re.I)


@dataclass(frozen=True)
class Cause:
    """One finding.

    evidence : the line that shows it, shortened; line : its number in the text, from 1
    times : how often the same was found
    site : the user's own line that did it, where the text tells
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


@dataclass(frozen=True)
class Diagnosis:
    """Causes, root causes first; `lines` read."""

    causes: tuple[Cause, ...]
    lines: int

    @property
    def first(self) -> Cause | None:
        """Where to begin."""
        return self.causes[0] if self.causes else None


def diagnose(text: str | Iterable[str]) -> Diagnosis:
    """Read a log, a traceback or an error message.

    Raises FileContentError if there is no text in it.
    """
    lines = text.splitlines() if isinstance(text, str) else text
    reader = _Reader()
    for line in lines:
        reader.take(line)
    if not reader.seen_text:
        raise FileContentError("There is no text to diagnose; give a log or a traceback.")
    return Diagnosis(_ordered(reader), reader.number)


class _Reader:
    """One pass over the lines; keeps findings and the frames since the last error.

    during : lines of findings made while a capture ran, as far as the text tells
    broken : somewhere a capture was reported as broken
    plain : the first exception that no rule knows; `chained`: another was raised while handling it
    """

    def __init__(self) -> None:
        self.number = 0
        self.seen_text = False
        self.in_capture = False
        self.broken = False
        self.other_thread = False
        self.found: dict[tuple[str, int | None, CallSite | None], Cause] = {}
        self.during: set[int] = set()
        self.plain: Cause | None = None
        self.chained = False
        self._last: Cause | None = None
        self._frames = Frames()

    def take(self, line: str) -> None:
        self.number += 1
        self.seen_text = self.seen_text or bool(line.strip())
        if not self._frames.awaits_code:
            small = line.lower()
            if not any(word in small for word in _WORDS):
                return
        self._read(line)

    def _read(self, line: str) -> None:
        if _CAPTURE.search(line):
            self.in_capture = not _NO_CAPTURE.search(line)
            self.broken = self.broken or bool(known.INVALIDATED.pattern.search(line))
        if _CHAINED.search(line) and self._last is not None:
            self.plain = self.plain if self.chained else self._last
            self.chained = True
        self.other_thread = self.other_thread or bool(_FAILED_LOAD.search(line))
        is_frame = self._frames.take(line)
        rules = [rule for rule in (*RULES, known.OOM, known.NOT_INITIALISED) if _hit(rule, line)]
        if rules:
            # A watchdog's line holds the text of error 900 too: the first rule is the finer one.
            # Several errors told in one line are all kept.
            kept = [r for r in rules if r.code is None or r.code != rules[0].code or r is rules[0]]
            for rule in kept:
                self._add(rule, line)
            self._last = None
            self._frames.clear()
        elif not is_frame and _names_exception(line):
            self._add_plain(line)
            self._frames.clear()

    def _add(self, rule: Rule, line: str) -> None:
        site = self._frames.site()
        if rule.klass in EXPLAINED_BY_CODE:
            rule = self._frames.explained(rule)
        cause = Cause(
            rule.klass,
            _shortened(line),
            self.number,
            rule.cause,
            rule.remedy,
            rule.rank,
            rule.code,
            site=site,
        )
        if self.in_capture:
            self.during.add(self.number)
        key = (rule.klass, rule.code, site)
        if key in self.found:
            self.found[key] = replace(self.found[key], times=self.found[key].times + 1)
        elif len(self.found) < MOST_CAUSES:
            self.found[key] = cause

    def _add_plain(self, line: str) -> None:
        self._last = Cause(
            "other_error",
            _shortened(line),
            self.number,
            "An exception that is no known error of capturing.",
            "Mend it first, or run the same step eagerly: errors after it may follow from it.",
            site=self._frames.site(),
        )
        self.plain = self.plain or self._last


def _names_exception(line: str) -> bool:
    return ("Error:" in line or "Exception:" in line) and _EXCEPTION.search(line) is not None


def _hit(rule: Rule, line: str) -> bool:
    return rule.pattern.search(line) is not None


def _shortened(line: str) -> str:
    text = " ".join(line.split())
    return text if len(text) <= EVIDENCE_CHARS else f"{text[: EVIDENCE_CHARS - 1]}…"


def _ordered(reader: _Reader) -> tuple[Cause, ...]:
    """Findings judged by what else the text holds: root causes, signs, then what follows."""
    causes = [
        _in_context(cause, reader.broken or cause.line in reader.during)
        for cause in reader.found.values()
    ]
    if reader.plain is not None:
        causes += _plain(reader.plain, reader.chained, causes)
    causes.sort(key=lambda cause: (ORDER.index(cause.rank), cause.line))
    roots = [cause for cause in causes if cause.rank is Rank.ROOT]
    if not roots:
        return _without_root(causes, reader.other_thread)
    return tuple(_explained_by(cause, roots[0].line) for cause in causes)


def _plain(plain: Cause, chained: bool, causes: list[Cause]) -> list[Cause]:
    """An unknown exception is where it began if another was raised while it was handled, or if
    nothing else is; elsewhere it may be harmless, and is only told."""
    roots = [cause.line for cause in causes if cause.rank is Rank.ROOT]
    if roots and min(roots) < plain.line:
        return []
    return [plain if chained or not roots else replace(plain, rank=Rank.SIGN)]


def _in_context(cause: Cause, in_capture: bool) -> Cause:
    """What the same message means during a capture."""
    if cause.klass != "oom_or_env" or not in_capture:
        return cause
    rule = known.LAZY_INIT if known.CUBLAS.search(cause.evidence) else known.OOM_IN_CAPTURE
    return replace(cause, klass=rule.klass, cause=rule.cause, remedy=rule.remedy)


def _explained_by(cause: Cause, root_line: int) -> Cause:
    if cause.rank is not Rank.CONSEQUENCE or cause.line < root_line:
        return cause
    follows = f"Follows from the error in line {root_line}."
    broken = cause.klass == known.INVALIDATED.klass
    return replace(cause, cause=follows if broken else f"{follows} {cause.cause}")


def _without_root(causes: list[Cause], other_thread: bool) -> tuple[Cause, ...]:
    """Only consequences: a broken capture and a poisoned allocator, and nothing that broke it in
    this thread, speak of another one."""
    classes = {cause.klass for cause in causes}
    poisoned = {known.INVALIDATED.klass, known.UNDERWAY.klass} <= classes
    rule = known.OTHER_THREAD
    result = [
        replace(cause, klass=rule.klass, cause=rule.cause, remedy=rule.remedy, rank=Rank.ROOT)
        if cause.klass == known.INVALIDATED.klass and (poisoned or other_thread)
        else cause
        for cause in causes
    ]
    return tuple(sorted(result, key=lambda cause: ORDER.index(cause.rank)))
