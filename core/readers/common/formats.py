"""A format as the sniffer sees it: how to recognise it and who reads it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from core.readers.common.head import Head
from core.readers.common.source import Source
from core.readers.options import ReadOptions
from core.readers.reading import Reading


@dataclass(frozen=True)
class Format:
    """One file format.

    detect : looks at the beginning of the content, never at the name
    marks : messages of a log, looked for past the beginning when nothing else fits
    rank : formats of a lower rank are asked first; 10 named, 50 general, 90 last resort
    """

    name: str
    label: str
    detect: Callable[[Head, ReadOptions], bool]
    read: Callable[[Source, Head, ReadOptions], Reading]
    rank: int = 10
    marks: re.Pattern[str] | None = None
