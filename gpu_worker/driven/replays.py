"""One list of capture sizes on a started engine: its decode table, then every load and repeat."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.errors import JobError
from core.records import DeviceInfo, EngineFacts
from gpu_worker.driven.contract import Started
from gpu_worker.driven.facts import facts_of
from gpu_worker.driven.measuring import shaped
from gpu_worker.driven.process import EngineProcess
from gpu_worker.driven.replay_spec import DEFAULT, EAGER, CaptureList, ReplaySpec
from gpu_worker.driven.session import MAX_TRIES, Start, question
from gpu_worker.session import SessionEndedError, never

OnRun = Callable[[dict[str, Any]], None]


def replay_list(
    spec: ReplaySpec, one: CaptureList, keep: OnRun, env: Mapping[str, str] | None = None
) -> tuple[DeviceInfo, EngineFacts]:
    """Start the engine with the list and replay; `keep` gets each run when it is done.

    Raises JobError with the first cause where it does not start or dies MAX_TRIES times.
    """
    work = ListReplay(spec, one, dict(os.environ if env is None else env))
    try:
        return work.run(keep)
    finally:
        work.close()


class ListReplay:
    """The engine with one list, started again where it dies, so that only that run is repeated."""

    def __init__(self, spec: ReplaySpec, one: CaptureList, env: Mapping[str, str]) -> None:
        self._spec, self._list, self._env = spec, one, env
        self._measuring = replace(shaped(spec.measuring), engine=one.engine(spec.engine))
        self._process: EngineProcess | None = None
        self._start: Start | None = None
        self._device: DeviceInfo | None = None

    def run(self, keep: OnRun) -> tuple[DeviceInfo, EngineFacts]:
        """Everything of this list."""
        table = self._insisted("its decode steps", self._decode_table)
        for repeat in range(1, self._spec.repeats + 1):
            for load in self._spec.loads:
                name = f"{self._list.name}, load {load:g}"
                if self._spec.repeats > 1:
                    name += f", run {repeat}"
                requests = self._spec.at(load)
                # Other prompts each time, so that no cache of prefixes knows them.
                seed = self._measuring.seed + 1000 * repeat + self._spec.loads.index(load)
                run = self._insisted(name, lambda p, r=requests, s=seed: p.replay(r, s, never))
                keep(self._document(run, name, load, repeat, table))
        assert self._start is not None and self._device is not None
        return self._device, facts_of(self._measuring.target, self._start, None)

    def close(self) -> None:
        """End the engine and everything it started."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _insisted(self, what: str, ask: Callable[[EngineProcess], Any]) -> Any:
        """The answer, from another start where the engine dies. Raises JobError."""
        for tried in range(1, MAX_TRIES + 1):
            try:
                return ask(self._ready())
            except SessionEndedError as error:
                if tried == MAX_TRIES:
                    raise JobError(f"{self._list.name}: {error}; tried {tried} times.") from error
            except RuntimeError as error:
                raise JobError(f"{self._list.name}: {what} failed: {error}") from error
        raise AssertionError("a try more than there are")

    def _ready(self) -> EngineProcess:
        if self._process is not None and self._process.alive:
            return self._process
        self.close()
        process = self._process = EngineProcess(self._measuring.target, self._env)
        engine = self._measuring.engine
        assert engine is not None
        try:
            self._device, started = process.start(
                engine, self._measuring.model, self._measuring.seed, never
            )
        except RuntimeError as error:
            raise JobError(f"{self._list.name}: {error}") from error
        self._start = Start(started, process.printed)
        return process

    def _decode_table(self, process: EngineProcess) -> dict[str, float | None]:
        """Median decode step by batch size [us]; None where it never ran alone."""
        spec = replace(self._measuring, context_tokens=self._spec.decode_context)
        table: dict[str, float | None] = {}
        for size in sorted(self._spec.decode_sizes):
            times = process.times(question(spec, size), never)
            refused = isinstance(times, str)
            table[str(size)] = None if refused else float(np.median(times.wall_us))
        return table

    def _document(
        self, run: dict[str, Any], name: str, load: float, repeat: int, table: dict[str, Any]
    ) -> dict[str, Any]:
        """A recorded run, in the layout that single runs have."""
        assert self._start is not None
        started = self._start.started
        return {
            "name": name,
            "list": self._list.name,
            "load": load,
            "repeat": repeat,
            **_of_start(started, self._list.mode),
            "decode_step_us": table,
            **run,
        }


def _of_start(started: Started, mode: str) -> dict[str, Any]:
    known = mode if mode in (DEFAULT, EAGER) else ",".join(map(str, started.capture_sizes))
    return {
        "mode": known,
        "engine": f"{started.name} {started.release}",
        "init_s": dict(started.phases).get("start"),
        "config": str(list(started.capture_sizes)),
        "kv_blocks": started.kv_blocks,
        "block": started.block_size_tokens,
    }
