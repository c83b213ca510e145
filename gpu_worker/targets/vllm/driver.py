"""A vLLM engine in this process: started from settings, stepped by hand, looked into as it runs."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import torch

from core.errors import SettingError
from core.records import DeviceInfo, EngineSpec, ModelShape
from gpu_worker import device
from gpu_worker.driven.contract import Limits, Started, StepRecord
from gpu_worker.targets.vllm.arguments import arguments
from gpu_worker.targets.vllm.model_folder import model_folder
from gpu_worker.targets.vllm.release import INSTALL, installed_release, release_notes
from gpu_worker.targets.vllm.watch import FULL, CaptureWatch, CardClock, StepWatch, tell, time_model

IN_PROCESS = ("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
"""Scheduler and runner are in this process, to be seen and stepped; whatever else is asked for."""
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",  # it compiles kernels at the first request
}
"""Where the worker's environment does not say otherwise."""

_DEVICE: list[DeviceInfo] = []


def described_device() -> DeviceInfo:
    """The card as it was before the engine started."""
    return _DEVICE[0]


def start_engine(engine: EngineSpec, model: ModelShape, seed: int) -> VllmDriver:
    """Raises SettingError, or whatever vLLM raises when it does not start."""
    os.environ[IN_PROCESS[0]] = IN_PROCESS[1]
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    release = installed_release()
    folder, dummy = model_folder(engine, model)
    card = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    _DEVICE[:] = [device.describe(card)]
    begin = time.perf_counter()
    args_class, engine_class = _classes(release)
    imported = time.perf_counter()
    known = {field.name for field in fields(args_class)}
    values = arguments(engine, folder, dummy, known, release)
    with _captures_watched() as watch, _first_words():
        made = engine_class.from_engine_args(args_class(**values))
    phases = (("import", imported - begin), ("start", time.perf_counter() - imported))
    return VllmDriver(made, release, watch, phases)


def _classes(release: str) -> tuple[Any, Any]:
    """EngineArgs and LLMEngine."""
    try:
        # Not `import vllm`: to a type checker that is this very package.
        args_class = importlib.import_module("vllm").EngineArgs
        engine_class = importlib.import_module("vllm.v1.engine.llm_engine").LLMEngine
    except (ImportError, AttributeError) as error:
        text = str(error).splitlines()[0]
        raise SettingError(
            f"vLLM {release} is there but cannot be imported ({text}); {INSTALL}, with all that it "
            "needs."
        ) from error
    return args_class, engine_class


