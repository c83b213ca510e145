"""The stand-in's engine: chunked prefill, first come first served, steps of known length.

It brings its own clock: time passes by its steps and by sleeping alone, so that what is measured
is the same however busy the machine is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from vllm import BEHAVIOUR, EngineArgs, SamplingParams, __version__

GRAPH_S, EAGER_S, BEYOND_S = 0.001, 0.003, 0.004
"""A decode step with a graph, of an eager engine, and beyond the largest graph [s]."""
TOKEN_S = 2e-6
"""More for each token of a step, padded or not [s]."""
DEFAULT_SIZES = [1, 2, 4, 8]
KV_BLOCKS = 400


LEAST_SLEEP_S = 1e-6
"""Less could be below what the clock's number resolves, and time would stand still."""


class Clock:
    """The process's main thread sees it in place of the real one."""

    def __init__(self) -> None:
        self.now_s = time.perf_counter()
        self._real_sleep = time.sleep

    def now(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        if threading.current_thread() is threading.main_thread():
            self.now_s += max(seconds, LEAST_SLEEP_S)
        else:
            self._real_sleep(seconds)

    def hang(self) -> None:
        self._real_sleep(600)


CLOCK = Clock()
time.perf_counter = CLOCK.now
time.sleep = CLOCK.sleep


class Mode(Enum):
    NONE = 0
    FULL = 2


class Request:
    def __init__(self, name: str, prompt: int, output: int) -> None:
        self.name, self.prompt, self.output = name, prompt, output
        self.computed, self.out = 0, []

    @property
    def decodes(self) -> bool:
        return self.computed >= self.prompt


class Scheduler:
    def __init__(self, args: EngineArgs) -> None:
        self.running: list[Request] = []
        self.waiting: list[Request] = []
        self._args = args

    def schedule(self) -> SimpleNamespace:
        budget = self._args.max_num_batched_tokens
        share: dict[str, int] = {}
        for one in self.running:
            tokens = min(budget, 1 if one.decodes else one.prompt - one.computed)
            if tokens:
                share[one.name] = tokens
                budget -= tokens
        while self.waiting and budget and len(self.running) < self._args.max_num_seqs:
            one = self.waiting.pop(0)
            self.running.append(one)
            share[one.name] = min(budget, one.prompt)
            budget -= share[one.name]
        total = sum(share.values())
        return SimpleNamespace(num_scheduled_tokens=share, total_num_scheduled_tokens=total)


class Manager:
    """Chooses the graph."""

    def __init__(self, sizes: list[int]) -> None:
        self._sizes = sorted(sizes)

    def dispatch(self, rows: int, tokens: int, uniform: bool) -> SimpleNamespace:
        fits = [size for size in self._sizes if size >= tokens]
        if uniform and fits:
            return SimpleNamespace(cg_mode=Mode.FULL, num_tokens=fits[0])
        return SimpleNamespace(cg_mode=Mode.NONE, num_tokens=tokens)


class Core:
    def __init__(self, args: EngineArgs, sizes: list[int]) -> None:
        self.scheduler = Scheduler(args)
        self.sizes = sizes
        runner = SimpleNamespace(cudagraph_manager=Manager(sizes))
        self.model_executor = SimpleNamespace(driver_worker=SimpleNamespace(model_runner=runner))

    def step(self) -> list[Request]:
        """Requests that got a token."""
        runner = self.model_executor.driver_worker.model_runner
        held = self.scheduler.schedule()
        rows, tokens = len(held.num_scheduled_tokens), held.total_num_scheduled_tokens
        graph = runner.cudagraph_manager.dispatch(rows, tokens, rows == tokens)
        CLOCK.now_s += self._seconds(graph) + TOKEN_S * graph.num_tokens
        got = []
        for one in list(self.scheduler.running):
            one.computed += held.num_scheduled_tokens.get(one.name, 0)
            if one.decodes and one.name in held.num_scheduled_tokens:
                one.out.append(7)
                got.append(one)
                if len(one.out) == one.output:
                    self.scheduler.running.remove(one)
        return got

    def _seconds(self, graph: SimpleNamespace) -> float:
        if graph.cg_mode is Mode.FULL:
            return GRAPH_S
        return BEYOND_S if self.sizes else EAGER_S


class Client:
    def __init__(self, core: Core) -> None:
        self.engine_core = core

    def get_output(self) -> SimpleNamespace:
        return SimpleNamespace(got=self.engine_core.step(), scheduler_stats=None)

    def shutdown(self) -> None:
        if "shutdown_file" in BEHAVIOUR:
            Path(BEHAVIOUR["shutdown_file"]).write_text("ended in good order")


class LLMEngine:
    def __init__(self, args: EngineArgs, sizes: list[int]) -> None:
        self.engine_core = Client(Core(args, sizes))
        self._steps = 0
        model = json.loads(Path(args.model, "config.json").read_text())
        self.vllm_config = SimpleNamespace(
            scheduler_config=args,
            cache_config=SimpleNamespace(num_gpu_blocks=KV_BLOCKS, block_size=args.block_size),
            model_config=SimpleNamespace(
                max_model_len=args.max_model_len,
                get_vocab_size=lambda: model["vocab_size"],
                enforce_eager=args.enforce_eager,
            ),
            parallel_config=args,
            compilation_config=SimpleNamespace(cudagraph_capture_sizes=sizes),
        )

    @classmethod
    def from_engine_args(cls, args: EngineArgs) -> LLMEngine:
        _misbehave(args)
        wanted = args.compilation_config.get("cudagraph_capture_sizes", DEFAULT_SIZES)
        sizes = [] if args.enforce_eager else list(wanted)
        say = lambda text: print(f"INFO {text}", file=sys.stderr, flush=True)  # noqa: E731
        say(f"Initializing a V1 LLM engine (v{__version__}) with config: {args}")
        say("Model loading took 1.50 GiB and 0.250000 seconds")
        if sizes:
            say("torch.compile took 2.50 s in total")
            say("Graph capturing finished in 3 secs, took 0.59 GiB")
        say("init engine (profile, create kv cache, warmup model) took 4.50 s")
        return cls(args, sizes)

    def has_unfinished_requests(self) -> bool:
        scheduler = self.engine_core.engine_core.scheduler
        return bool(scheduler.running or scheduler.waiting)

    def add_request(self, name: str, prompt: dict[str, Any], params: SamplingParams) -> None:
        one = Request(name, len(prompt["prompt_token_ids"]), params.max_tokens)
        self.engine_core.engine_core.scheduler.waiting.append(one)

    def abort_request(self, names: list[str]) -> None:
        scheduler = self.engine_core.engine_core.scheduler
        scheduler.running = [one for one in scheduler.running if one.name not in names]
        scheduler.waiting = [one for one in scheduler.waiting if one.name not in names]

    def step(self) -> list[SimpleNamespace]:
        self._steps += 1
        _die(self._steps)
        got = self.engine_core.get_output().got
        return [
            SimpleNamespace(
                request_id=one.name,
                outputs=[SimpleNamespace(token_ids=list(one.out))],
                finished=len(one.out) == one.output,
            )
            for one in got
        ]


def _misbehave(args: EngineArgs) -> None:
    """Fail as the environment asks."""
    if "child_pid_file" in BEHAVIOUR:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(BEHAVIOUR["child_pid_file"]).write_text(str(child.pid))
    fail = BEHAVIOUR.get("fail")
    if fail == "oom":
        raise RuntimeError(
            "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 139.80 "
            "GiB of which 1.25 GiB is free."
        )
    if fail == "elsewhere":
        print("ERROR [core.py] ValueError: No available memory for the cache blocks.",
              file=sys.stderr, flush=True)  # fmt: skip
        raise RuntimeError("Engine core initialization failed. See root cause above.")


def _die(step: int) -> None:
    """Be killed in the middle of a step: once, leaving a mark, or always. Or hang in one."""
    marker = BEHAVIOUR.get("marker")
    if step == BEHAVIOUR.get("hangs_at"):
        CLOCK.hang()
    if step == BEHAVIOUR.get("dies_always_at"):
        os.kill(os.getpid(), signal.SIGKILL)
    if marker and step == BEHAVIOUR["die_at_step"] and not Path(marker).exists():
        Path(marker).write_text("died")
        os.kill(os.getpid(), signal.SIGKILL)
