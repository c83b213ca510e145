"""Which texts of a reading are stored: our own words, never those of the uploaded file.

Numbers are kept whole. A fact in words is kept where all its words are engines', units' and modes'
(VOCABULARY), such as "vLLM", "0.23.0" or "FULL_AND_PIECEWISE". Names that a file chooses freely
(of columns, models, runs, files in an archive) are left out, and out of the warnings too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from core.readers.reading import Reading

NAME = "(a name in the file)"
_WORDS = """
    vllm sglang tensorrt llm trtllm tgi lmdeploy fastdeploy gaudi dynamo
    request requests prompt generation in out output input iteration token tokens length lengths num
    histogram bucket count sum total max min mean median p running tables queue
    full and piecewise decode prefill mixed only none true false default eager auto
    capturing cuda graph graphs done rc dev post
    dates times read as utc seconds milliseconds microseconds nanoseconds minutes hours since
    the format or column says judged by their size you chose
"""
VOCABULARY = frozenset(_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_PRINTABLE = re.compile(r"[ -~]*")
_GONE = object()


def without_file_texts(reading: Reading) -> Reading:
    """The same numbers, and of the words only our own; a second time changes nothing."""
    names = sorted({name for name in _names(reading) if not is_ours(name)}, key=len, reverse=True)
    return replace(
        reading,
        columns={},
        all_columns=(),
        facts={k: v for k, v in _each_ours(reading.facts.items()) if v is not _GONE},
        warnings=tuple(_without(text, names) for text in reading.warnings),
    )


def is_ours(text: str) -> bool:
    """Whether a text is made of numbers and words of VOCABULARY alone."""
    words = _WORD.findall(text.lower())
    return _PRINTABLE.fullmatch(text) is not None and VOCABULARY.issuperset(words)


def _names(reading: Reading) -> Iterator[str]:
    """What the file, not we, called something."""
    yield from reading.columns.values()
    yield from reading.all_columns
    yield from _texts(list(reading.facts.values()))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _each_ours(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    return ((label, _ours(value)) for label, value in items)


def _ours(value: Any) -> Any:
    """The value without what is not ours; _GONE where that is all of it."""
    if isinstance(value, str):
        return value if is_ours(value) else _GONE
    if isinstance(value, Mapping):
        named = [(label, item) for label, item in value.items() if is_ours(str(label))]
        kept = {label: item for label, item in _each_ours(named) if item is not _GONE}
        return kept if kept or not value else _GONE
    if isinstance(value, (list, tuple)):
        left = [item for item in map(_ours, value) if item is not _GONE]
        return left if left or not value else _GONE
    return value


def _without(text: str, names: list[str]) -> str:
    """The text with every name replaced, in one pass; names : the longer first."""
    if not names:
        return text
    either = "|".join(map(re.escape, names))
    return re.sub(rf"(?<!\w)(?:{either})(?!\w)", NAME, text)
