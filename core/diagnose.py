"""From a log or a traceback to the first cause of a failed capture.

The error that is read last is seldom the one that came first: code 901 and a poisoned allocator
follow from something earlier. So every line is looked at, each finding is ranked, and root causes
stand before what follows from them, in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.errors import FileContentError
from core.failures import capture_errors as known
from core.failures.capture_errors import Rank
from core.failures.cause import Cause as Cause
from core.failures.cause import Diagnosis as Diagnosis
from core.failures.encoder_graphs import ENCODER_OOM
from core.failures.layers import Layer
from core.failures.log_reader import MOST_CAUSES as MOST_CAUSES
from core.failures.log_reader import LogReader
from core.failures.native_errors import FOLLOWERS, NATIVE_CLASSES, STICKY_CODES
from core.failures.switches import to_switch_off

ORDER = (Rank.ROOT, Rank.SIGN, Rank.CONSEQUENCE)
NO_SWITCH = ("oom_or_env", "oom_in_capture", "no_kv_memory", "size_above_limit", "engine_ended")
"""Classes that no layer brings about by itself."""


def diagnose(text: str | Iterable[str]) -> Diagnosis:
    """Read a log, a traceback or an error message.

    Raises FileContentError if there is no text in it.
    """
    reader = LogReader()
    for line in text.splitlines() if isinstance(text, str) else text:
        reader.take(line)
    if not reader.seen_text:
        raise FileContentError("There is no text to diagnose; give a log or a traceback.")
    causes = _ordered(reader)
    if causes:
        causes = (_with_switches(causes[0], reader), *causes[1:])
    return Diagnosis(causes, reader.number, reader.served)


def _with_switches(cause: Cause, reader: LogReader) -> Cause:
    """The first cause with what to switch off: a search where the message names no layer."""
    if cause.klass in NO_SWITCH or cause.rank is Rank.SIGN and cause.layer is None:
        return cause
    unnamed = ("other_error", "capture_failed", known.INVALIDATED.klass)
    search = cause.klass in NATIVE_CLASSES or (
        cause.klass in unnamed and (reader.captures or cause.klass != "other_error")
    )
    return replace(cause, switches=to_switch_off(reader.served, cause.layer, search=search))


def _ordered(reader: LogReader) -> tuple[Cause, ...]:
    """Findings judged by what else the text holds: root causes, signs, then what follows."""
    causes = [
        _in_context(
            replace(cause, in_capture=cause.line in reader.during),
            reader.broken or cause.line in reader.during,
        )
        for cause in reader.found.values()
    ]
    if reader.plain is not None:
        causes += _plain(reader.plain, reader.chained, causes)
    sign = reader.encoder.sign()
    causes += [sign] if sign is not None else []
    causes = _followers_ranked(causes)
    causes.sort(key=lambda cause: (ORDER.index(cause.rank), cause.line))
    roots = [cause for cause in causes if cause.rank is Rank.ROOT]
    if not roots:
        return _without_root(causes, reader.other_thread)
    return tuple(_explained_by(cause, roots[0].line) for cause in causes)


def _followers_ranked(causes: list[Cause]) -> list[Cause]:
    """After an error that breaks the device, what fails later in the text follows from it."""
    broken = [c.line for c in causes if c.rank is Rank.ROOT and c.code in STICKY_CODES]
    lost = [c.line for c in causes if c.rank is Rank.ROOT and c.klass != "collective_timeout"]

    def follows(cause: Cause) -> bool:
        after_broken = broken and cause.line > min(broken) and cause.klass in FOLLOWERS
        after_lost = lost and cause.line > min(lost) and cause.klass == "collective_timeout"
        return cause.rank is Rank.ROOT and bool(after_broken or after_lost)

    return [replace(c, rank=Rank.CONSEQUENCE) if follows(c) else c for c in causes]


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
    if cause.layer is Layer.ENCODER and known.OUT_OF_MEMORY.search(cause.evidence):
        return replace(
            cause, klass=ENCODER_OOM.klass, cause=ENCODER_OOM.cause, remedy=ENCODER_OOM.remedy
        )
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
