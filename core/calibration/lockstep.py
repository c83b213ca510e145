"""What a real engine's steps held: the scheduler's rules, run to the engine's own clock."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.calibration.recording import EngineRun
from core.errors import SettingError
from core.records import FloatArray, IntArray
from core.simulation.kernel.loop import advance
from core.simulation.kernel.names import (
    CHUNKS,
    COUNT,
    DECODING,
    NEVER,
    NEXT,
    NOW,
    PAIRS,
    PARTIAL,
    READ,
    ROWS,
    SEEN,
    SINGLE,
    STACKED,
    TOKENS,
)
from core.simulation.load import TICKS_PER_S, check_trace, serving_load
from core.simulation.machine import Machine
from core.simulation.state import Engine, Rules, as_lists, new_engine

BUDGETS = (512, 1024, 2048, 4096, 8192, 16384, 32768)
"""Budgets to try when the one given does not explain the steps."""
ALLOWED = 0.01
"""Share of steps that may differ from the recorded ones."""


@dataclass(frozen=True)
class StepSamples:
    """Steps of a run and how long each took: all (m,).

    start_s : when it began [s]; us : until the next began, if that followed at once, else its own
        duration [us]
    rows : decoding requests; prompts : prompts in prefill; tokens : all tokens of a step with
        prefill, 0 where all decoded; context : KV tokens that the rows read; pairs : tokens that
        prompt tokens attend to, all told
    mismatches : steps whose running requests differ from the recorded ones
    """

    start_s: FloatArray
    us: FloatArray
    rows: IntArray
    prompts: IntArray
    tokens: IntArray
    context: IntArray
    pairs: IntArray
    mismatches: int = 0

    def __len__(self) -> int:
        return len(self.us)

    def where(self, keep: np.ndarray) -> StepSamples:
        """The steps of a mask."""
        names = ("start_s", "us", "rows", "prompts", "tokens", "context", "pairs")
        return replace(self, **{name: getattr(self, name)[keep] for name in names})

    @property
    def first_half(self) -> StepSamples:
        """The steps that began in the first half of the time."""
        return self.where(self.start_s < (self.start_s[0] + self.start_s[-1]) / 2)


def lockstep(run: EngineRun, machine: Machine) -> StepSamples:
    """Schedule the run's requests with each step at the engine's own time.

    The rules decide what each step holds; the recording says when it began. Where they agree, the
    running requests before and after every step are the recorded ones.
    Raises SettingError if they do not: the limits are not those of the run.
    """
    samples = _scheduled(run, machine)
    if samples.mismatches > ALLOWED * len(samples):
        raise SettingError(_explanation(run, machine, samples))
    return samples


def explained(run: EngineRun, machine: Machine) -> tuple[StepSamples, Machine]:
    """The same with the limits that explain the steps: those given, else others often used.

    Raises SettingError if none does.
    """
    most = int(max(run.running_before.max(), run.running_after.max()))
    for seqs in dict.fromkeys((machine.max_num_seqs, max(1, most))):
        for budget in dict.fromkeys((machine.max_num_batched_tokens, *BUDGETS)):
            if budget >= max(seqs, most) and seqs >= most:
                tried = replace(machine, max_num_seqs=seqs, max_num_batched_tokens=budget)
                samples = _scheduled(run, tried)
                if samples.mismatches <= ALLOWED * len(samples):
                    return samples, tried
    return lockstep(run, machine), machine


def _explanation(run: EngineRun, machine: Machine, samples: StepSamples) -> str:
    text = (
        f"{samples.mismatches:,} of {len(samples):,} steps of {run.name} do not follow from these "
        f"limits (max_num_batched_tokens {machine.max_num_batched_tokens})"
    )
    for budget in BUDGETS:
        if budget >= machine.max_num_seqs:
            other = _scheduled(run, replace(machine, max_num_batched_tokens=budget))
            if other.mismatches <= ALLOWED * len(other):
                return f"{text}; they do with {budget}."
    return f"{text}; take them from the engine's log."


def _scheduled(run: EngineRun, machine: Machine) -> StepSamples:
    engine, s = _engine(run, machine)
    columns: list[tuple[int, ...]] = []
    mismatches = 0
    for i, start in enumerate(np.rint(run.step_start_s * TICKS_PER_S).astype(np.int64).tolist()):
        s[NOW] = start
        _release(engine, s, int(run.waiting_before[i]))
        if _nothing_to_do(engine, s):
            mismatches += len(run.step_s) - i  # the recording goes on
            break
        before = s[DECODING] + (s[PARTIAL] >= 0)
        advance(engine, s, 1)
        after = s[DECODING] + (s[PARTIAL] >= 0)
        mismatches += (before, after) != (run.running_before[i], run.running_after[i])
        prompts, pairs = (s[CHUNKS], s[PAIRS]) if s[TOKENS] else (0, 0)
        columns.append((s[ROWS], prompts, s[TOKENS], s[READ], pairs))
    held = np.array(columns, np.int64).reshape(len(columns), 5).T
    return StepSamples(
        run.step_start_s[: len(columns)],
        _durations_us(run)[: len(columns)],
        *held,
        mismatches=int(mismatches),
    )


def _engine(run: EngineRun, machine: Machine) -> tuple[Engine, list[int]]:
    """An engine whose steps take a tick, and to which no request has come yet."""
    check_trace(run.trace, None)
    _, load = serving_load(run.trace, machine)
    rows, tokens = machine.max_num_seqs + 1, machine.max_num_batched_tokens + 1
    tables = (np.zeros(rows, np.int64), np.ones(rows, np.int64))
    mixed = (np.zeros(tokens, np.int64), np.ones(tokens, np.int64))
    rules = Rules(
        machine.blocks,
        machine.block_size_tokens,
        machine.max_num_seqs,
        machine.max_num_batched_tokens,
        machine.mode == "separate",
        machine.whole_prompt_must_fit,
        0,
        (1, 1),
        *(*tables, *mixed),
        *(0, 0, 0, 0),
    )
    engine, s = as_lists(*new_engine(load, rules, None))
    engine.arrival[:] = [NEVER] * len(engine.arrival)
    s[SINGLE] = 1
    return engine, s


def _nothing_to_do(engine: Engine, s: list[int]) -> bool:
    comes = s[NEXT] < s[COUNT] and engine.arrival[s[NEXT]] <= s[NOW]
    return not comes and s[DECODING] + s[STACKED] == 0 and s[PARTIAL] < 0


def _release(engine: Engine, s: list[int], waiting: int) -> None:
    """Let requests arrive until as many wait as the recording says.

    Not by their arrival times: the engine sees a request when its loop has taken it in.
    """
    while s[SEEN] < s[COUNT] and s[SEEN] - s[NEXT] + s[STACKED] < waiting:
        engine.arrival[s[SEEN]] = s[NOW]
        s[SEEN] += 1


def _durations_us(run: EngineRun) -> FloatArray:
    """Start to start where work went on, so that the host's time between steps is in; (m,)."""
    own = run.step_s * 1e6
    following = np.append(np.diff(run.step_start_s), 0.0) * 1e6
    return np.where((run.running_after > 0) & (following > 0), following, own)
