"""Which graphs vLLM captures at all: the mode asked for, and what backend and model leave of it.

Source: config/compilation.py and the model runners of 0.33.0, restated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.engines.plan import Mode
from core.engines.versions import Release
from core.errors import SettingError

_PAIRS = {
    "NONE": (None, None),
    "PIECEWISE": (Mode.PIECEWISE, Mode.PIECEWISE),
    "FULL": (Mode.FULL, Mode.FULL),
    "FULL_DECODE_ONLY": (Mode.FULL, None),
    "FULL_AND_PIECEWISE": (Mode.FULL, Mode.PIECEWISE),
}


@dataclass(frozen=True)
class Modes:
    """What decode and mixed steps replay; None is eager."""

    name: str
    notes: tuple[str, ...] = ()

    @property
    def decode(self) -> Mode | None:
        return _PAIRS[self.name][0]

    @property
    def mixed(self) -> Mode | None:
        return _PAIRS[self.name][1]

    @property
    def graphs(self) -> bool:
        return self.name != "NONE"


def uses_v2(release: Release, values: dict[str, Any]) -> bool:
    """Whether the second model runner dispatches; by default since 0.29.

    Raises SettingError for a runner that the release does not have.
    """
    runner = values["runner"]
    if runner == "v0" and release >= "0.10":
        raise SettingError(f"vLLM {release} has no V0 engine; use runner v1 or v2.")
    if runner == "v2" and release < "0.23":
        raise SettingError(f"vLLM {release} has no second model runner here; use runner v1.")
    return runner == "v2" or (runner == "auto" and release >= "0.29")


def resolve_modes(release: Release, values: dict[str, Any]) -> Modes:
    """The mode that is left after eager switches, model kind, connector and backend."""
    asked = values["cudagraph_mode"] or _default(release, values)
    if values["enforce_eager"]:
        return Modes("NONE", ("enforce_eager: no graph is captured.",))
    name, notes = asked, []
    for change, reason in (_forced(values), _supported(values)):
        changed = change.get(name, name)
        if changed != name:
            notes.append(f"cudagraph_mode {name} becomes {changed}: {reason}.")
            name = changed
    return Modes(name, tuple(notes))


def _default(release: Release, values: dict[str, Any]) -> str:
    level = values["optimization_level"]
    if level == 0:
        return "NONE"
    if level == 1 or release < "0.11":
        return "PIECEWISE"
    return "FULL_AND_PIECEWISE"


def _forced(values: dict[str, Any]) -> tuple[dict[str, str], str]:
    full = ("FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")
    if values["model_kind"] == "pooling":
        return dict.fromkeys(full, "PIECEWISE"), "a pooling model"
    if values["layerwise_kv_connector"]:
        return dict.fromkeys(full, "PIECEWISE"), "the KV connector works layer by layer"
    if values["model_kind"] == "encoder-decoder":
        return dict.fromkeys((*full, "PIECEWISE"), "FULL_DECODE_ONLY"), "an encoder-decoder model"
    return {}, ""


def _supported(values: dict[str, Any]) -> tuple[dict[str, str], str]:
    support = values["attention_support"]
    reason = f"the attention backend supports graphs as {support!r}"
    no_full_decode = {
        "FULL": "PIECEWISE",
        "FULL_AND_PIECEWISE": "PIECEWISE",
        "FULL_DECODE_ONLY": "NONE",
    }
    if support == "never":
        return no_full_decode, reason
    if values["num_speculative_tokens"] and support == "uniform_single_token_decode":
        return no_full_decode, f"{reason}, and decode steps hold draft tokens"
    if support != "always":
        return {"FULL": "FULL_AND_PIECEWISE"}, reason
    return {}, ""
