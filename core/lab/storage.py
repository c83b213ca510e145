"""Device memory of the emulated card: one array of words, and places in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.records import FloatArray

BASE = 0x7F00_0000_0000
WORD_BYTES = 8
ALIGNMENT_BYTES = 256
"""As of a device allocation."""


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: its first byte and its shape. A kernel keeps this, never a name."""

    address: int
    shape: tuple[int, ...]

    @property
    def words(self) -> int:
        return math.prod(self.shape)

    def rows(self, start: int, stop: int) -> Place:
        """The rows from start to stop, in the same memory."""
        row_words = math.prod(self.shape[1:])
        offset = start * row_words * WORD_BYTES
        return Place(self.address + offset, (stop - start, *self.shape[1:]))


class Storage:
    """Memory that only grows; every allocation is zero and has an address of its own."""

    def __init__(self) -> None:
        self._words = np.zeros(1024)
        self._used = 0

    def allocate(self, shape: tuple[int, ...]) -> Place:
        place = Place(BASE + self._used * WORD_BYTES, shape)
        step = ALIGNMENT_BYTES // WORD_BYTES
        self._used += -(-max(1, place.words) // step) * step
        if self._used > len(self._words):
            self._words = np.concatenate([self._words, np.zeros(max(self._used, 1024))])
        return place

    def __getitem__(self, place: Place) -> FloatArray:
        """A view: writing to it writes to memory."""
        start = (place.address - BASE) // WORD_BYTES
        return self._words[start : start + place.words].reshape(place.shape)
