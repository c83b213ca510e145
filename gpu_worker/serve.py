"""The measuring process: answers JSON lines until its parent is gone.

    {"open": spec}        -> {"device": ...} or {"failed": sentence}
    {"restore": [sizes]}  -> {"restored": n} or {"failed": sentence}
    {"measure": size}     -> {"row": ..., "ends": whether it is the last answer}

After an error of the device the row is sent and the process ends: a broken CUDA context would
spoil every later bucket.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from typing import IO, Any

from core.errors import ProjectError
from core.records import MeasureSpec, spec_from_json, to_json_dict
from core.text.counting import counted
from gpu_worker.failing import sentence
from gpu_worker.lifeline import die_with_parent


def main() -> int:
    """Returns 0 when the parent closed the pipe, 3 after an error of the device."""
    parent = os.getppid()
    # Shutting down is the parent's word: a signal to the whole group must not look like a crash.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)
    # Libraries print to stdout now and then; answers get a file of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return serve(sys.stdin, answers)


def serve(questions: IO[str], answers: IO[str]) -> int:
    """Answer every line of `questions` on `answers`."""
    bench: Any = None
    doing = "the step"
    for line in questions:
        question = json.loads(line)
        try:
            if "open" in question:
                from gpu_worker.bench import Bench  # torch: slow to import, so only when needed

                spec = spec_from_json(question["open"])
                doing = model_words(spec)
                bench = Bench(spec)
                answer = {"device": asdict(bench.info)}
            elif "restore" in question:
                doing = "the graphs that were captured before"
                bench.restore(question["restore"])
                answer = {"restored": len(question["restore"])}
            else:
                answer = {"row": to_json_dict(bench.row(question["measure"]))}
                answer["ends"] = bench.poisoned
        except (ProjectError, RuntimeError, MemoryError) as error:
            answer = {"failed": sentence(error, doing)}
        print(json.dumps(answer), file=answers, flush=True)
        if "failed" in answer or bench.poisoned:
            return 3
    return 0


def model_words(spec: MeasureSpec) -> str:
    """What is being allocated before anything is measured."""
    largest = counted(spec.sizes[-1], f"{spec.unit.value}")
    where = f"a context of {counted(spec.context_tokens, 'tokens')}"
    return f"the model {spec.model.name} and its inputs for up to {largest} at {where}"


if __name__ == "__main__":
    sys.exit(main())
