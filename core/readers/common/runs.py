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
AT_ONCE = (
    "All requests were sent at once (request rate inf): arrivals show the client, not users' "
    "demand."
)
NO_NUMBER = (
    "What the file gives as the number of requests at once is no number and was left out: "
    "whether the client waited for answers is unknown."
)
MAX_CONCURRENCY = 1e9


def closed_loop(rate: object, concurrency: object) -> list[str]:
    """Warnings where a benchmark waited for answers before it sent more, or did not say.

    No word of the file is repeated, for warnings are kept with the numbers.
    """
    given = _number(concurrency)
    if given:
        return [CLOSED_LOOP.format(why=f"at most {given:.10g} requests at once")]
    unclear = [NO_NUMBER] if given is None and concurrency not in (None, "") else []
    if isinstance(rate, str) and rate.lower() in ("inf", "infinity") or rate == float("inf"):
        return [*unclear, AT_ONCE]
    return unclear


def always_closed_loop(concurrency: object) -> list[str]:
    """The same for a tool that always waits, whether or not it says for how many requests."""
    why = "a fixed number of requests at once"
    return closed_loop(None, _number(concurrency)) or [CLOSED_LOOP.format(why=why)]


def _number(value: object) -> float | None:
    """A number of requests; None for texts, lists and what no client can have sent."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return value if 0 <= value < MAX_CONCURRENCY else None
