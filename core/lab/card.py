"""A card emulated on the CPU: memory, streams, events, and stream capture with its errors.

Kernels really run, on numpy arrays at fixed addresses. Work is queued and runs when the host waits
for it. Between streams only events set an order; where they leave a choice, `choose` makes it, so
that a missing wait shows. Streams behave like CUDA's non-blocking ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.lab.graph import Graph, Node
from core.lab.recorder import CudaError, Recorder, Tails
from core.lab.storage import Place, Storage
from core.records import FloatArray


@dataclass(eq=False)
class Mark:
    """One recording of an event: done once all earlier work of its stream is.

    tails : the nodes it stands for, where it was recorded inside a capture
    """

    done: bool = False
    tails: Tails | None = None


@dataclass(eq=False)
class Event:
    """A point in a stream that others can wait for; before it is recorded nobody waits."""

    mark: Mark | None = None


@dataclass(frozen=True, eq=False)
class Wait:
    mark: Mark


Work = Node | Graph | Mark | Wait


@dataclass(eq=False)
class Stream:
    """Work in order."""

    card: Card
    name: str
    queue: deque[Work] = field(default_factory=deque)

    def record_event(self) -> Event:
        event = Event()
        self.record(event)
        return event

    def record(self, event: Event) -> None:
        recorder = self.card.recorder_of(self)
        if recorder is not None:
            event.mark = Mark(tails=recorder.tails_of(self))
            return
        event.mark = Mark()
        self.queue.append(event.mark)

    def wait_event(self, event: Event) -> None:
        """Later work of this stream runs after what the event stands for.

        Waiting for an event of a capture joins the capture.
        """
        if event.mark is None:
            return
        recorder = self.card.recorder
        if recorder is not None and event.mark.tails is not None:
            recorder.join(self, event.mark.tails)
        elif recorder is not None and recorder.holds(self):
            recorder.fail(905)
        else:
            self.queue.append(Wait(event.mark))

    def wait_stream(self, other: Stream) -> None:
        """Later work of this stream runs after all work queued on the other so far."""
        self.wait_event(other.record_event())


def first(ready: int) -> int:
    """Where several streams could go on, the oldest does."""
    return 0


class Card:
    """One emulated device.

    choose : given how many streams could run their next work, the index of the one that does
    launches : submissions by the host; a graph of any size is one
    """

    def __init__(self, choose: Callable[[int], int] = first) -> None:
        self.storage = Storage()
        self.default = Stream(self, "default")
        self.current = self.default
        self.recorder: Recorder | None = None
        self.launches = 0
        self._streams = [self.default]
        self._choose = choose

    def stream(self, name: str) -> Stream:
        self._streams.append(Stream(self, name))
        return self._streams[-1]

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        """Make a stream the current one."""
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    def recorder_of(self, stream: Stream) -> Recorder | None:
        """The capture that the stream takes part in."""
        recorder = self.recorder
        return recorder if recorder is not None and recorder.holds(stream) else None

    def submit(self, work: Node | Graph) -> None:
        """Queue work on the current stream, or record it where the stream captures."""
        recorder = self.recorder_of(self.current)
        if recorder is None:
            self.launches += 1
            self.current.queue.append(work)
        elif isinstance(work, Node):
            recorder.add(self.current, work)
        else:
            recorder.fail(900)

    @contextmanager
    def capture(self, stream: Stream | None = None) -> Iterator[Graph]:
        """Record what is launched inside on `stream` and on streams forked from it; run nothing.

        Raises CudaError: 900, 901, 904 or 905, as CUDA would.
        """
        stream = stream or self.stream("capture")
        graph = Graph(self)
        recorder = self.recorder = Recorder(stream, graph)
        try:
            with self.on(stream):
                yield graph
        except CudaError:
            # Leaving a broken capture raises once more; Python keeps the first as its context.
            recorder.end()
            raise
        else:
            recorder.end()
        finally:
            self.recorder = None

    def synchronize(self) -> None:
        """The host waits until all queued work is done."""
        if self.recorder is not None:
            self.recorder.fail(900)
        while ready := self._ready():
            stream = ready[self._choose(len(ready)) if len(ready) > 1 else 0]
            work = stream.queue.popleft()
            assert isinstance(work, (Node, Graph))
            work.run(self.storage)
        assert not any(stream.queue for stream in self._streams), "streams wait for each other"

    def _ready(self) -> list[Stream]:
        """Streams whose next work may run now; events are settled on the way."""
        moved = True
        while moved:
            moved = any([_settle(stream) for stream in self._streams])
        return [s for s in self._streams if s.queue and isinstance(s.queue[0], (Node, Graph))]

    def read(self, place: Place) -> FloatArray:
        """Copy values to the host, which waits for them."""
        self.synchronize()
        return self.storage[place].copy()


def _settle(stream: Stream) -> bool:
    """Pass events at the head of the queue that are due; True if there was one."""
    moved = False
    while stream.queue:
        head = stream.queue[0]
        if isinstance(head, Mark):
            head.done = True
        elif not (isinstance(head, Wait) and head.mark.done):
            break
        stream.queue.popleft()
        moved = True
    return moved
