"""The process that an engine runs in: answers JSON lines until its parent is gone.

    {"start": {engine, model, seed}}                    -> {"device": ..., "started": ...}
    {"kind": "decode", "size", "context", "samples"}    -> {"times": ...} or {"refused": sentence}
    {"kind": "prefill", "size", "samples"}              -> the same
    {"kind": "mixed", "size", "context", "samples"}     -> the same
    {"replay": [[arrival_s, prompt, output], ...]}      -> {"run": ...}

or {"failed": sentence}, after which the process ends: an engine that failed once is not trusted.
What the engine prints goes to stderr, where the parent keeps it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from typing import IO, Any

from core.errors import ProjectError
from core.records import EngineSpec, ModelShape, engine_from_json
from gpu_worker.driven import replaying, steps
from gpu_worker.driven.contract import TOLD, Driver, PointRefusedError
from gpu_worker.failing import sentence

CHECK_EVERY_S = 0.2
FAILED = 3


def main() -> int:
    """Returns 0 when the parent closed the pipe, 3 after a failure."""
    _die_with_parent(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return Server(sys.argv[1]).serve(sys.stdin, answers)


def _die_with_parent(parent: int) -> None:
    """End this process and all it started within 0.2 s of its parent's death.

    The parent made it the leader of a group, to which an engine's own processes belong.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(CHECK_EVERY_S)
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


class Server:
    """One engine and the questions about it. target : package of gpu_worker.targets."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._driver: Driver | None = None
        self._prompts = steps.Prompts(2, 0)

    def serve(self, questions: IO[str], answers: IO[str]) -> int:
        """Answer every line of `questions` on `answers`."""
        for line in questions:
            answer = self._answered(json.loads(line))
            print(json.dumps(answer), file=answers, flush=True)
            if "failed" in answer:
                return FAILED
        if self._driver is not None:
            self._driver.close()
        return 0

    def _answered(self, question: dict[str, Any]) -> dict[str, Any]:
        doing = "the engine's start" if "start" in question else "the engine's step"
        try:
            if "start" in question:
                return self._start(question["start"])
            if "replay" in question:
                return self._replay(question)
            return {"times": asdict(self._times(question))}
        except PointRefusedError as error:
            return {"refused": str(error)}
        except (KeyboardInterrupt, SystemExit) as error:
            return {"failed": f"The engine ended the process ({type(error).__name__})."}
        except Exception as error:  # whatever an engine raises is an answer, not a traceback
            words = sentence(error, doing)
            if not isinstance(error, ProjectError) and "start" in question:
                words = f"{self._target} did not start: {words}"
            return {"failed": words}

    def _start(self, wanted: dict[str, Any]) -> dict[str, Any]:
        engine, model = _wanted(wanted)
        module = importlib.import_module(f"gpu_worker.targets.{self._target}")
        self._driver = module.start(engine, model, wanted["seed"])
        assert self._driver is not None
        self._prompts = steps.Prompts(self._driver.limits.vocab_size, wanted["seed"])
        started = asdict(self._driver.started)
        device = asdict(module.device())
        print(TOLD, file=sys.stderr, flush=True)
        return {"device": device, "started": started}

    def _times(self, question: dict[str, Any]) -> steps.StepTimes:
        driver, kind = self._driver, question["kind"]
        assert driver is not None, "asked before it was started"
        size, samples = question["size"], question["samples"]
        if kind == "prefill":
            return steps.prefill_times(driver, self._prompts, size, samples)
        context = question["context"]
        if kind == "mixed":
            decoding = question["decoding"]
            return steps.mixed_times(driver, self._prompts, size, decoding, context, samples)
        return steps.decode_times(driver, self._prompts, size, context, samples)

    def _replay(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._driver is not None, "asked before it was started"
        requests = [(float(a), int(p), int(o)) for a, p, o in question["replay"]]
        prompts = steps.Prompts(self._driver.limits.vocab_size, question["seed"])
        return {"run": replaying.replay(self._driver, prompts, requests)}


def _wanted(question: dict[str, Any]) -> tuple[EngineSpec, ModelShape]:
    return engine_from_json(question["engine"]), ModelShape(**question["model"])


if __name__ == "__main__":
    sys.exit(main())
