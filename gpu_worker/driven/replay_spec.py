"""What a replay shall do: requests, loads, lists, repeats; read from JSON and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import RecordError, SettingError
from core.readers import read
from core.records import EngineSpec, MeasureSpec, Trace, spec_from_json

DEFAULT, EAGER = "default", "eager"
OF_MEASURING = ("target", "model", "engine", "seed", "samples")
"""Fields that mean what they mean in a MeasureSpec."""
MAX_RUNS = 1000
DECODE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
DECODE_CONTEXT = 256
Request = tuple[float, int, int]


@dataclass(frozen=True)
class CaptureList:
    """A list to try. mode : "default", "eager", or the sizes with commas, as recorded runs say."""

    name: str
    mode: str

    def engine(self, base: EngineSpec) -> EngineSpec:
        """The engine with this list."""
        if self.mode == EAGER:
            return replace(base, enforce_eager=True, capture_sizes=None)
        sizes = None if self.mode == DEFAULT else tuple(map(int, self.mode.split(",")))
        return replace(base, enforce_eager=False, capture_sizes=sizes)


@dataclass(frozen=True)
class ReplaySpec:
    """One replay.

    requests : of load 1, ascending by arrival; loads : arrivals are divided by each
    repeats : runs of each list and load; until_s : later arrivals are left out [s]
    decode_sizes, decode_context : the table of decode steps that is measured first
    measuring : target, model and engine, with the number of samples and the seed
    """

    requests: tuple[Request, ...]
    lists: tuple[CaptureList, ...]
    measuring: MeasureSpec
    loads: tuple[float, ...] = (1.0,)
    repeats: int = 2
    until_s: float | None = None
    decode_sizes: tuple[int, ...] = DECODE_SIZES
    decode_context: int = DECODE_CONTEXT
    notes: tuple[str, ...] = field(default=())

    @property
    def engine(self) -> EngineSpec:
        assert self.measuring.engine is not None
        return self.measuring.engine

    def at(self, load: float) -> list[Request]:
        """The requests of a load. Raises SettingError where none is left."""
        found = [(arrival / load, prompt, output) for arrival, prompt, output in self.requests]
        if self.until_s is not None:
            found = [one for one in found if one[0] < self.until_s]
        if not found:
            raise SettingError(f"No request arrives within until_s {self.until_s} at load {load}.")
        return found


def replay_spec(data: Any, folder: Path, where: str = "spec") -> ReplaySpec:
    """From JSON; a file of requests is looked for beside the spec.

    Raises RecordError (shape), SettingError (a value), or what reading the requests raises.
    """
    if not isinstance(data, Mapping):
        raise RecordError(f"{where}: an object was expected, got {type(data).__name__}.")
    own = ("requests", "lists", "loads", "repeats", "until_s", "decode_sizes", "decode_context")
    clips = ("max_prompt_tokens", "max_output_tokens")
    known = (*own, *clips, *OF_MEASURING)
    for key in data:
        if key not in known:
            raise RecordError(
                f"{where}: unknown field {str(key)[:80]!r}; known are {', '.join(sorted(known))}."
            )
    sizes = _numbers(data.get("decode_sizes", list(DECODE_SIZES)), f"{where}: decode_sizes", True)
    asked = {key: data[key] for key in OF_MEASURING if key in data}
    measuring = spec_from_json({"target": "vllm", "samples": 24, "sizes": sizes, **asked}, where)
    if not measuring.of_engine or "-" in measuring.target:
        raise SettingError(f'{where}: target is {measuring.target!r}; an engine such as "vllm".')
    requests = _requests(data.get("requests"), folder, f"{where}: requests")
    requests, notes = _clipped(
        requests, *(_whole(data.get(key), f"{where}: {key}") for key in clips)
    )
    spec = ReplaySpec(
        tuple(requests),
        _lists(data.get("lists", [DEFAULT]), f"{where}: lists"),
        measuring,
        tuple(_numbers(data.get("loads", [1]), f"{where}: loads", False)),
        _whole(data.get("repeats", 2), f"{where}: repeats") or 1,
        _until(data.get("until_s"), f"{where}: until_s"),
        tuple(int(size) for size in sizes),
        _whole(data.get("decode_context", DECODE_CONTEXT), f"{where}: decode_context") or 1,
        notes,
    )
    _check(spec)
    return spec


def _check(spec: ReplaySpec) -> None:
    runs = len(spec.lists) * len(spec.loads) * spec.repeats
    if runs > MAX_RUNS:
        raise SettingError(f"The spec asks for {runs:,} runs; {MAX_RUNS:,} at most.")
    most = spec.engine.max_model_len
    long = [one for one in spec.requests if one[1] + one[2] > most]
    if long:
        worst = max(prompt + output for _, prompt, output in long)
        raise SettingError(
            f"{len(long):,} requests take more than max_model_len {most:,} tokens, the longest "
            f"{worst:,}; raise it, or cut them with max_prompt_tokens and max_output_tokens."
        )
    for load in spec.loads:
        spec.at(load)
    for one in spec.lists:
        one.engine(spec.engine)


def _requests(given: Any, folder: Path, where: str) -> list[Request]:
    """Rows of JSON, or a file that `import` reads."""
    if isinstance(given, str):
        trace = read(folder / given).trace
        if trace is None or trace.arrival_s is None:
            raise SettingError(f"{where}: {given} holds no requests with arrival times.")
        return _of_trace(trace)
    if not isinstance(given, list) or not given:
        raise RecordError(
            f"{where} is {str(given)[:40]!r}; a file, or rows [arrival_s, prompt_tokens, "
            "output_tokens], is expected."
        )
    found = []
    for i, row in enumerate(given):
        if not isinstance(row, list) or len(row) != 3:
            raise RecordError(f"{where}[{i}] must be [arrival_s, prompt_tokens, output_tokens].")
        arrival = _number(row[0], f"{where}[{i}]")
        prompt, output = (_whole(value, f"{where}[{i}]", 0) or 0 for value in row[1:])
        found.append((arrival, prompt, output))
    return sorted(found)


def _of_trace(trace: Trace) -> list[Request]:
    assert trace.arrival_s is not None
    arrival = trace.arrival_s - float(np.min(trace.arrival_s))
    rows = zip(
        arrival.tolist(), trace.prompt_tokens.tolist(), trace.output_tokens.tolist(), strict=True
    )
    return sorted(rows)


def _clipped(
    requests: Sequence[Request], prompt_most: int | None, output_most: int | None
) -> tuple[list[Request], tuple[str, ...]]:
    """Lengths within what is asked and 1 or more, and sentences on how many were changed."""
    found = [
        (
            arrival,
            max(1, min(prompt, prompt_most or prompt)),
            max(1, min(output, output_most or output)),
        )
        for arrival, prompt, output in requests
    ]
    notes = []
    for index, what, most in ((1, "prompts", prompt_most), (2, "outputs", output_most)):
        cut = sum(new[index] < old[index] for new, old in zip(found, requests, strict=True))
        raised = sum(new[index] > old[index] for new, old in zip(found, requests, strict=True))
        if cut:
            notes.append(f"{cut:,} {what} were cut to {most:,} tokens.")
        if raised:
            notes.append(f"{raised:,} empty {what} were given one token.")
    return found, tuple(notes)


def _lists(given: Any, where: str) -> tuple[CaptureList, ...]:
    """{name: list} or a list of lists, each "default", "eager", sizes as text or as numbers."""
    if isinstance(given, Mapping):
        pairs = [(str(name)[:80], _mode(value, f"{where}.{name}")) for name, value in given.items()]
    elif isinstance(given, list):
        modes = [_mode(value, f"{where}[{i}]") for i, value in enumerate(given)]
        pairs = [(mode, mode) for mode in modes]
    else:
        raise RecordError(f'{where} is {given!r}; such as {{"today": "default", "new": [1, 2]}}.')
    if not pairs or len({name for name, _ in pairs}) < len(pairs):
        raise RecordError(f"{where}: give one list or more, each under its own name.")
    return tuple(CaptureList(name, mode) for name, mode in pairs)


def _mode(value: Any, where: str) -> str:
    if isinstance(value, str):
        text = value.replace(" ", "")
        if text in (DEFAULT, EAGER) or re.fullmatch(r"\d{1,7}(,\d{1,7})*", text):
            return text
    elif isinstance(value, list) and value:
        return ",".join(str(size) for size in sorted(_numbers(value, where, True)))
    raise RecordError(f'{where} is {value!r}; use "default", "eager" or sizes such as [1, 2, 4].')


def _numbers(values: Any, where: str, whole: bool) -> list[Any]:
    """Above 0. Raises RecordError."""
    if not isinstance(values, list) or not values:
        raise RecordError(f"{where} is {values!r}; a list of numbers is expected.")
    found = [_whole(v, where) if whole else _number(v, where) for v in values]
    for value in found:
        if value is None or value <= 0:
            raise RecordError(f"{where} holds {value!r}; numbers above 0 are expected.")
    return found


def _number(value: Any, where: str) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not 0 <= value < 1e12:
        raise RecordError(f"{where} holds {value!r}; a number of 0 or more is expected.")
    return float(value)


def _whole(value: Any, where: str, least: int = 1) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
        raise RecordError(f"{where} is {value!r}; a whole number of {least} or more is expected.")
    return value


def _until(value: Any, where: str) -> float | None:
    return None if value is None else _numbers([value], where, False)[0]
