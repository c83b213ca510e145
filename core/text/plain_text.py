"""Text from outside, made harmless for a screen, a terminal or a spreadsheet; letters stay."""

from __future__ import annotations

import re

# CSI and the string sequences (OSC, DCS, ...) whole, then any other escape with what follows it.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?",
    re.DOTALL,
)
_SPACES = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
# Other controls, marks that turn the direction of writing, and halves of characters.
_CONTROLS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
FORMULA_SIGNS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""What makes a spreadsheet take a text for a formula or a command, full-width forms included.

Source: OWASP, CSV Injection.
"""


def plain_line(text: str) -> str:
    """One line without terminal escapes, control characters and marks of writing direction."""
    without = _ESCAPES.sub("", text)
    return _CONTROLS.sub("", _SPACES.sub(" ", without))


def plain_lines(text: str) -> str:
    """The same, line by line: line ends stay."""
    return "\n".join(map(plain_line, _ESCAPES.sub("", text).splitlines()))


def cell_text(text: str) -> str:
    """One line that no spreadsheet takes for a formula: such a one gets a leading apostrophe."""
    line = plain_line(text)
    starts = (text.lstrip(" ")[:1], line.lstrip(" ")[:1])
    return f"'{line}" if any(start in FORMULA_SIGNS for start in starts) else line


def file_stem(text: str, most: int = 60) -> str:
    """A file name without ending: small letters, digits and hyphens."""
    stem = re.sub(r"[^a-z0-9]+", "-", plain_line(text).lower()).strip("-")
    return stem[:most].strip("-") or "untitled"
