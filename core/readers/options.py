"""What a user may say about a file before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.errors import SettingError

COLUMN_ROLES = ("arrival", "prompt_tokens", "output_tokens", "length", "count")
"""What a column may be mapped to."""

TIME_UNITS = ("auto", "s", "ms", "us", "ns")
HISTOGRAM_KINDS = ("prompt", "output", "batch")

ALL_PARTS = "all"
"""Value of ReadOptions.part that pools every run, benchmark or array of a file."""


@dataclass(frozen=True)
class ReadOptions:
    """Choices of the user; the defaults let the content decide.

    columns : {our name: column of the file}, our names are COLUMN_ROLES; "column 2" in a file
        without a header
    time_unit : unit of numeric arrivals
    histogram_of : what a `length,count` file counts; None lets its header decide
    model : keep this model only, in files that hold several
    part : which run, benchmark, array or archive member to read where a file holds several;
        "all" pools them; None takes the one that the reader says in a warning
    spread_ticks : spread requests that share an arrival evenly over the time to the next one
    max_inflated_bytes : most bytes a compressed file may grow to [bytes]
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    time_unit: Literal["auto", "s", "ms", "us", "ns"] = "auto"
    histogram_of: Literal["prompt", "output", "batch"] | None = None
    model: str | None = None
    part: str | None = None
    spread_ticks: bool = False
    max_inflated_bytes: int = 2**30

    def __post_init__(self) -> None:
        for role in self.columns:
            if role not in COLUMN_ROLES:
                raise SettingError(
                    f"A column cannot be mapped to {role!r}; use one of {', '.join(COLUMN_ROLES)}."
                )
        if self.time_unit not in TIME_UNITS:
            raise SettingError(
                f"Time unit {self.time_unit!r} is unknown; use one of {', '.join(TIME_UNITS)}."
            )
        if self.histogram_of is not None and self.histogram_of not in HISTOGRAM_KINDS:
            raise SettingError(
                f"A histogram of {self.histogram_of!r} is unknown; "
                f"use one of {', '.join(HISTOGRAM_KINDS)}."
            )
        if self.max_inflated_bytes < 1:
            raise SettingError(f"max_inflated_bytes is {self.max_inflated_bytes}; 1 or more.")
