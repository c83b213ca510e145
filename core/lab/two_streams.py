"""Copying beside replaying: an event each way, and what happens when one wait is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.errors import SettingError
from core.lab.card import Card, Event
from core.lab.derivation import Derivation, Step
from core.lab.orders import outcomes
from core.lab.static_input import square_plus_one
from core.lab.tensor import empty
from core.text.counting import counted

INPUTS = (3.0, 4.0, 5.0)


@dataclass(frozen=True)
class Pipeline:
    """How steps are queued.

    num_buffers : input buffers, each with a graph of its own that reads it
    run_waits : a replay waits until its input has been copied
    copy_waits : a copy waits until the replay that read its buffer is done
    """

    num_buffers: int = 1
    run_waits: bool = True
    copy_waits: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.num_buffers <= 4:
            raise SettingError(f"{self.num_buffers} buffers; give 1 to 4.")


@dataclass(frozen=True)
class Span:
    """Something that one stream does, for the chart [us]."""

    stream: str
    step: int
    buffer: int
    start_us: float
    end_us: float
    clash: bool


@dataclass(frozen=True)
class TwoStreams:
    """Results over every order that the streams allow.

    outcomes : {results of all steps: orders}
    """

    pipeline: Pipeline
    right: tuple[float, ...]
    outcomes: Mapping[tuple[float, ...], int]
    spans: tuple[Span, ...]
    derivation: Derivation

    @property
    def orders(self) -> int:
        return sum(self.outcomes.values())

    @property
    def wrong_orders(self) -> int:
        return self.orders - self.outcomes.get(self.right, 0)

    @property
    def makespan_us(self) -> float:
        return max(span.end_us for span in self.spans)


DEFAULT = Pipeline()


def run_steps(card: Card, pipeline: Pipeline, inputs: Sequence[float]) -> tuple[float, ...]:
    """Queue all steps on a copy and a run stream, then wait; the result of each step."""
    copy, run = card.stream("copy"), card.stream("run")
    buffers = [empty(card, (1,)) for _ in range(pipeline.num_buffers)]
    graphs = []
    for buffer in buffers:
        with card.capture() as graph:
            output = square_plus_one(buffer)
        graphs.append((graph, output))
    replayed: list[Event] = []
    results = []
    for step, value in enumerate(inputs):
        at = step % pipeline.num_buffers
        with card.on(copy):
            if pipeline.copy_waits and step >= pipeline.num_buffers:
                copy.wait_event(replayed[step - pipeline.num_buffers])
            buffers[at].copy_([value])
            copied = copy.record_event()
        with card.on(run):
            if pipeline.run_waits:
                run.wait_event(copied)
            graph, output = graphs[at]
            graph.replay()
            replayed.append(run.record_event())
            results.append(output.clone())
    card.synchronize()
    return tuple(result.item() for result in results)


def two_streams(
    pipeline: Pipeline = DEFAULT,
    inputs: Sequence[float] = INPUTS,
    copy_us: float = 4.0,
    replay_us: float = 6.0,
) -> TwoStreams:
    """Run the steps in every order, and lay them out in time with the given durations.

    Raises SettingError where there are too many orders.
    """
    single = Card()
    right = []
    for value in inputs:
        x = empty(single, (1,)).fill_(value)
        right.append(square_plus_one(x).item())
    found = outcomes(lambda card: run_steps(card, pipeline, inputs))
    spans = timeline(pipeline, len(inputs), copy_us, replay_us)
    result = tuple(right)
    return TwoStreams(pipeline, result, found, spans, _derivation(pipeline, result, found, spans))


def timeline(
    pipeline: Pipeline, num_steps: int, copy_us: float, replay_us: float
) -> tuple[Span, ...]:
    """Each stream as early as it may; a copy that meets a replay of its own buffer clashes."""
    copies: list[tuple[float, float]] = []
    replays: list[tuple[float, float]] = []
    for step in range(num_steps):
        before = step - pipeline.num_buffers
        start = copies[-1][1] if copies else 0.0
        if pipeline.copy_waits and before >= 0:
            start = max(start, replays[before][1])
        copies.append((start, start + copy_us))
        start = replays[-1][1] if replays else 0.0
        if pipeline.run_waits:
            start = max(start, copies[step][1])
        replays.append((start, start + replay_us))
    spans = []
    for name, mine, others in (("copy", copies, replays), ("replay", replays, copies)):
        for step, (start, end) in enumerate(mine):
            same = range(step % pipeline.num_buffers, num_steps, pipeline.num_buffers)
            clash = any(start < others[o][1] and others[o][0] < end for o in same)
            spans.append(Span(name, step, step % pipeline.num_buffers, start, end, clash))
    return tuple(spans)


def _derivation(
    pipeline: Pipeline,
    right: tuple[float, ...],
    found: Mapping[tuple[float, ...], int],
    spans: Sequence[Span],
) -> Derivation:
    orders = sum(found.values())
    wrong = orders - found.get(right, 0)
    steps = [
        Step("results of the steps one after the other", right),
        Step("orders in which the two streams may run", orders, "orders"),
        Step("orders with a wrong result", wrong, "orders"),
    ]
    example = next((result for result in found if result != right), None)
    if example is not None:
        steps.append(Step("one wrong result", example))
    steps.append(Step("all steps done after", max(span.end_us for span in spans), "us"))
    missing = [
        words
        for there, words in (
            (pipeline.run_waits, "the replay does not wait for the copy"),
            (pipeline.copy_waits, "the copy does not wait for the replay"),
        )
        if not there
    ]
    if missing:
        answer = f"{' and '.join(missing).capitalize()}: wrong in {wrong:,} of {orders:,} orders."
    else:
        answer = f"With both waits all {orders:,} orders give the right results."
    return Derivation(
        "two streams",
        "Which of the two waits may be left out?",
        (
            f"{counted(pipeline.num_buffers, 'input buffers')}, each read by a graph of its own",
            "y = x * x + 1; a copy and a replay are each one piece of work",
            "times of copy and replay are assumed",
        ),
        tuple(steps),
        answer,
    )