@contextmanager
def _first_words() -> Iterator[None]:
    """A refusal of the settings in its own words, without the list around them."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "ValidationError":
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = next((line for line in lines if "error," in line), lines[-1])
        said = said.partition("error,")[2].strip() or said
        raise SettingError(f"vLLM refuses the settings: {said.partition(' [type=')[0]}.") from error


@contextmanager
def _captures_watched() -> Iterator[CaptureWatch | None]:
    """Watch captures where there is a card; None elsewhere."""
    if not torch.cuda.is_available():
        yield None
        return
    with CaptureWatch(torch.cuda.graph, _forward_context, _free_bytes) as watch:
        yield watch


def _free_bytes() -> int | None:
    return torch.cuda.mem_get_info()[0]


def _forward_context() -> tuple[str | None, int | None]:
    """Kind and tokens of the forward pass that goes on; None outside of one."""
    try:
        context = importlib.import_module("vllm.forward_context").get_forward_context()
    except (ImportError, AttributeError, AssertionError):
        return None, None
    kind = getattr(getattr(context, "cudagraph_runtime_mode", None), "name", None)
    descriptor = getattr(context, "batch_descriptor", None)
    if kind not in ("FULL", "PIECEWISE"):
        return None, None
    return kind, getattr(descriptor, "num_tokens", None)


class VllmDriver:
    """Follows gpu_worker.driven.contract.Driver."""

    def __init__(
        self,
        engine: Any,
        release: str,
        captures: CaptureWatch | None,
        phases: tuple[tuple[str, float], ...],
    ) -> None:
        self._engine = engine
        self._sampling: Any = importlib.import_module("vllm").SamplingParams
        core = engine.engine_core.engine_core
        self._scheduler = core.scheduler
        self._runner = _runner_of(core)
        self._next = 0
        self._counts: dict[str, int] = {}
        self._watch = StepWatch()
        config = engine.vllm_config
        self._own_card = config.parallel_config.tensor_parallel_size == 1
        self.limits = _limits(config)
        notes = (*release_notes(release), *self._look_in(core))
        self.started = _started(engine, self._runner, release, captures, phases, notes)

    def _look_in(self, core: Any) -> list[str]:
        """Set up what watches each step; sentences on what stays unseen."""
        notes = []
        tell(self._scheduler, "schedule", self._watch.scheduled)
        manager = getattr(self._runner, "cudagraph_manager", None)
        dispatched = tell(manager, "dispatch", self._watch.dispatched)
        tell(self._engine.engine_core, "get_output", self._watch.counted)
        has_card = torch.cuda.is_available() and self._own_card
        self._clock = CardClock(_new_timer if has_card else None)
        if not (has_card and time_model(self._runner, self._clock)):
            notes.append("The card's part of a step is not told apart from the host's.")
        if not dispatched and self._runner is None:
            notes.append("How a step ran (with which graph) is not told.")
        return notes

    @property
    def busy(self) -> bool:
        return bool(self._engine.has_unfinished_requests())

    def add(self, tokens: Sequence[int], output_tokens: int) -> str:
        self._next += 1
        name = str(self._next)
        params = self._sampling(
            max_tokens=output_tokens,
            min_tokens=output_tokens,
            ignore_eos=True,
            temperature=0.0,
            detokenize=False,
        )
        self._engine.add_request(name, {"prompt_token_ids": list(tokens)}, params)
        return name

    def abort(self, requests: Sequence[str]) -> None:
        self._engine.abort_request(list(requests))

    def close(self) -> None:
        shutdown = getattr(self._engine.engine_core, "shutdown", None)
        if shutdown is not None:
            shutdown()

    def step(self) -> StepRecord:
        self._watch.reset()
        running, waiting = len(self._scheduler.running), len(self._scheduler.waiting)
        begin = time.perf_counter()
        outputs = self._engine.step()
        wall = time.perf_counter() - begin
        watch = self._watch
        return StepRecord(
            *(begin, wall, running, waiting, len(self._scheduler.running)),
            *(watch.rows, watch.tokens, watch.mode, watch.padded),
            self._clock.taken_s(),
            {one.request_id: len(one.outputs[0].token_ids) for one in outputs},
            tuple(one.request_id for one in outputs if one.finished),
        )


def _new_timer() -> Any:
    return torch.cuda.Event(enable_timing=True)


def _runner_of(core: Any) -> Any:
    """The model runner where it is in this process; None otherwise."""
    worker = getattr(core.model_executor, "driver_worker", None)
    return getattr(worker, "model_runner", None)


def _limits(config: Any) -> Limits:
    scheduler, cache = config.scheduler_config, config.cache_config
    blocks, block = cache.num_gpu_blocks, cache.block_size
    drafts = getattr(getattr(config, "speculative_config", None), "num_speculative_tokens", 0)
    return Limits(
        int(scheduler.max_num_seqs),
        int(scheduler.max_num_batched_tokens),
        int(config.model_config.max_model_len),
        int(config.model_config.get_vocab_size()),
        int(blocks) * int(block) if blocks and block else None,
        1 + int(drafts or 0),
    )


def _started(
    engine: Any,
    runner: Any,
    release: str,
    captures: CaptureWatch | None,
    phases: tuple[tuple[str, float], ...],
    notes: tuple[str, ...],
) -> Started:
    config = engine.vllm_config
    eager = bool(config.model_config.enforce_eager)
    sizes = () if eager else tuple(config.compilation_config.cudagraph_capture_sizes or ())
    graphs = getattr(getattr(runner, "cudagraph_manager", None), "graphs", None) or {}
    full = tuple(int(one.num_tokens) for one in graphs if one.cg_mode.name == FULL)
    return Started(
        *("vLLM", release, tuple(sorted(int(size) for size in sizes))),
        *(config.cache_config.num_gpu_blocks, config.cache_config.block_size),
        captures.captures(full) if captures is not None else (),
        phases,
        notes,
    )
