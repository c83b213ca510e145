"""Files that hold several runs, benchmarks or arrays: which of them is read."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import SettingError
from core.readers.common.requests import Notes
from core.readers.options import ALL_PARTS, ReadOptions


def choose_parts(
    labels: Sequence[str], options: ReadOptions, notes: Notes, where: str, alike: bool = False
) -> list[int]:
    """Indices of the parts to read: the user's choice, else all alike, else the first.

    labels : of the parts, as the user may name them; a number from 1 names one too
    alike : whether pooling them mixes nothing (same shape and rate)
    Raises SettingError when the user names a part that is not there.
    """
    notes.facts["parts"] = list(labels)
    wanted = options.part
    if len(labels) == 1:
        return [0]
    if wanted == ALL_PARTS:
        notes.warnings.append(f"{len(labels)} runs were pooled as you chose.")
        return list(range(len(labels)))
    if wanted is not None:
        for index, label in enumerate(labels):
            if wanted in (label, str(index + 1)):
                return [index]
        shown = "; ".join(f"{i}: {label}" for i, label in enumerate(labels[:6], 1))
        raise SettingError(f"{where}: there is no part {wanted!r}; choose one of {shown}.")
    if alike:
        notes.warnings.append(f"{len(labels)} runs of the same settings were pooled.")
        return list(range(len(labels)))
    notes.warnings.append(
        f"The file holds {len(labels)} runs that differ; the first ({labels[0]}) was read: choose "
        "another, or all."
    )
    return [0]


CLOSED_LOOP = (
    "Closed loop ({why}): the client sent a request when another ended, so arrivals show the "
    "server's speed, not users' demand."
)


def closed_loop(rate: object, concurrency: object) -> str | None:
    """A warning when a benchmark waited for answers before it sent more."""
    if concurrency not in (None, 0, ""):
        return CLOSED_LOOP.format(why=f"at most {concurrency} requests at once")
    if isinstance(rate, str) and rate.lower() in ("inf", "infinity") or rate == float("inf"):
        return (
            "All requests were sent at once (request rate inf): arrivals show the client, not "
            "users' demand."
        )
    return None
