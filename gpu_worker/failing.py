"""An exception of the measuring process as one sentence: what, the bytes asked for, the way out.

Needs no torch, so that it can also tell why torch did not come up.
"""

from __future__ import annotations

import re

from core.errors import ProjectError
from core.failures.capture_errors import OUT_OF_MEMORY

NO_HOST_MEMORY = re.compile(r"can't allocate memory|Storage size calculation overflowed")
ASKED = re.compile(r"tried to allocate ([\d.]+) (bytes|[KMGT]iB)", re.I)
FREE = re.compile(r"of which ([\d.]+ [KMGT]iB) is free")
"""As torch's allocators on the CPU and on a card tell it."""


def sentence(error: BaseException, what: str) -> str:
    """A project's message as it is, memory that ran out in words, another error with its class
    and first line.

    what : for which memory ran out, e.g. "size 4,096"
    """
    text = first_cause(error)
    if is_out_of_memory(error, text):
        return _memory_sentence(text, what)
    return str(error) if isinstance(error, ProjectError) else text


def is_out_of_memory(error: BaseException, text: str) -> bool:
    """Whether memory of the host or the card did not suffice."""
    known = OUT_OF_MEMORY.search(text) or NO_HOST_MEMORY.search(text)
    return isinstance(error, MemoryError) or known is not None


def first_cause(error: BaseException) -> str:
    """Class and first line of the error that came first.

    Leaving a broken capture raises once more ("failed due to a previous error"); Python keeps
    the earlier one as context.
    """
    while error.__context__ is not None and error.__cause__ is None:
        error = error.__context__
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


def _memory_sentence(text: str, what: str) -> str:
    asked, free = ASKED.search(text), FREE.search(text)
    parts = [f"Memory ran out for {what}"]
    if asked is not None:
        parts.append(f"{_size_text(float(asked[1]), asked[2])} more were asked for")
    if free is not None:
        parts.append(f"{free[1]} are free")
    return (
        f"{'; '.join(parts)}. Measure smaller sizes, a shorter context or a smaller model, or free "
        "memory."
    )


def _size_text(number: float, unit: str) -> str:
    if unit.lower() != "bytes":
        return f"{number:,.2f} {unit}"
    return f"{number / 2**30:,.2f} GiB" if number >= 2**30 else f"{number / 2**20:,.2f} MiB"
