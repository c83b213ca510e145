"""Which graphs vLLM captures at all: the mode asked for, and what backend and model leave of it.

Source: config/vllm.py, config/compilation.py and the model runners by release, restated.
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
_FULL = ("FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")

SP_HIDDEN = 8192
"""Least hidden size for which sequence parallelism stays on, 0.17 to 0.31."""
GPT_OSS_HIDDEN = 2880


@dataclass(frozen=True)
class Modes:
    """What decode and mixed steps replay; None is eager.

    name : the mode once the attention backend is known
    """

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

    @property
    def separate(self) -> bool:
        """Whether decode steps have graphs of their own."""
        return self.decode is not self.mixed

    def become(self, name: str, reason: str) -> Modes:
        """The same with another mode and a sentence about it; unchanged where it is that mode."""
        if name == self.name:
            return self
        note = f"cudagraph_mode {self.name} becomes {name}: {reason}."
        return Modes(name, (*self.notes, note))


def sequence_parallel(release: Release, values: dict[str, Any]) -> bool:
    """Whether enable_sp takes effect; gone in 0.32, by card and model from 0.17 on.

    From 0.17 a threshold by card decides: only capability 9.0 has one, from 0.21 on 10.x too, and
    only for models of a hidden size of 8192 or more, which an unnamed one is taken to have.
    """
    if not values["enable_sp"] or values["tensor_parallel_size"] == 1 or release >= "0.32":
        return False
    if release < "0.17":
        return True
    capability = values["compute_capability"]
    blackwell = release >= "0.21" and 10 <= capability < 11
    hidden = GPT_OSS_HIDDEN if values["gpt_oss"] else values["hidden_size"]
    return (capability == 9.0 or blackwell) and (hidden is None or hidden >= SP_HIDDEN)


def uses_v2(release: Release, values: dict[str, Any]) -> bool:
    """Whether the second model runner dispatches.

    Unset: from 0.29 on for every model, 0.25 to 0.28 for dense models that generate, 0.23 and 0.24
    for a few architectures (Llama, Mistral, Qwen3), which are assumed. Sequence parallelism is
    left to the first. Raises SettingError for a runner that the release does not have.
    """
    runner = values["runner"]
    parallel = sequence_parallel(release, values)
    if runner == "v0" and release >= "0.10":
        raise SettingError(f"vLLM {release} has no V0 engine; use runner v1 or v2.")
    if runner == "v2" and release < "0.23":
        raise SettingError(f"vLLM {release} has no second model runner here; use runner v1.")
    if runner == "v2" and parallel:
        raise SettingError(
            f"The second model runner of vLLM {release} has no sequence parallelism, so it does "
            "not start; leave out enable_sp or use runner v1."
        )
    if runner != "auto":
        return runner == "v2"
    if parallel or release < "0.23":
        return False
    if release >= "0.29":
        return True
    experts = values["gpt_oss"] or values["mixture_of_experts"]
    return not experts and values["model_kind"] != "pooling"


def resolve_modes(release: Release, values: dict[str, Any]) -> Modes:
    """The mode that is left after eager switches, model kind, connector and backend.

    Raises SettingError where the engine refuses the mode.
    """
    asked = configured_mode(release, values)
    if not asked.graphs:
        return asked
    return _supported(release, values, asked)


def configured_mode(release: Release, values: dict[str, Any]) -> Modes:
    """The mode in the configuration, before the attention backend is asked."""
    if values["enforce_eager"]:
        return Modes("NONE", ("enforce_eager: no graph is captured.",))
    modes = _asked(release, values)
    modes = _uncompiled(release, values, modes)
    modes = _forced(release, values, modes)
    if _unsplit(release, values) and modes.mixed is Mode.PIECEWISE:
        modes = modes.become("FULL", "sequence parallelism leaves nothing to capture piecewise")
    return modes


def _asked(release: Release, values: dict[str, Any]) -> Modes:
    asked = values["cudagraph_mode"]
    if asked is not None and release < "0.10.2":
        note = f"{release} has no cudagraph_mode; {asked} is ignored, its graphs are piecewise."
        return Modes("PIECEWISE", (note,))
    return Modes(asked or _default(release, values))


def _unsplit(release: Release, values: dict[str, Any]) -> bool:
    """Whether sequence parallelism compiles the model in one piece, from 0.20 on."""
    return release >= "0.20" and sequence_parallel(release, values) and not _is_uncompiled(values)


def _default(release: Release, values: dict[str, Any]) -> str:
    level = values["optimization_level"]
    if level == 0:
        return "NONE"
    if level == 1 or release < "0.11":
        return "PIECEWISE"
    if release < "0.11.1" and values["model_kind"] == "pooling":
        return "PIECEWISE"
    return "FULL_AND_PIECEWISE"


def _is_uncompiled(values: dict[str, Any]) -> bool:
    return values["optimization_level"] == 0


def _uncompiled(release: Release, values: dict[str, Any], modes: Modes) -> Modes:
    """Piecewise graphs need the compiler, which -O0 turns off; in 0.12 all graphs did."""
    needs = modes.mixed is Mode.PIECEWISE or release < "0.13"
    if not _is_uncompiled(values) or not needs:
        return modes
    reason = "-O0 does not compile, and these graphs need it"
    keeps_full = release >= "0.30" and modes.name == "FULL_AND_PIECEWISE"
    return modes.become("FULL_DECODE_ONLY" if keeps_full else "NONE", reason)


def _forced(release: Release, values: dict[str, Any], modes: Modes) -> Modes:
    pooling = values["model_kind"] == "pooling" and release >= "0.11.1"
    if pooling and modes.name in _FULL:
        return modes.become("PIECEWISE", "a pooling model")
    if values["layerwise_kv_connector"] and modes.name in _FULL:
        return modes.become("PIECEWISE", "the KV connector works layer by layer")
    if values["model_kind"] == "encoder-decoder" and modes.graphs:
        return modes.become("FULL_DECODE_ONLY", "an encoder-decoder model")
    return modes


def _supported(release: Release, values: dict[str, Any], modes: Modes) -> Modes:
    """What the attention backend leaves; attention that is not split off has no piecewise graph."""
    support, drafts = values["attention_support"], values["num_speculative_tokens"]
    reason = f"the attention backend supports graphs as {support!r}"
    split = not _is_uncompiled(values) and not _unsplit(release, values)
    piecewise = "PIECEWISE" if split else "NONE"
    if support == "never":
        _check_never(release, modes, drafts)
    if modes.mixed is Mode.FULL and support != "always":
        modes = modes.become("FULL_AND_PIECEWISE" if split else "FULL_DECODE_ONLY", reason)
    if modes.decode is Mode.FULL and support == "never":
        modes = modes.become(piecewise, reason)
    if modes.decode is Mode.FULL and support == "uniform_single_token_decode" and drafts:
        modes = modes.become(piecewise, f"{reason}, and decode steps hold draft tokens")
    return modes


def _check_never(release: Release, modes: Modes, drafts: int) -> None:
    """A backend without graphs: one full graph for all steps is refused.

    0.10.2 refuses full decode graphs too, unless drafts have ruled them out before.
    """
    decode_refused = release < "0.11" and modes.decode is Mode.FULL and not drafts
    if modes.mixed is Mode.FULL or decode_refused:
        raise SettingError(
            f"cudagraph_mode {modes.name} with an attention backend that captures nothing: vLLM "
            f"{release} does not start; use --compilation-config "
            '\'{"cudagraph_mode":"PIECEWISE"}\'.'
        )
