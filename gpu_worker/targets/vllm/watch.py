"""What vLLM does inside a start and a step, seen without changing it: captures, what the scheduler
chose, how the step ran, and the model's part of it on the card.

Everything here is found by name and left out where a release has it not; a watch never breaks the
engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from gpu_worker.driven.contract import Capture

FULL, PIECEWISE = "FULL", "PIECEWISE"


@dataclass
class Seen:
    """One group of captures: all graphs of one size and kind."""

    kind: str
    size: int | None
    begin_s: float
    end_s: float
    free_before: int | None


class CaptureWatch:
    """Every CUDA graph that is captured while it is active, by kind and size.

    graph_class : torch.cuda.graph; context : () -> (kind, size) of the engine's current forward
    pass; free_bytes : () -> memory that the driver has free
    """

    def __init__(
        self,
        graph_class: Any,
        context: Callable[[], tuple[str | None, int | None]],
        free_bytes: Callable[[], int | None],
    ) -> None:
        self._class, self._context, self._free = graph_class, context, free_bytes
        self._before: tuple[Any, Any] | None = None
        self._free_after: int | None = None
        self.groups: list[Seen] = []

    def __enter__(self) -> CaptureWatch:
        enter, leave = self._class.__enter__, self._class.__exit__
        self._before = (enter, leave)

        def watched_enter(graph: Any) -> Any:
            self._begins()
            return enter(graph)

        def watched_exit(graph: Any, *error: Any) -> Any:
            result = leave(graph, *error)
            self._ends()
            return result

        self._class.__enter__, self._class.__exit__ = watched_enter, watched_exit
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            self._class.__enter__, self._class.__exit__ = self._before
        if self._free_after is None and self.groups:
            self._free_after = self._free()

    def _begins(self) -> None:
        kind, size = self._context()
        last = self.groups[-1] if self.groups else None
        # A piecewise size has a graph a layer; a full one has a graph, whose size the engine may
        # not tell yet.
        same = last is not None and (last.kind, last.size) == (PIECEWISE, size)
        if kind != PIECEWISE or not same:
            now = time.perf_counter()
            self.groups.append(Seen(kind or FULL, size, now, now, self._free()))

    def _ends(self) -> None:
        group = self.groups[-1]
        group.end_s = time.perf_counter()
        # Asked for only where it is cheap: once a full graph, and for pieces with the next size.
        self._free_after = self._free() if group.kind == FULL else None

    def captures(self, full_sizes: tuple[int, ...]) -> tuple[Capture, ...]:
        """What was seen. full_sizes : of the full graphs in their order, where they are as many.

        A group's time reaches from the end of the one before, so that its warm-up is in it.
        """
        sizes = iter(full_sizes)
        unnamed = sum(group.kind == FULL and group.size is None for group in self.groups)
        named = unnamed == len(full_sizes)
        found = []
        for i, group in enumerate(self.groups):
            size = group.size
            if size is None and group.kind == FULL and named:
                size = next(sizes)
            begin = self.groups[i - 1].end_s if i else group.begin_s
            after = self.groups[i + 1].free_before if i + 1 < len(self.groups) else self._free_after
            grown = (
                None if group.free_before is None or after is None else group.free_before - after
            )
            found.append(Capture(group.kind, size, group.end_s - begin, grown))
        # Some releases first capture a few sizes to see what they take, and drop them again.
        last = {(one.kind, one.size): i for i, one in enumerate(found) if one.size is not None}
        return tuple(
            one
            for i, one in enumerate(found)
            if one.size is None or last[(one.kind, one.size)] == i
        )


class Timer(Protocol):
    """An event on the card, as torch.cuda.Event has it."""

    def record(self) -> Any: ...

    def synchronize(self) -> Any: ...

    def elapsed_time(self, end: Any) -> float:
        """Until another event [ms]."""
        ...


class CardClock:
    """Time of the model's part of a step, by events around it. new_timer None: no card."""

    def __init__(self, new_timer: Callable[[], Timer] | None) -> None:
        self._new = new_timer
        self._depth = 0
        self._open: Timer | None = None
        self._spans: list[tuple[Timer, Timer]] = []

    def begin(self, *_: Any) -> None:
        """The outermost of nested parts counts."""
        self._depth += 1
        if self._new is not None and self._depth == 1:
            self._open = self._new()
            self._open.record()

    def end(self, *_: Any) -> None:
        self._depth -= 1
        if self._new is not None and self._depth == 0 and self._open is not None:
            end = self._new()
            end.record()
            self._spans.append((self._open, end))
            self._open = None

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its time on the card taken."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            self.begin()
            try:
                return function(*args, **kwargs)
            finally:
                self.end()

        return timed

    def taken_s(self) -> float | None:
        """Of the step that has just ended [s]; forgotten then. None: nothing was seen."""
        spans, self._spans, self._depth = self._spans, [], 0
        if not spans:
            return None
        spans[-1][1].synchronize()
        return sum(begin.elapsed_time(end) for begin, end in spans) / 1e3


@dataclass
class StepWatch:
    """What one step held and how it ran; reset before each.

    rows, tokens : requests and tokens that were scheduled
    """

    rows: int | None = None
    tokens: int | None = None
    mode: str | None = None
    padded: int | None = None

    def reset(self) -> None:
        self.rows = self.tokens = self.mode = self.padded = None

    def scheduled(self, output: Any) -> None:
        """The scheduler's answer."""
        self.tokens = getattr(output, "total_num_scheduled_tokens", None)
        each = getattr(output, "num_scheduled_tokens", None)
        self.rows = len(each) if each is not None else None

    def dispatched(self, descriptor: Any) -> None:
        """The graph that was chosen, or none."""
        self.mode = getattr(getattr(descriptor, "cg_mode", None), "name", None)
        self.padded = getattr(descriptor, "num_tokens", None)

    def counted(self, outputs: Any) -> None:
        """The engine's own statistics of the step, where they are on."""
        stats = getattr(getattr(outputs, "scheduler_stats", None), "cudagraph_stats", None)
        if stats is not None:
            self.mode = str(stats.runtime_mode).rpartition(".")[2]
            self.padded = int(stats.num_padded_tokens)


def tell(owner: Any, name: str, listener: Callable[[Any], None]) -> bool:
    """Have the results of a method told to a listener. Returns False where there is none."""
    method = getattr(owner, name, None)
    if method is None:
        return False

    def told(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        listener(result)
        return result

    setattr(owner, name, told)
    return True


def time_model(runner: Any, clock: CardClock) -> bool:
    """Time the model's part of a step. Returns False where nothing of it can be reached.

    A full graph is replayed by the graph manager (V2 runner) or inside the runner's
    _model_forward (V1 runner); pieces and eager steps call the model itself.
    """
    found = False
    for owner, name in (
        (runner, "_model_forward"),
        (getattr(runner, "cudagraph_manager", None), "run_fullgraph"),
        (getattr(runner, "cudagraph_manager", None), "run_pw_graph"),
    ):
        method = getattr(owner, name, None)
        if method is not None:
            setattr(owner, name, clock.around(method))
            found = True
    model = getattr(runner, "model", None)
    if hasattr(model, "register_forward_pre_hook") and not hasattr(runner, "_model_forward"):
        model.register_forward_pre_hook(clock.begin)  # pyright: ignore[reportOptionalMemberAccess]
        model.register_forward_hook(clock.end)  # pyright: ignore[reportOptionalMemberAccess]
        found = True
    return found
