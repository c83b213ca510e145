"""A rare bucket: capture it at start? Answered by break-even over real traffic."""

from __future__ import annotations

from dataclasses import dataclass

from core.bucket_break_even import BucketBreakEven, SetBreakEven
from core.errors import HistogramError
from core.lab.derivation import Derivation, Step


@dataclass(frozen=True)
class RareBucket:
    """The least used bucket among those that are used at all.

    share : of all steps
    """

    row: BucketBreakEven
    share: float
    derivation: Derivation


def rare_bucket(result: SetBreakEven, source: str) -> RareBucket:
    """What to do with the rarest used bucket of a set.

    source : where steps and times come from, for the assumptions
    Raises HistogramError if no step of the traffic runs a graph of the set.
    """
    used = [row for row in result.rows if row.hits]
    if not used:
        raise HistogramError("No step of this traffic runs a graph of this set; choose another.")
    row = min(used, key=lambda row: (row.hits, -row.size))
    share = row.hits / result.whole.hits
    steps = (
        Step("rarest bucket that is used", row.size),
        Step("steps that it serves", row.hits, "steps"),
        Step("share of all steps", 100 * share, "%"),
        Step("capturing it", row.capture_us, "us"),
        Step("against running eagerly: eager - graph", row.net_us, "us a step"),
        Step("that alone pays back from step", row.saves_from),
        Step(
            "without this bucket alone (next larger bucket, or eager above all): what a step takes "
            "more",
            row.without_us,
            "us a step",
        ),
        Step("that pays back from step, which decides", row.alone_from),
        Step("verdict", row.verdict.value),
    )
    return RareBucket(
        row,
        share,
        Derivation(
            "rare bucket",
            "A rare bucket: capture it at start?",
            (
                source,
                "a bucket is captured at start where this traffic alone pays it back, against what "
                "its steps would run in if it were missing",
            ),
            steps,
            f"Bucket {row.size}: {row.verdict.value}. {row.reason}",
        ),
    )
