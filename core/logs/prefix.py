"""What stands before an engine's message: collectors, times, processes, ranks, levels, quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_ESCAPE = re.compile(r"(?:\x1b|#033|\^\[|\\x1b|\\u001b|\\033)\[[0-9;?]*[A-Za-z]")
"""A colour; collectors also write the escape sign as text."""
_LEVEL = "DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL"
_DATE = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
_START = (
    rf"(?=(?:\[(?:{_DATE} )?\d\d:\d\d|\[TRT|\[Warmup|\([A-Za-z][\w.\-]* [^()]{{0,200}}pid="
    rf"|(?:{_LEVEL})\b|{_DATE}[T ]\d|\| ?[\dU\-]|- Mode:|- Capture sizes|Decode batch|Prefill batch"
    r"|std(?:out|err) [FP] |[\w.\-/@]{1,80} {1,40}\| |\[[\w.\-]{1,80}/|\[\d+,\d+\]<|\[rank\d"
    rf"|> |<\d{{1,3}}>1 |[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}|\{{\"))"
)
"""How a line of an engine, or another prefix, begins: bare words and numbers are prefixes only
before it."""
_LABEL = r"(?=[\w.\-]*[a-z])[a-z0-9][a-z0-9.\-]*"

_KINDS = {
    "quote": r"(?:> ?)+",
    "syslog": r"<\d{1,3}>1 \S+ (?P<syslog_from>\S+ \S+) \S+ \S+ (?:-|\[[^\]]*\]) ",
    "journal": rf"[A-Z][a-z]{{2}} [ \d]\d {_CLOCK} (?P<journal_from>[\w.\-]+ [\w.\-/@]+)"
    r"(?:\[\d+\])?: ",
    "service": r"(?P<service_from>[\w.\-]+ [\w.\-/@]+)\[\d+\]: ",
    "iso": rf"{_DATE}[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?(?:\s+\|)?(?:\s+|$)",
    "named": rf"- (?:[\w.]+ - )?(?:{_LEVEL}) - ",
    "stream": r"(?:stdout|stderr) [FP] ",
    "compose": r"(?!(?:FULL|PIECEWISE|NONE)\b)"
    r"(?P<compose_from>(?=[\w.\-/@]{0,120}[A-Za-z])[\w.\-/@]{1,120})\s{0,80}\|\s",
    "pod": r"\[(?P<pod_from>[\w.\-]*[A-Za-z][\w.\-]*/[\w.\-/]+)\]\s?",
    "mpi": r"\[\d+,\d+\]<std(?:out|err)>:\s?",
    "rank": r"\[rank\d+\]:\s?",
    "sglang": rf"\[(?P<sglang_time>(?:{_DATE} )?{_CLOCK})(?P<sglang_ranks>(?: [A-Z_]+\d+)*)\]\s*",
    "process": r"(?P<process_name>\([A-Za-z][\w.\-]*(?: [^()]*)?\))\s*",
    "level": rf"\[?(?:{_LEVEL})(?:\]|:)?(?:\s+|$)",
    "time": rf"(?P<vllm_time>(?:\d\d-\d\d )?{_CLOCK})(?:\s+|$)",
    "place": r"\[[\w./\-]+:\d+\]\s?",
    "number": rf"\d{{1,7}}:\s?{_START}",
    "words": rf"(?P<words_from>(?:{_LABEL}\s+){{1,9}}){_START}",
}
"""Kinds of prefix, each tried again until none is left; groups ending in _from tell whose line it
is."""
_PREFIX = re.compile(r"\s*(?:" + "|".join(f"(?P<{k}>{p})" for k, p in _KINDS.items()) + ")")
_USUAL = re.compile(
    r"(?P<process>(?:\([A-Za-z][\w.\-]*(?: [^()]*)?\)\s*)*)(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) "
    r"(?P<time>\d\d-\d\d \d\d:\d\d:\d\d) \[[\w./\-]+:\d+\]\s?"
)
"""The most frequent prefix at once, for speed alone: the kinds above take it off as well."""
MOST = 16
"""No line has more prefixes; what seems to, is text."""


NO_RANKS: Mapping[str, int] = MappingProxyType({})


class Peeled(NamedTuple):
    """A message without what stood before it.

    process : "(APIServer pid=1)"; source : container, pod or host; time : the engine's own, as it
    prints it; ranks : {"TP": 0, "DP": 1}
    """

    message: str
    process: str = ""
    source: str = ""
    time: str = ""
    ranks: Mapping[str, int] = NO_RANKS


def strip_ansi(text: str) -> str:
    """Without colours."""
    if "\x1b" in text or "#033[" in text or "^[[" in text or "\\" in text:
        return _ESCAPE.sub("", text)
    return text


def peel(text: str) -> Peeled:
    """Take every known prefix off a line, outermost first."""
    text = strip_ansi(text)
    at, processes, sources, time = 0, [], [], ""
    ranks: dict[str, int] = {}
    usual = _USUAL.match(text)
    if usual is not None:
        at, time = usual.end(), usual["time"]
        processes += [usual["process"].strip()] if usual["process"] else []
    for _ in range(MOST):
        match = _PREFIX.match(text, at)
        if match is None or match.end() == at:
            break
        at, kind = match.end(), match.lastgroup or ""
        if kind == "process":
            processes.append(match["process_name"])
        elif kind in ("sglang", "time"):
            time = match[f"{'sglang' if kind == 'sglang' else 'vllm'}_time"]
            ranks.update(_ranks(match["sglang_ranks"] or ""))
        elif f"{kind}_from" in _PREFIX.groupindex:
            sources.append(match[f"{kind}_from"].strip())
    return Peeled(text[at:].strip(), " ".join(processes), " ".join(sources), time, ranks)


def _ranks(text: str) -> dict[str, int]:
    """ " TP0 DP1" as {"TP": 0, "DP": 1}."""
    found = {}
    for part in text.split():
        kind = part.rstrip("0123456789")
        found[kind] = int(part[len(kind) :][:6])
    return found
