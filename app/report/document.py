"""What a report holds: sections of sentences, facts, tables, charts and texts to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

Row = Mapping[str, object]


@dataclass(frozen=True)
class Sentences:
    """Lines of text, as a list where there are several; `quiet` ones explain."""

    lines: tuple[str, ...]
    quiet: bool = False


@dataclass(frozen=True)
class Facts:
    """Labels with what they say."""

    items: Mapping[str, object]


@dataclass(frozen=True)
class Table:
    """Rows as on the pages."""

    rows: Sequence[Row]


@dataclass(frozen=True)
class Chart:
    """A figure, drawn live by the reader's browser."""

    figure: go.Figure


@dataclass(frozen=True)
class Code:
    """Text to paste, line by line as it is."""

    text: str


Block = Sentences | Facts | Table | Chart | Code


@dataclass(frozen=True)
class Section:
    """One heading, and where its numbers come from."""

    title: str
    blocks: tuple[Block, ...]
    origin: str = ""


@dataclass(frozen=True)
class Report:
    """A title, what stands below it, and the sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]

    @property
    def figures(self) -> tuple[go.Figure, ...]:
        """Every chart, in order."""
        blocks = (block for section in self.sections for block in section.blocks)
        return tuple(block.figure for block in blocks if isinstance(block, Chart))


def said(*lines: str, quiet: bool = False) -> Sentences:
    """Sentences from what is not empty."""
    return Sentences(tuple(line for line in lines if line), quiet)
