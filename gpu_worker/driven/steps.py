"""Times of single kinds of steps on a started engine: decode, one prompt, a prompt beside decode.

Every prompt is random tokens, so that no cache of prefixes knows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.text.counting import counted
from gpu_worker.driven.contract import Driver, PointRefusedError, StepRecord

SKIPPED = 3
"""Steps after the last change of the batch that are not counted: caches of a shape fill."""
LEAST_SAMPLES = 5
POINT_BUDGET_S = 6.0
"""A point whose steps are long stops sampling after this long, with LEAST_SAMPLES at least."""
FIRST_TOKEN = 10
"""Below are tokens that models keep for themselves."""


@dataclass
class StepTimes:
    """Samples of one kind of step [us]; card_us is empty where the card's part is not told.

    mode, padded : of the last step
    """

    wall_us: list[float] = field(default_factory=list)
    card_us: list[float] = field(default_factory=list)
    mode: str | None = None
    padded: int | None = None

    def add(self, step: StepRecord) -> None:
        self.wall_us.append(step.wall_s * 1e6)
        if step.card_s is not None:
            self.card_us.append(step.card_s * 1e6)
        self.mode, self.padded = step.mode, step.padded


class Prompts:
    """Random prompts of given lengths; another seed gives others."""

    def __init__(self, vocab_size: int, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._top = max(FIRST_TOKEN + 1, vocab_size)

    def of(self, tokens: int) -> list[int]:
        """One prompt."""
        return self._random.integers(FIRST_TOKEN, self._top, tokens).tolist()


def decode_times(
    driver: Driver, prompts: Prompts, size: int, context: int, samples: int
) -> StepTimes:
    """Steps in which `size` requests decode and nothing else happens, at a mean context of
    `context` tokens. Raises PointRefusedError."""
    prompt = _prompt_for(driver, size, context, samples)
    filling = _fill_steps(driver, size, prompt)
    output = (filling + SKIPPED + samples + 1) * driver.limits.step_tokens
    _check_room(driver, size, prompt + output)
    names = [driver.add(prompts.of(prompt), output) for _ in range(size)]
    times, seen, alone = StepTimes(), set(), 0
    deadline = time.perf_counter() + POINT_BUDGET_S
    while driver.busy and len(times.wall_us) < samples:
        decodes = len(seen) == size
        step = driver.step()
        seen.update(step.counts)
        if not decodes or step.finished or step.rows not in (None, size):
            alone = 0
            deadline = time.perf_counter() + POINT_BUDGET_S
            continue
        alone += 1
        if alone > SKIPPED:
            times.add(step)
        if time.perf_counter() > deadline and len(times.wall_us) >= LEAST_SAMPLES:
            break
    _forget(driver, names)
    return _enough(times, f"{counted(size, 'requests')} at a context of {context:,} tokens")


def prefill_times(driver: Driver, prompts: Prompts, size: int, samples: int) -> StepTimes:
    """Steps that take in one prompt of `size` tokens, whole. Raises PointRefusedError."""
    _check_chunk(driver, size, size)
    _check_room(driver, 1, size + 1)

    def once() -> StepRecord:
        driver.add(prompts.of(size), 1)
        return driver.step()

    times = _repeated(once, samples, lambda step: step.tokens in (None, size))
    _drain(driver)
    return _enough(times, f"a prompt of {counted(size, 'tokens')}")


def mixed_times(
    driver: Driver, prompts: Prompts, size: int, decoding: int, context: int, samples: int
) -> StepTimes:
    """Steps of `size` tokens: `decoding` requests at about `context` tokens, the rest one prompt
    taken in whole. Raises PointRefusedError."""
    if size <= decoding:
        raise PointRefusedError(
            f"A mixed step of {size:,} tokens has no room for a prompt beside {decoding:,} "
            "decoding requests; take more tokens or a smaller mixed_decoding."
        )
    _check_chunk(driver, size, size - decoding)
    steps = _fill_steps(driver, decoding, context) + 2 * (samples + SKIPPED) + 2
    output = steps * driver.limits.step_tokens
    _check_room(driver, decoding + 1, max(context + output, size - decoding + 1))
    names = [driver.add(prompts.of(max(1, context)), output) for _ in range(decoding)]
    seen: set[str] = set()
    while len(seen) < decoding and driver.busy:
        seen.update(driver.step().counts)

    def once() -> StepRecord:
        driver.add(prompts.of(size - decoding), 1)
        return driver.step()

    def as_asked(step: StepRecord) -> bool:
        # Drafts make a speculating engine's step a few tokens longer.
        exact = driver.limits.step_tokens == 1
        return step.rows in (None, decoding + 1) and (not exact or step.tokens in (None, size))

    times = _repeated(once, samples, as_asked)
    _forget(driver, names)
    what = f"{counted(size, 'tokens')} of which {counted(decoding, 'requests')} decode"
    return _enough(times, what)


def _repeated(
    once: Callable[[], StepRecord], samples: int, counts: Callable[[StepRecord], bool]
) -> StepTimes:
    """Untimed ones first, then `samples`, or as many as the time for a point holds."""
    times = StepTimes()
    for _ in range(SKIPPED):
        once()
    deadline = time.perf_counter() + POINT_BUDGET_S
    for _ in range(samples):
        step = once()
        if counts(step):
            times.add(step)
        if time.perf_counter() > deadline and len(times.wall_us) >= LEAST_SAMPLES:
            break
    return times


def _prompt_for(driver: Driver, size: int, context: int, samples: int) -> int:
    """Tokens of a prompt with which the mean context over all requests and samples is `context`.

    Who came first decodes while others are taken in, and so is half the filling ahead in the mean;
    how long that takes depends on the prompt in turn. Drafts are taken as refused, as random text
    mostly has it.
    """
    prompt = context
    for _ in range(4):
        filling = _fill_steps(driver, size, prompt)
        prompt = max(1, context - filling // 2 - SKIPPED - samples // 2)
    return prompt


def _fill_steps(driver: Driver, size: int, prompt: int) -> int:
    """Steps until every prompt has been taken in, while those that have it already decode."""
    room = max(1, driver.limits.max_num_batched_tokens - size)
    return -(-size * prompt // room) + 1


def _check_room(driver: Driver, size: int, tokens: int) -> None:
    """Raises PointRefusedError where so many requests of so many tokens cannot run together."""
    limits = driver.limits
    if size > limits.max_num_seqs:
        raise PointRefusedError(
            f"{counted(size, 'requests')} never run together; max_num_seqs is "
            f"{limits.max_num_seqs:,}. Raise it or measure smaller sizes."
        )
    if tokens > limits.max_model_len:
        raise PointRefusedError(
            f"A request needs {tokens:,} tokens here, and max_model_len is "
            f"{limits.max_model_len:,}; raise it, or take a shorter context or fewer samples."
        )
    if limits.kv_tokens is not None and size * tokens > limits.kv_tokens:
        raise PointRefusedError(
            f"{counted(size, 'requests')} of {tokens:,} tokens do not fit the KV cache of "
            f"{limits.kv_tokens:,} tokens; take a shorter context or smaller sizes."
        )


def _check_chunk(driver: Driver, size: int, prompt: int) -> None:
    budget = driver.limits.max_num_batched_tokens
    if size > budget:
        raise PointRefusedError(
            f"A step of {size:,} tokens exceeds max_num_batched_tokens {budget:,}; measure fewer "
            "tokens, or raise it."
        )
    if prompt + 1 > driver.limits.max_model_len:
        raise PointRefusedError(
            f"A prompt of {prompt:,} tokens exceeds max_model_len "
            f"{driver.limits.max_model_len:,}; raise it or measure fewer tokens."
        )


def _forget(driver: Driver, names: Sequence[str]) -> None:
    driver.abort(names)
    _drain(driver)


def _drain(driver: Driver) -> None:
    while driver.busy:
        driver.step()


def _enough(times: StepTimes, what: str) -> StepTimes:
    if len(times.wall_us) < 1:
        raise PointRefusedError(
            f"No step held {what} and nothing else; the engine may have preempted requests. Take a "
            "shorter context or smaller sizes."
        )
    return times
