"""Capture failures, run for real: the error, the doctor's verdict, and the mended step."""

from __future__ import annotations

import inspect
import traceback
from dataclasses import dataclass
from pathlib import Path

from core.diagnose import Cause, diagnose
from core.errors import SettingError
from core.lab import failing_steps
from core.lab.card import Card
from core.lab.derivation import Derivation, Step
from core.lab.failing_steps import HAZARDS, Hazard
from core.lab.tensor import tensor

INPUT = (1.0, 0.0, 2.0, 3.0)
OTHER_INPUT = (5.0, 0.0, 0.0, 1.0)
SHOWN = (Path(__file__).name, Path(failing_steps.__file__).name)


@dataclass(frozen=True)
class Attempt:
    """One step captured.

    log : what Python prints for the broken step; causes : what the doctor reads in it
    eager, replay : of the mended step, with another input than the one it was captured with
    """

    hazard: Hazard
    broken_code: str
    mended_code: str
    log: str
    causes: tuple[Cause, ...]
    eager: tuple[float, ...]
    replay: tuple[float, ...]
    derivation: Derivation

    @property
    def first(self) -> Cause:
        return self.causes[0]


def attempt(name: str) -> Attempt:
    """Capture the broken step and the mended one. Raises SettingError for an unknown name."""
    hazard = next((hazard for hazard in HAZARDS if hazard.name == name), None)
    if hazard is None:
        known = ", ".join(hazard.name for hazard in HAZARDS)
        raise SettingError(f"There is no failing step {name!r}; known are {known}.")
    log = failure_log(hazard)
    causes = diagnose(log).causes
    eager, replay = _mended(hazard)
    return Attempt(
        hazard,
        inspect.getsource(hazard.broken).strip(),
        inspect.getsource(hazard.mended).strip(),
        log,
        causes,
        eager,
        replay,
        _derivation(hazard, causes, eager, replay),
    )


def failure_log(hazard: Hazard) -> str:
    """The traceback of capturing the broken step; it also shows that it runs eagerly."""
    card = Card()
    x = tensor(card, INPUT)
    hazard.broken(x).tolist()
    try:
        with card.capture():
            hazard.broken(x)
    except RuntimeError as error:
        return "".join(_own_frames(traceback.TracebackException.from_exception(error)).format())
    raise AssertionError(f"{hazard.name} was captured")


def _own_frames(shown: traceback.TracebackException) -> traceback.TracebackException:
    """The traceback without the emulator's insides, as a library's compiled part has no frames."""
    frames = [
        traceback.FrameSummary(Path(f.filename).name, f.lineno, f.name, line=f.line)
        for f in shown.stack
        if Path(f.filename).name in SHOWN
    ]
    shown.stack = traceback.StackSummary.from_list(frames)
    if shown.__context__ is not None:
        _own_frames(shown.__context__)
    return shown


def _mended(hazard: Hazard) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Eager and replay of the mended step at an input that the capture did not see."""
    card = Card()
    x = tensor(card, INPUT)
    with card.capture() as graph:
        y = hazard.mended(x)
    x.copy_(OTHER_INPUT)
    graph.replay()
    replay = y.tolist()
    eager_card = Card()
    eager = hazard.broken(tensor(eager_card, OTHER_INPUT))
    eager_card.synchronize()
    return tuple(eager.tolist()), tuple(replay)


def _derivation(
    hazard: Hazard,
    causes: tuple[Cause, ...],
    eager: tuple[float, ...],
    replay: tuple[float, ...],
) -> Derivation:
    first = causes[0]
    steps = [
        Step("waits for the card on the host", hazard.waits),
        Step("errors that Python shows", len(causes), "errors"),
        Step("first of them, by the doctor", first.klass),
        Step("CUDA's code of it", "none, PyTorch refuses it" if not first.code else first.code),
        Step("line that made it", str(first.site) if first.site else "the end of the capture"),
        Step("eager, another input", eager),
        Step("replay of the mended step, same input", replay),
    ]
    return Derivation(
        f"capture failure: {hazard.name}",
        "Which step waits for the CPU, and which cannot be captured for another reason?",
        ("four elements; the same step runs eagerly without any error",),
        tuple(steps),
        f"{first.cause} {first.remedy}",
    )
