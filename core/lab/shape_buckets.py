"""Buckets by distribution: slots of a list, and what fewer buckets save and waste."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.buckets import Frontier
from core.errors import SettingError
from core.lab.derivation import Derivation, Step
from core.padding import PaddingReport, padding_report
from core.records import StepHistogram

BATCHES = (1, 3, 5, 8)
SIZES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Slots:
    """Useful and replayed slots of a list of capture sizes."""

    report: PaddingReport
    derivation: Derivation


def count_slots(batches: Sequence[int] = BATCHES, sizes: Sequence[int] = SIZES) -> Slots:
    """Each step rounds up to the next capture size. Raises CaptureSizesError, HistogramError."""
    histogram = StepHistogram.from_batches(batches)
    report = padding_report(histogram, sizes)
    steps = [
        Step(f"a step of {size} replays bucket", int(bucket) if bucket > 0 else "none: eager")
        for size, bucket in zip(histogram.sizes.tolist(), report.bucket_by_size, strict=True)
    ]
    steps += [
        Step("useful slots: sum of the steps' sizes", report.useful_slots, "slots"),
        Step("replayed slots: sum of their buckets", report.total_slots, "slots"),
        Step("padded slots: replayed - useful", report.padded_total, "slots"),
        Step("waste: padded / replayed", 100 * report.waste, "%"),
    ]
    derivation = Derivation(
        "shape buckets",
        f"Batches {', '.join(map(str, batches))} on {', '.join(map(str, report.capture_sizes))}: "
        "how many slots are replayed for nobody?",
        (
            "the bucket of a step is the smallest captured size that holds it",
            "steps above the largest size run eager and pad nothing",
        ),
        tuple(steps),
        f"{report.useful_slots} of {report.total_slots} slots are useful; "
        f"{100 * report.waste:.1f} % are padding.",
    )
    return Slots(report, derivation)


@dataclass(frozen=True)
class Fewer:
    """The best sets of `many` and of `few` graphs for one histogram.

    saved_graphs : captures, and graphs' memory, that are not needed any more
    extra_padded : slots replayed more [slots]
    """

    many: int
    few: int
    saved_graphs: int
    extra_padded: int
    waste_many: float
    waste_few: float
    sizes_many: tuple[int, ...]
    sizes_few: tuple[int, ...]
    derivation: Derivation


def fewer_buckets(histogram: StepHistogram, frontier: Frontier, many: int, less: int = 2) -> Fewer:
    """What `less` buckets fewer save and waste; both sets are the best possible ones.

    Raises SettingError if nothing would be left.
    """
    few = many - less
    if few < 1 or less < 0:
        raise SettingError(f"{many} buckets less {less} leave none; begin with {less + 1} or more.")
    large, small = frontier.at(many), frontier.at(few)
    reports = [padding_report(histogram, point.sizes) for point in (large, small)]
    extra = reports[1].padded_total - reports[0].padded_total
    saved = len(large.sizes) - len(small.sizes)
    steps = (
        Step("steps of the histogram", histogram.total_steps, "steps"),
        Step(f"graphs of the best set of at most {many}", len(large.sizes), "graphs"),
        Step("padded slots with it", reports[0].padded_total, "slots"),
        Step(f"graphs of the best set of at most {few}", len(small.sizes), "graphs"),
        Step("padded slots with it", reports[1].padded_total, "slots"),
        Step("graphs saved", saved, "graphs"),
        Step("slots wasted more", extra, "slots"),
    )
    derivation = Derivation(
        "fewer buckets",
        f"{less} buckets fewer: what is saved, what is wasted?",
        ("both sets are the exact optimum in padded slots", "every step must fit a graph"),
        steps,
        f"{saved} captures and their memory are saved; padding grows by {extra:,} slots, from "
        f"{100 * reports[0].waste:.1f} % to {100 * reports[1].waste:.1f} % of what is replayed. "
        "A slot is not a millisecond: what it costs depends on the card.",
    )
    return Fewer(
        many,
        few,
        saved,
        extra,
        reports[0].waste,
        reports[1].waste,
        large.sizes,
        small.sizes,
        derivation,
    )
