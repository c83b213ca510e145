"""What a shell script consists of."""

from __future__ import annotations

from dataclasses import dataclass, field

PLAIN, DOUBLE, SINGLE = "", '"', "'"


@dataclass(frozen=True)
class Piece:
    """Part of a word. quote : PLAIN and DOUBLE are expanded, SINGLE stands as it is."""

    text: str
    quote: str = PLAIN


@dataclass(frozen=True)
class Word:
    """A word as it is written, before any expansion."""

    pieces: tuple[Piece, ...]
    line: int

    @property
    def bare(self) -> str:
        """The word where nothing of it is quoted; else empty."""
        quoted = any(piece.quote for piece in self.pieces)
        return "" if quoted else "".join(piece.text for piece in self.pieces)

    @property
    def raw(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class Array:
    """NAME=(words) or NAME+=(words)."""

    name: str
    append: bool
    words: tuple[Word, ...]
    line: int


@dataclass(frozen=True)
class Operator:
    """; & && || | ( ) ;; or a new line."""

    text: str
    line: int


@dataclass(frozen=True)
class Redirect:
    """> >> < or <<< and what follows."""

    text: str
    target: Word
    line: int


@dataclass
class Heredoc:
    """<<NAME: the lines below. expand : whether variables in them are replaced."""

    end: str
    expand: bool
    strip: bool
    line: int
    body: str = field(default="")


Token = Word | Array | Operator | Redirect | Heredoc
