"""An engine's process seen from outside: started, asked, killed with all that it started."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from core.records import DeviceInfo, EngineSpec, ModelShape, to_json_dict
from core.records.engine import cut_text
from gpu_worker.driven.contract import TOLD, Capture, Started
from gpu_worker.driven.steps import StepTimes
from gpu_worker.session import MeasuringProcess

SERVE = "gpu_worker.driven.serve"
KEPT_CHARS = 1 << 20
"""Of what the engine prints; the rest is counted and dropped."""
TOLD_WITHIN_S = 5.0
"""Until what the engine printed before it answered has come through its own pipe."""
GONE_WITHIN_S = 5.0
ELSEWHERE = re.compile(r"root cause|background process|See stack trace|Engine core init", re.I)
CAUSE = re.compile(r"\b(\w*(?:Error|Exception)): (.+)")


class EngineProcess(MeasuringProcess):
    """One child with one started engine. Not shared between threads."""

    def __init__(self, target: str, env: Mapping[str, str]) -> None:
        """Start the child, not yet the engine. target : package of gpu_worker.targets."""
        self._said: list[str] = []
        self._said_chars = 0
        self._lock = threading.Lock()
        self._told = threading.Event()
        self._ranks = 1
        super().__init__([sys.executable, "-m", SERVE, target], env)

    def start(
        self, engine: EngineSpec, model: ModelShape, seed: int, stop: Callable[[], bool]
    ) -> tuple[DeviceInfo, Started]:
        """Start the engine.

        Raises SessionEndedError, SessionStoppedError, or RuntimeError with the first cause.
        """
        self._ranks = engine.tensor_parallel_size
        wanted = {"engine": to_json_dict(engine), "model": asdict(model), "seed": seed}
        try:
            answer = self._ask({"start": wanted}, stop)
        except RuntimeError as error:
            raise RuntimeError(self._first_cause(str(error))) from error
        self._told.wait(TOLD_WITHIN_S)
        return DeviceInfo(**answer["device"]), _started(answer["started"])

    def times(self, question: Mapping[str, Any], stop: Callable[[], bool]) -> StepTimes | str:
        """Samples of one kind of step; the engine's refusal of this size as a sentence."""
        answer = self._ask(dict(question), stop)
        return answer["refused"] if "refused" in answer else StepTimes(**answer["times"])

    def replay(
        self, requests: Sequence[tuple[float, int, int]], seed: int, stop: Callable[[], bool]
    ) -> dict[str, Any]:
        """Serve the requests; {"steps", "requests", ...} as gpu_worker.driven.replaying has it."""
        return self._ask({"replay": [list(one) for one in requests], "seed": seed}, stop)["run"]

    @property
    def printed(self) -> str:
        """What the engine printed so far, cut in the middle where it was long."""
        with self._lock:
            return cut_text("".join(self._said))

    def close(self) -> None:
        """Kill the child and every process of its group, collect it, and wait for the others: the
        next start needs the memory that they held.

        Several ranks share memory of the host, which outlives a kill: they may end by themselves.
        """
        if self._ranks > 1 and self.alive:
            self._let_go()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        super().close()
        deadline = time.monotonic() + GONE_WITHIN_S
        while group_lives(self._process.pid) and time.monotonic() < deadline:
            time.sleep(0.02)

    def _let_go(self) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GONE_WITHIN_S)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with suppress(ValueError):  # closed while reading: killed on purpose
            for line in self._process.stderr:
                if line.strip() == TOLD:
                    self._told.set()
                if not line.strip() or line.strip() == TOLD:
                    continue
                self._last_words = [*self._last_words[-19:], line.rstrip()]
                with self._lock:
                    if self._said_chars < KEPT_CHARS:
                        self._said.append(line[:4000])
                        self._said_chars += len(line[:4000])

    def _first_cause(self, words: str) -> str:
        """An engine's "see the root cause above" with the cause that it printed."""
        if not ELSEWHERE.search(words):
            return words
        self._error_reader.join(0.5)
        found = CAUSE.search(self.printed)
        return f"{words.split(':')[0]}: {found[1]}: {found[2].strip()}" if found else words


def group_lives(group: int) -> bool:
    """Whether a process of the group runs; the dead that nobody has collected do not count."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue  # it ended meanwhile
        if int(of_group) == group and state != "Z":
            return True
    return False


def _started(data: dict[str, Any]) -> Started:
    return Started(
        **{
            **data,
            "capture_sizes": tuple(data["capture_sizes"]),
            "captures": tuple(Capture(**one) for one in data["captures"]),
            "phases": tuple((name, seconds) for name, seconds in data["phases"]),
            "notes": tuple(data["notes"]),
        }
    )
