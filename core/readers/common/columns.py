"""Which column holds what: names are matched without case, spaces, `_` and `-`.

Never a total, a limit, a cached part, a latency or an id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from core.errors import ColumnMappingError

_UNIT_TOKENS = {
    "ms": "ms", "millis": "ms", "milliseconds": "ms", "msec": "ms",
    "us": "us", "micros": "us", "microseconds": "us",
    "ns": "ns", "nanos": "ns", "nanoseconds": "ns",
    "s": "s", "sec": "s", "secs": "s", "seconds": "s",
    "unix": "", "epoch": "", "utc": "",
}  # fmt: skip

DECOYS = frozenset((
    "total", "max", "min", "mean", "avg", "limit", "cached", "cache", "latency", "duration",
    "elapsed", "ttft", "tpot", "itl", "tbt", "e2e", "id", "ids", "ratio", "budget", "hit", "hits",
    "uid", "user", "reasoning", "cost", "price", "spend", "rate", "throughput", "per", "mode",
))  # fmt: skip
"""A name with one of these words is never taken for a length, a count or an arrival."""

ARRIVAL = (
    "timestamp", "arrival", "arrivaltime", "arrivaltimestamp", "arrivedat", "arrived", "ts", "time",
    "starttime", "startedat", "start", "created", "createdat", "requesttime", "requeststart",
    "requeststarttime", "launchtime", "datetime", "receivedat", "received", "timestampstart",
    "requestreceivedts", "starttimestamp", "requesttimestamp", "arrivals", "date", "started",
    "sentat", "sent", "submittime", "submittedat", "submitted", "eventtime", "requestts",
    "requestedat", "gmtcreate", "createtime", "receivets", "receivetime", "apireceivets",
)  # fmt: skip
PROMPT = (
    "prompttokens", "inputtokens", "inputlength", "contexttokens", "numprefilltokens", "promptlen",
    "promptlength", "isl", "intok", "nin", "numinputtokens", "numprompttokens", "promptsize",
    "inputlen", "requesttokens", "prefilltokens", "tokensin", "intokens", "prefilllen",
    "prompttokencount", "inputtokencount", "inputsequencelength", "inputsize", "inlen",
    "promptntokens", "contextlen", "contextlength", "inputseqlen", "prefilllength", "lenin",
)  # fmt: skip
OUTPUT = (
    "completiontokens", "outputtokens", "outputlength", "generatedtokens", "numdecodetokens",
    "generationtokens", "responsetokens", "osl", "outtok", "nout", "numoutputtokens", "outputlen",
    "decodetokens", "tokensout", "outtokens", "numgeneratedtokens", "completionlen", "responselen",
    "completionlength", "generationlength", "responselength", "generatedlength", "decodelen",
    "outputtokencount", "completiontokencount", "outputsequencelength", "outputsize", "outlen",
    "decodelength", "generationlen", "outputseqlen", "numcompletiontokens", "lenout",
)  # fmt: skip
PROMPT_SHORT = ("prompt", "input", "context", "prefill")
OUTPUT_SHORT = ("output", "completion", "response", "generated", "generation", "decode")
LENGTH = ("length", "len", "tokens", "size", "seqlen", "sequencelength", "numtokens", "bucket")
BATCH = ("batch", "batchsize", "bs", "running", "numrunning", "runningreqs", "runningrequests",
         "numreqs", "decodebatch", "stepsize", "batchtokens", "numseqs")  # fmt: skip
COUNT = ("count", "counts", "freq", "frequency", "requests", "n", "numrequests", "steps",
         "occurrences", "num", "share", "percent", "weight", "numsteps", "pct",
         "fraction")  # fmt: skip

_LABELS = {
    "arrival": "arrival",
    "prompt_tokens": "prompt tokens",
    "output_tokens": "output tokens",
    "length": "length",
    "count": "count",
}


def label_of(role: str) -> str:
    """A role in words, for messages."""
    return _LABELS.get(role, role)


def tokens_of(name: str) -> list[str]:
    """A column name in lower-case words: "ts_epoch_ms", "startTime", "Prompt Length (s)"."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [word for word in re.split(r"[^A-Za-z0-9%]+", spaced.lower()) if word]


def unit_in_name(name: str) -> str | None:
    """The time unit that a column's name ends in, e.g. "ms" for "timestamp_ms"."""
    words = tokens_of(name)
    if len(words) > 1:
        for word in reversed(words):
            unit = _UNIT_TOKENS.get(word)
            if unit is None:
                return None
            if unit:
                return unit
    return None


def plain(name: str) -> str:
    """A name as it is compared."""
    key = re.sub(r"[\s_\-.()]+", "", name).lower()
    return re.sub(r"(?<=.)toks$", "tokens", key)


def _arrival_key(name: str) -> str:
    words = tokens_of(name)
    while len(words) > 1 and words[-1] in _UNIT_TOKENS:
        words.pop()
    return "".join(words)


def is_decoy(name: str) -> bool:
    return any(word in DECOYS for word in tokens_of(name))


def find(names: Sequence[str], wanted: Sequence[str], arrival: bool = False) -> list[int]:
    """Indices of the columns whose name is in wanted, the most telling name first."""
    key = _arrival_key if arrival else plain
    keys = [None if is_decoy(name) else key(name) for name in names]
    return [i for want in wanted for i, got in enumerate(keys) if got == want]


def match(
    names: Sequence[str], numeric: Callable[[int], bool] = lambda index: True
) -> dict[str, int]:
    """{role: index} of arrival, prompt_tokens and output_tokens, as far as names tell.

    numeric : whether a column holds numbers; a bare "prompt" or "output" may be text
    """
    found: dict[str, int] = {}
    for role, wanted in (
        ("arrival", ARRIVAL),
        ("prompt_tokens", PROMPT),
        ("output_tokens", OUTPUT),
    ):
        hits = find(names, wanted, arrival=role == "arrival")
        if hits:
            found[role] = hits[0]
    for role, wanted in (("prompt_tokens", PROMPT_SHORT), ("output_tokens", OUTPUT_SHORT)):
        hits = [index for index in find(names, wanted) if numeric(index)]
        if role not in found and hits:
            found[role] = hits[0]
    return found


def rivals(names: Sequence[str], taken: Mapping[str, int]) -> list[str]:
    """Sentences about columns that could have been taken as well."""
    wanted = {"arrival": ARRIVAL, "prompt_tokens": PROMPT, "output_tokens": OUTPUT}
    sentences = []
    for role, index in taken.items():
        others = [i for i in find(names, wanted.get(role, ()), role == "arrival") if i != index]
        if others:
            listed = ", ".join(repr(names[i]) for i in others[:3])
            sentences.append(
                f"{names[index]!r} was taken for {label_of(role)}; {listed} would fit by name too."
            )
    return sentences


def index_of(names: Sequence[str], wanted: str, role: str, where: str) -> int:
    """The column that the user named: exactly, else without case and signs.

    Raises ColumnMappingError, which carries the columns there are.
    """
    if wanted in names:
        return list(names).index(wanted)
    hits = [i for i, name in enumerate(names) if plain(name) == plain(wanted)]
    if len(hits) == 1:
        return hits[0]
    raise ColumnMappingError(
        f"{where}: there is no column {wanted!r} to take as {label_of(role)}; "
        f"columns are {listed(names)}.",
        columns=tuple(names),
    )


def listed(names: Sequence[str], most: int = 12) -> str:
    """Column names for a message; long ones are cut, since a header can turn out to be text."""
    shown = [repr(name if len(name) <= 32 else name[:29] + "...") for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
