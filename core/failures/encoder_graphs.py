"""Graphs of an image or video encoder, which the sizes of decode graphs do not change."""

from __future__ import annotations

import re

from core.failures.capture_errors import OUT_OF_MEMORY, Rank, rule
from core.failures.cause import Cause
from core.failures.layers import Layer

_CAPTURING = re.compile(
    r"capturing\b.{0,120}\bencoder|encoder cuda ?graph.{0,120}captur|capturing\b.{0,120}\bvit\b",
    re.I,
)
_OTHERS = re.compile(r"capturing\b(?!.{0,120}\b(?:encoder|vit)\b)", re.I)
_COUNTED = re.compile(r"\bENCODER=[1-9]\d* \(largest=")
_POOL = re.compile(
    r"graph pool memory: (\d+(?:\.\d+)?) GiB \(actual\), (\d+(?:\.\d+)?) GiB \(estimated\)"
)
SURPRISE_GIB = 1.0
"""So much above the estimate is no rounding."""
_REMEDY = (
    "Switch the encoder's graphs off, or give them fewer and smaller token budgets; the list of "
    "decode sizes does not change them."
)
ENCODER_OOM = rule(
    "encoder_graphs",
    OUT_OF_MEMORY.pattern,
    "Memory ran out while graphs of the image or video encoder were captured.",
    _REMEDY,
)


class EncoderGraphs:
    """What the lines say of them.

    capturing : the last capture spoken of is the encoder's; evidence : the line that says so
    """

    def __init__(self) -> None:
        self.capturing = False
        self.evidence = ""
        self._counted = ""
        self._pool: tuple[int, str, float, float] | None = None

    def take(self, line: str, number: int) -> None:
        """The next line."""
        if _CAPTURING.search(line):
            self.capturing, self.evidence = True, " ".join(line.split())[:240]
        elif _OTHERS.search(line):
            self.capturing = False
        if _COUNTED.search(line):
            self._counted = line
        match = _POOL.search(line)
        if match:
            self._pool = number, " ".join(line.split())[:240], float(match[1]), float(match[2])

    def sign(self) -> Cause | None:
        """A pool far above its estimate, where encoder graphs are captured too."""
        if self._pool is None or not (self._counted or self.evidence):
            return None
        number, line, actual_gib, estimated_gib = self._pool
        if actual_gib - estimated_gib < SURPRISE_GIB:
            return None
        return Cause(
            "encoder_graphs",
            line,
            number,
            f"Graphs took {actual_gib:g} GiB (measured by the engine) against {estimated_gib:g} "
            "GiB estimated; the encoder's graphs are captured too, and are the likely rest.",
            _REMEDY,
            Rank.SIGN,
            layer=Layer.ENCODER,
            shown_by=" ".join((self._counted or self.evidence).split())[:240],
        )
