"""What a workload's grade means for its step sizes, in words."""

from __future__ import annotations

from core.readers.common.requests import NO_ARRIVALS
from core.readers.reading import Reading
from core.records import Grade

GRADE_WORDS = {
    Grade.STEPS: "Step sizes: the bucket fit is computed from them directly, nothing is simulated.",
    Grade.REQUESTS: "Requests with arrivals: step sizes come from simulating the engine on them.",
    Grade.LENGTHS: "Lengths without arrivals: step sizes need a request rate, which you type in.",
    Grade.SUMS: "Sums or coarse buckets: only bounds can be told, no exact distribution.",
}
NO_REQUESTS = (
    "Lengths without single requests: no decode steps can be simulated from them at any request "
    "rate; upload a request trace for those."
)


def grade_words(reading: Reading) -> str:
    """One sentence; a rate helps only where there are requests that could arrive at it."""
    if reading.grade is Grade.LENGTHS and reading.trace is None:
        return NO_REQUESTS
    return GRADE_WORDS[reading.grade]


def lasting_warnings(reading: Reading) -> tuple[str, ...]:
    """Those that no choice on the page settles: it asks for a rate itself, while one is missing."""
    return tuple(w for w in reading.warnings if reading.trace is None or w != NO_ARRIVALS)
