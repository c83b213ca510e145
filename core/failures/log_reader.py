"""One pass over a log or a traceback: findings, in the order of the text."""

from __future__ import annotations

import re
from dataclasses import replace

from core.failures import capture_errors as known
from core.failures.call_sites import NAMED, CallSite, Frames, explained_by, is_library
from core.failures.capture_errors import RULES, Rule
from core.failures.cause import Cause
from core.failures.encoder_graphs import EncoderGraphs
from core.failures.layers import Layer, layer_in, layer_of
from core.failures.native_errors import BY_CODE, NATIVE_RULES
from core.failures.switches import Served, served_by
from core.failures.unknown_errors import is_wrapper, names_exception, unknown

EVIDENCE_CHARS = 240
MOST_CAUSES = 50
MOST_STACK_LINES = 80
MOST_CHARS = 20_000
"""No message is longer; what is, holds somebody's prompt."""
EXPLAINED_BY_CODE = (known.FORBIDDEN.klass, "h2d_copy")
"""Classes whose message is the same for several calls: PyTorch refuses .cpu() with the words of a
copy to the card."""

_ALL_RULES = (*RULES, *NATIVE_RULES, known.OOM, known.NOT_INITIALISED)
_CAPTURE = re.compile(
    r"captur\w*[^,]*graph|graph\w*[^,]*captur|capturing|during capture|capture_(?:begin|end|model)"
    r"|failed capture|cuda\.graph\(|cuda ?graph warm-?up",
    re.IGNORECASE,
)
_NO_CAPTURE = re.compile(
    r"no capture|graph end\b|outside (?:of )?(?:a )?capture|not capturing|capture_size"
    r"|finished|completed|took",
    re.IGNORECASE,
)
_WORDS = (
    *("captur", "cudagraph", "cuda.graph(", "graph is empty", "graph addresses", "error"),
    *("exception", "assert", "philox", "stream", "alloc", "memory", "all_reduce", "pointer attr"),
    *("cublas", "hipblas", "watchdog", "during handling", "direct cause", "file "),
    *("second engine", "another ", "other thread", "thread-", "distinct sizes"),
    *("illegal", "misaligned", "launch failure", "fault", "signal 11", "died with", "nccl"),
    *("timed out", "timing out", "block found", "workspace", "overflow", "too large for buffer"),
    *("graph warm", " code", "(code", "version", "engine (v", ":v", "text_generation_"),
)
"""One of these stands in every line that matters, in small letters; most lines of a log have none,
and the patterns are a hundred times slower than looking for words."""
_HELP = re.compile(
    r"Search for `|Compile with `TORCH_USE|For debugging consider passing|Possible solutions"
    r"|CUDA kernel errors might be|You can suppress this exception|suppress_errors = True"
    r"|stacktrace below might be|Set TORCHDYNAMO_|If reserved but unallocated"
)
"""Advice that libraries print below an error; it names the error once more."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CHAINED = re.compile(r"During handling of the above exception|was the direct cause of the follow")
_FAILED_LOAD = re.compile(r"second engine|another (?:engine|model)|other thread|Thread-\d", re.I)
_CODE_ONLY = re.compile(
    r"\b(?:code|cuda ?error|cudaError(?:_t)?|CUresult)\b\W{0,4}(\d{3})(?!\d)", re.IGNORECASE
)
_IS_CODE = re.compile(r"[\"'(=]|\braise\b")
_NATIVE_FRAME = re.compile(r"(?:^|\s)(?:#\d+\s|frame #\d+)|\.so\b|^\s*\(")
_INNERMOST_FIRST = re.compile(r"most recent call first")
_DYNAMO = (r"[/\\]_dynamo[/\\]", r"[/\\]_inductor[/\\]")

Key = tuple[str, int | None, CallSite | None]


class LogReader:
    """Keeps findings and the frames since the last error.

    during : lines of findings made while a capture ran, as far as the text tells
    broken : somewhere a capture was reported as broken; `captures` : one was spoken of
    plain : the first exception that no rule knows; `chained` : another was raised while handling it
    """

    def __init__(self) -> None:
        self.number = 0
        self.seen_text = False
        self.in_capture = self.captures = self.broken = False
        self.other_thread = False
        self.found: dict[Key, Cause] = {}
        self.during: set[int] = set()
        self.plain: Cause | None = None
        self.chained = False
        self.served = Served()
        self.encoder = EncoderGraphs()
        self._last: Cause | None = None
        self._frames = Frames()
        self._first_of: dict[tuple[str, int | None], Key] = {}
        self._raised_again = False
        self._below: Key | None = None
        self._below_lines = 0
        self._innermost_first = False

    def take(self, line: str) -> None:
        """The next line."""
        self.number += 1
        line = line[:MOST_CHARS]
        line = _ANSI.sub("", line) if "\x1b" in line else line
        self.seen_text = self.seen_text or bool(line.strip())
        if self._below is None and not self._frames.awaits_code:
            small = f" {line.lower()}"
            if not any(word in small for word in _WORDS):
                return
        if not _HELP.search(line):
            self._read(line)

    def _read(self, line: str) -> None:
        self.served = served_by(line, self.served)
        self._note_capture(line)
        if _CHAINED.search(line):
            self._raised_again = True
            if self._last is not None:
                self.plain = self.plain if self.chained else self._last
                self.chained = True
        self.other_thread = self.other_thread or bool(_FAILED_LOAD.search(line))
        is_frame = self._frames.take(line)
        rules = [] if is_frame and _IS_CODE.search(line) else _rules(line)
        if rules:
            for rule in rules:
                self._add(rule, line)
            self._last = None
            self._end_traceback()
        elif not is_frame and names_exception(line, self._frames.sites):
            self._add_unknown(line)
            self._end_traceback()
        elif self._below is not None:
            self._read_below(self._below, line)

    def _end_traceback(self) -> None:
        self._frames.clear()
        self._raised_again = False

    def _note_capture(self, line: str) -> None:
        self.encoder.take(line, self.number)
        if _CAPTURE.search(line):
            self.in_capture = not _NO_CAPTURE.search(line)
            self.captures = True
            self.broken = self.broken or bool(known.INVALIDATED.pattern.search(line))

    def _add(self, rule: Rule, line: str) -> None:
        site, shown = self._frames.site(), self._layer(line)
        finer = self._refined(rule, line)
        if finer is known.COMPILE_IN_CAPTURE and shown is None:
            shown = Layer.COMPILE, shortened(line)
        key = (finer.klass, finer.code, site)
        cause = Cause(
            finer.klass,
            shortened(line),
            self.number,
            finer.cause,
            finer.remedy,
            finer.rank,
            finer.code,
            site=site,
            layer=shown[0] if shown else None,
            shown_by=shown[1] if shown else "",
        )
        origin = rule.klass, rule.code
        earlier = self._earlier(origin, key, line)
        if earlier is not None:
            self.found[earlier] = _again(self.found[earlier], cause)
            return
        if self.in_capture:
            self.during.add(self.number)
        if len(self.found) < MOST_CAUSES:
            self.found[key] = cause
            self._first_of.setdefault(origin, key)
            # A watchdog's own stack says who noticed the error, not who made it.
            self._below = None if "watchdog" in line.lower() else key
            self._below_lines, self._innermost_first = MOST_STACK_LINES, False

    def _earlier(self, origin: tuple[str, int | None], key: Key, line: str) -> Key | None:
        """The finding that this one tells again: the same one, or what a wrapper raised again."""
        if key in self.found:
            return key
        first = self._first_of.get(origin)
        if first is None:
            return None
        bare = key[2] is None or self.found[first].site is None
        return first if bare or self._raised_again or is_wrapper(line) else None

    def _refined(self, rule: Rule, line: str) -> Rule:
        if rule is known.GENERATOR_CALL and (
            "_dynamo" in line or "Dynamo" in line or self._frames.named(*_DYNAMO)
        ):
            return known.COMPILE_IN_CAPTURE
        if rule.klass in EXPLAINED_BY_CODE:
            return self._frames.explained(rule, line)
        return rule

    def _layer(self, line: str) -> tuple[Layer, str] | None:
        if self.in_capture and self.encoder.capturing:
            return Layer.ENCODER, self.encoder.evidence
        found = layer_of(self._frames.sites)
        if found is not None:
            layer, site = found
            return layer, f"{site.file}, line {site.line}"
        named = None if "watchdog" in line.lower() else layer_in(line)
        return (named, shortened(line)) if named is not None else None

    def _add_unknown(self, line: str) -> None:
        shown = layer_of(self._frames.sites)
        self._last = unknown(
            line, shortened(line), self.number, self._frames.site(), shown, self.in_capture
        )
        self._below = None
        keeps = self.plain is not None and (self.chained or self._last.klass != "capture_failed")
        if self.plain is None or (not keeps and not is_wrapper(line, empty=True)):
            self.plain = self._last

    def _read_below(self, key: Key, line: str) -> None:
        """The stack that native code prints below its message."""
        self._below_lines -= 1
        if self._below_lines < 0 or "Traceback (most" in line or "watchdog" in line.lower():
            self._below = None
            return
        cause = self.found[key]
        self._innermost_first = self._innermost_first or bool(_INNERMOST_FIRST.search(line))
        if self._innermost_first and self._frames.sites:
            self.found[key] = _placed(cause, self._frames)
            self._frames.clear()
        elif _NATIVE_FRAME.search(line):
            self.found[key] = _named_below(cause, line)


def _rules(line: str) -> list[Rule]:
    """Rules that a line meets; several errors told in one line are all kept."""
    rules = [rule for rule in _ALL_RULES if rule.pattern.search(line) is not None]
    if not rules:
        match = _CODE_ONLY.search(line)
        return [BY_CODE[int(match[1])]] if match and int(match[1]) in BY_CODE else []
    # A watchdog's line holds the text of error 900 too: the first rule is the finer one.
    return [r for r in rules if r.code is None or r.code != rules[0].code or r is rules[0]]


def _again(first: Cause, later: Cause) -> Cause:
    """A finding that was told once more; what only the later one shows is kept."""
    told = replace(first, times=first.times + 1)
    if first.site is None and later.site is not None:
        told = replace(
            told, site=later.site, klass=later.klass, cause=later.cause, remedy=later.remedy
        )
    if first.layer is None:
        told = replace(told, layer=later.layer, shown_by=later.shown_by)
    return told


def _placed(cause: Cause, frames: Frames) -> Cause:
    """The cause with the first frame, of a stack that begins with the innermost."""
    found, site = layer_of(frames.sites), frames.site()
    engine_line = any(not is_library(frame) for frame in frames.sites)
    if cause.site is None and site is not None and engine_line:
        cause = replace(cause, site=site)
    if cause.layer is None and found is not None:
        cause = replace(cause, layer=found[0], shown_by=f"{found[1].file}, line {found[1].line}")
    return cause


def _named_below(cause: Cause, line: str) -> Cause:
    """The cause with what a native frame names: a layer, or the operation that was forbidden."""
    layer = layer_in(line)
    if cause.layer is None and layer is not None:
        cause = replace(cause, layer=layer, shown_by=shortened(line))
    clue = next((clue for clue in NAMED if clue.pattern.search(line)), None)
    if clue is not None and cause.klass == known.FORBIDDEN.klass:
        rule = explained_by(known.FORBIDDEN, clue)
        cause = replace(cause, klass=rule.klass, cause=rule.cause, remedy=rule.remedy)
    return cause


def shortened(line: str) -> str:
    """A line for people: blanks run together, its end cut."""
    text = " ".join(line.split())
    return text if len(text) <= EVIDENCE_CHARS else f"{text[: EVIDENCE_CHARS - 1]}…"
