"""What the queue must know of a kind of job; each kind is a file beside this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.store.states import JobState, WorkerInfo

Step = Mapping[str, Any]
"""The engine's record of one step: function_name, output, completed_at_epoch_ms, ..."""


@dataclass(frozen=True)
class Kind:
    """One kind of job.

    name : as in the table and on the pages
    protocol : version of its steps and records. Raise it when a step is added, removed or
        reordered: a worker only takes jobs of its own protocol
    workflow : the workflow's name in the engine
    queues : how the names of its queues begin
    spec : class of what is asked for
    to_json : the spec as the workflow's first argument
    read : the state from what all kinds share, the job's row in our table and the finished steps.
        Raises RecordError, InputError
    choose_queue : where to send a job, by the live workers of this protocol
    movable : whether a waiting job may go to another queue of the same protocol
    """

    name: str
    protocol: str
    workflow: str
    queues: str
    spec: type
    to_json: Callable[[Any], dict[str, Any]]
    read: Callable[[Mapping[str, Any], Mapping[str, Any], Sequence[Step]], JobState]
    choose_queue: Callable[[Sequence[WorkerInfo]], str]
    movable: bool

    def speakers(self, workers: Sequence[WorkerInfo]) -> list[WorkerInfo]:
        """Live workers that can run jobs of this kind."""
        return [w for w in workers if w.alive and w.protocol == self.protocol]


def outputs(steps: Sequence[Step], name: str) -> list[Any]:
    """What the finished steps of that name gave, in their order."""
    named = (step for step in steps if step["function_name"] == name)
    return [step["output"] for step in named if step["output"] is not None]


def last_end_s(steps: Sequence[Step], name: str) -> float | None:
    """Unix time at which the last finished step of that name ended [s]."""
    ends = [
        step["completed_at_epoch_ms"] / 1000
        for step in steps
        if step["function_name"] == name and step["output"] is not None
        if step["completed_at_epoch_ms"]
    ]
    return max(ends, default=None)
