"""Marks: places in a text whose value nothing in the file gives.

A mark is the reference itself between two characters that no file holds, so that it survives the
splitting of words; it is written out again as `${NAME}`, `$((..))` or `$(command)`.
"""

from __future__ import annotations

import re

_OPEN, _CLOSE = "\ue000", "\ue001"
_SHIFT = 0xE100
"""Inside a mark every sign but letters and digits stands shifted by this, so that no other reader
takes a dollar, a brace or a blank in it for its own."""
_MARK = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
LONGEST = 60


def mark(reference: str) -> str:
    """A mark for a reference as it is written."""
    shown = " ".join(reference.split())
    if len(shown) > LONGEST:
        shown = shown[: LONGEST - 2] + ".."
    hidden = "".join(_shifted(sign) for sign in shown)
    return f"{_OPEN}{hidden}{_CLOSE}"


def _shifted(sign: str) -> str:
    return sign if sign.isalnum() or ord(sign) > 0x7F else chr(ord(sign) + _SHIFT)


def _restored(sign: str) -> str:
    return chr(ord(sign) - _SHIFT) if _SHIFT <= ord(sign) <= _SHIFT + 0x7F else sign


def mark_of(name: str) -> str:
    """A mark for a variable."""
    return mark(f"${{{name}}}" if name.isidentifier() else f"${name}")


def mark_of_command(command: str) -> str:
    """A mark for the output of a command, which is not run."""
    plain = " ".join(command.translate(str.maketrans("()", "[]")).split())
    return mark(f"$({plain[: LONGEST - 4]})")


def is_marked(text: str) -> bool:
    return _OPEN in text


def is_mark(text: str) -> bool:
    """Whether the text is one mark and nothing else."""
    return _MARK.fullmatch(text) is not None


def written(text: str) -> str:
    """The text with its marks as references again."""
    return _MARK.sub(lambda match: "".join(map(_restored, match[1])), text)


def cleaned(text: str) -> str:
    """A file's text without characters that would pass for marks."""
    return re.sub("[\ue000-\ue1ff]", "\ufffd", text)
