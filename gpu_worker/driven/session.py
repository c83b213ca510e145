"""Steps of an installed engine as rows: once started eager, once with the list, point by point.

Each start is a process of its own that is killed when its points are done; one that dies is
started again, and no more than the point in flight is lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.errors import JobError
from core.records import DeviceInfo, EngineFacts, EngineSpec, MeasureRow, MeasureSpec
from gpu_worker.driven.contract import Capture, Started
from gpu_worker.driven.facts import facts_of
from gpu_worker.driven.process import EngineProcess
from gpu_worker.driven.steps import StepTimes
from gpu_worker.session import SessionEndedError, never

MAX_TRIES = 3
"""Of a point or a start whose process dies."""
NO_GRAPH = "NONE"
Point = tuple[str, int, int]
"""Kind of step, context, size."""
OnEager = Callable[[MeasureSpec, int, StepTimes | str], None]


@dataclass(frozen=True)
class Start:
    """One start's facts. printed : what the engine printed until it was ready."""

    started: Started
    printed: str


class EngineSession:
    """The engine of one or several specs that differ in target, context and sizes alone.

    Offers what gpu_worker.session.Session offers, so that jobs run either.
    """

    def __init__(
        self,
        specs: Sequence[MeasureSpec],
        stop: Callable[[], bool] = never,
        env: Mapping[str, str] | None = None,
        on_eager: OnEager = lambda spec, size, times: None,
    ) -> None:
        """on_eager : told of each point that was measured without graphs."""
        assert specs and all(one.engine == specs[0].engine for one in specs)
        self.spec = specs[0]
        self.crashed = False
        """Whether the last point's process ended."""
        self._specs = tuple(specs)
        self._stop = stop
        self._on_eager = on_eager
        self._env = dict(os.environ if env is None else env)
        self._process: EngineProcess | None = None
        self._device: DeviceInfo | None = None
        self._eager: dict[Point, StepTimes | str] = {}
        self._starts: dict[bool, Start] = {}

    @property
    def _engine(self) -> EngineSpec:
        assert self.spec.engine is not None
        return self.spec.engine

    def open(self) -> DeviceInfo:
        """Measure every point eagerly, then start the engine with its list.

        Raises JobError with the first cause; SessionEndedError, which is one, where a process
        ended: another try goes on where it was.
        """
        if not self._engine.enforce_eager:
            self._measure_eager()
        self._start(eager=self._engine.enforce_eager)
        assert self._device is not None
        return self._device

    def measure(
        self, size: int, captured: Sequence[int] = (), spec: MeasureSpec | None = None
    ) -> MeasureRow:
        """One row. captured : of no use here, for an engine captures when it starts.

        Raises JobError where the engine cannot be started again.
        """
        self.crashed = False
        spec = spec or self.spec
        try:
            if self._process is None or not self._process.alive:
                self._start(eager=self._engine.enforce_eager)
            assert self._process is not None
            times = self._process.times(question(spec, size), self._stop)
        except SessionEndedError as error:
            self.crashed = True
            return MeasureRow(size, error=str(error))
        except RuntimeError as error:
            self.close()
            return MeasureRow(size, error=str(error))
        if self._engine.enforce_eager:
            return row_of(size, times, None, ())
        eager = self._eager.get((spec.target, spec.context_tokens, size), "it was not asked for")
        return row_of(size, eager, times, self._starts[False].started.captures)

    def facts(self) -> EngineFacts:
        """What the starts told."""
        first = self._starts[self._engine.enforce_eager]
        eager = self._starts.get(True)
        return facts_of(self.spec.target.partition("-")[0], first, eager)

    def close(self) -> None:
        """End the engine and everything it started."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _measure_eager(self) -> None:
        """Fill the table of eager times; what is in it from an earlier try stays."""
        points = [(spec, size) for spec in self._specs for size in spec.measuring_order]
        for spec, size in points:
            key = (spec.target, spec.context_tokens, size)
            if key not in self._eager:
                self._eager[key] = self._eager_point(spec, size)
                self._on_eager(spec, size, self._eager[key])
        self.close()

    def _eager_point(self, spec: MeasureSpec, size: int) -> StepTimes | str:
        last = ""
        for tried in range(1, MAX_TRIES + 1):
            try:
                if self._process is None or not self._process.alive:
                    self._start(eager=True)
                assert self._process is not None
                return self._process.times(question(spec, size), self._stop)
            except SessionEndedError as error:
                self.close()
                if True not in self._starts:
                    raise
                last = f"{error}; tried {tried} times"
            except RuntimeError as error:
                self.close()
                return str(error)
        return last

    def _start(self, eager: bool) -> None:
        self.close()
        engine = self._engine
        if eager:
            engine = replace(engine, enforce_eager=True, capture_sizes=None)
        self._process = EngineProcess(self.spec.target.partition("-")[0], self._env)
        try:
            self._device, started = self._process.start(
                engine, self.spec.model, self.spec.seed, self._stop
            )
        except RuntimeError as error:
            self.close()
            raise JobError(str(error)) from error
        self._starts[eager] = Start(started, self._process.printed)


def question(spec: MeasureSpec, size: int) -> dict[str, Any]:
    """What the engine's process is asked for a row."""
    assert spec.engine is not None
    kind = spec.target.partition("-")[2] or "decode"
    asked: dict[str, Any] = {"kind": kind, "size": size, "samples": spec.samples}
    if kind != "prefill":
        asked["context"] = spec.context_tokens
    if kind == "mixed":
        asked["decoding"] = spec.engine.mixed_decoding
    return asked


def row_of(
    size: int,
    eager: StepTimes | str,
    listed: StepTimes | str | None,
    captures: Sequence[Capture],
) -> MeasureRow:
    """A row of an engine's steps.

    eager : of the engine without graphs; listed : of the one with the list, None: there is none; a
    sentence where the step could not be measured. A step for which the list has no graph is no
    replay: it is kept apart, since such steps take longer than those of an eager engine.
    """
    if isinstance(listed, str):
        return MeasureRow(size, error=listed)
    if isinstance(eager, str):
        if listed is None:
            return MeasureRow(size, error=eager)
        eager = StepTimes()
    row = MeasureRow(
        size,
        **_quartiles("eager", eager),
        eager_card_us=_median(eager.card_us),
        samples=len((listed or eager).wall_us),
    )
    if listed is None:
        return row
    row = replace(row, mode=listed.mode, padded=listed.padded)
    if listed.mode == NO_GRAPH:
        return replace(row, beyond_us=_median(listed.wall_us))
    return replace(
        row,
        **_quartiles("replay", listed),
        replay_card_us=_median(listed.card_us),
        **_captured(size, captures),
    )


def _captured(size: int, captures: Sequence[Capture]) -> dict[str, Any]:
    """Time and memory of this size's graphs, of all kinds; nothing where it has none of its own."""
    own = [one for one in captures if one.size == size]
    if not own:
        return {}
    known = [one.num_bytes for one in own if one.num_bytes is not None]
    return {
        "capture_ms": sum(one.seconds for one in own) * 1e3,
        # The first graph's share holds the pool that all of them use.
        "graph_bytes": max(0, sum(known)) if len(known) == len(own) else None,
    }


def _quartiles(name: str, times: StepTimes) -> dict[str, Any]:
    if not times.wall_us:
        return {}
    q1, median, q3 = np.percentile(times.wall_us, [25, 50, 75]).tolist()
    return {f"{name}_us": median, f"{name}_q1_us": q1, f"{name}_q3_us": q3}


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
