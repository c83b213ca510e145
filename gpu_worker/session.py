"""The process that measures, seen from outside: started for a job, asked for rows, killed.

A bucket is measured in a child so that a hang, a crash or a cancel costs one bucket and never
the worker. The child keeps model and graphs between buckets; it speaks JSON lines.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.errors import JobError
from core.records import DeviceInfo, MeasureRow, MeasureSpec, row_from_json, to_json_dict

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "gpu_worker.serve"]
POLL_S = 0.1


class SessionEndedError(JobError):
    """The measuring process ended without an answer; the text says how."""


class SessionStoppedError(Exception):
    """`stop` said so: cancelled, timed out or shutting down. The process was killed."""


class MeasuringProcess:
    """One child process with one model. Not shared between threads."""

    def __init__(self, command: Sequence[str] = (), env: Mapping[str, str] | None = None) -> None:
        """Start it. command: what to run instead of the real one (tests)."""
        self._process = subprocess.Popen(
            command or COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=dict(env) if env is not None else None,
            start_new_session=True,  # Ctrl-C at the terminal is the worker's to handle
        )
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._last_words: list[str] = []
        threading.Thread(target=self._read_answers, daemon=True).start()
        self._error_reader = threading.Thread(target=self._read_errors, daemon=True)
        self._error_reader.start()
        self.captured: list[int] = []

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def open(self, spec: MeasureSpec, stop: Callable[[], bool]) -> DeviceInfo:
        """Load the model; the device it is on.

        Raises SessionEndedError, SessionStoppedError, or RuntimeError with the child's sentence.
        """
        answer = self._ask({"open": to_json_dict(spec)}, stop)
        return DeviceInfo(**answer["device"])

    def restore(self, sizes: Sequence[int], stop: Callable[[], bool]) -> None:
        """Capture sizes that an earlier process had captured, so that the pool is as it was."""
        self._ask({"restore": list(sizes)}, stop)
        self.captured.extend(sizes)

    def measure(self, size: int, stop: Callable[[], bool]) -> MeasureRow:
        """One bucket. A failure at this size is a row with `error`."""
        answer = self._ask({"measure": size}, stop)
        row = row_from_json(answer["row"], f"bucket {size}")
        if row.error is None:
            self.captured.append(size)
        if answer.get("ends"):
            # It is on its way out: the next question must find a new process, not this one's end.
            self.close()
        return row

    def close(self) -> None:
        """End the process now and collect it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):  # a question that was still in the buffer
                    stream.close()

    def _ask(self, question: dict[str, Any], stop: Callable[[], bool]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended(stop) from None
        while True:
            if stop():
                self.close()
                raise SessionStoppedError
            try:
                line = self._answers.get(timeout=POLL_S)
            except queue.Empty:
                continue
            if line is None:
                raise self._ended(stop)
            answer = json.loads(line)
            if "failed" in answer:
                raise RuntimeError(answer["failed"])
            return answer

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                if line.startswith("{"):
                    self._answers.put(line)
        except ValueError:
            pass  # closed while reading: the process was killed on purpose
        self._answers.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        try:
            for line in self._process.stderr:
                if line.strip():
                    self._last_words = [*self._last_words[-19:], line.rstrip()]
        except ValueError:
            pass

    def _ended(self, stop: Callable[[], bool]) -> Exception:
        # Asked again: when the worker shuts down it kills this process itself.
        return SessionStoppedError() if stop() else SessionEndedError(self._how_it_ended())

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        self._error_reader.join(1.0)  # its last words may still be in the pipe
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        words = f": {self._last_words[-1]}" if self._last_words else ""
        return f"The measuring process ended with {how}{words}"


def never() -> bool:
    """For callers that cannot be stopped."""
    return False


class Session:
    """A measuring process that is replaced when it ended, with its graphs captured anew."""

    def __init__(self, spec: MeasureSpec, stop: Callable[[], bool] = never) -> None:
        self.spec = spec
        self.crashed = False
        """Whether the last bucket's process ended, also before it came to measure: the row tells
        how, and measured nothing."""
        self._stop = stop
        self._process: MeasuringProcess | None = None

    def open(self) -> DeviceInfo:
        """Start a process and load the model.

        Raises JobError with the reason if it cannot; SessionEndedError, which is one, where the
        process ended: another try may do better.
        """
        self.close()
        self._process = MeasuringProcess()
        try:
            return self._process.open(self.spec, self._stop)
        except RuntimeError as error:
            raise JobError(str(error)) from error

    def measure(self, size: int, captured: Sequence[int]) -> MeasureRow:
        """One bucket. captured: sizes whose graphs must be there first, in their order.

        Raises JobError with the process's sentence if it cannot be brought to the state that the
        bucket needs.
        """
        self.crashed = False
        try:
            return self._ready(captured).measure(size, self._stop)
        except SessionEndedError as error:
            self.crashed = True
            return MeasureRow(size, error=str(error))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _ready(self, captured: Sequence[int]) -> MeasuringProcess:
        if self._process is None or not self._process.alive:
            self.open()
        process = self._process
        assert process is not None
        missing = [size for size in captured if size not in process.captured]
        if missing:
            try:
                process.restore(missing, self._stop)
            except (SessionEndedError, RuntimeError) as error:
                kind = SessionEndedError if isinstance(error, SessionEndedError) else JobError
                raise kind(f"Graphs could not be captured again: {error}") from error
        return process
