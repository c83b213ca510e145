"""Profiles of an installed engine: decode at each context, one prompt, and both together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from core.errors import SettingError
from core.model.shape import shape_of_config
from core.records import DeviceInfo, MeasureRow, MeasureSpec, Profile
from gpu_worker.driven.session import MAX_TRIES, EngineSession, OnEager
from gpu_worker.session import SessionEndedError

OnRow = Callable[[MeasureSpec, MeasureRow], None]
OnProfile = Callable[[int, Profile], None]


def engine_specs(
    spec: MeasureSpec, contexts: Sequence[int], tokens: Sequence[int]
) -> list[tuple[MeasureSpec, str]]:
    """What one pair of starts shall measure, and the ending of each profile's name.

    contexts : of decode steps; none: the spec's own
    tokens : sizes of prompts, and of steps with a prompt beside decoding requests; none: neither
    Raises SettingError for a prefill at a context, which an engine's step does not have.
    """
    spec = shaped(spec)
    if spec.target == "vllm-prefill" and spec.context_tokens:
        raise SettingError(
            f"vllm-prefill is measured from a prompt's beginning, and context_tokens is "
            f"{spec.context_tokens:,}; give 0."
        )
    if spec.target != "vllm":
        if contexts or tokens:
            raise SettingError(f'--context and --tokens go with target "vllm", not {spec.target}.')
        return [(spec, "")]
    wanted = sorted(set(contexts)) or [spec.context_tokens]
    several = len(wanted) > 1
    found = [
        (replace(spec, context_tokens=context), f"-context-{context}" if several else "")
        for context in wanted
    ]
    if tokens:
        prompts = replace(spec, target="vllm-prefill", sizes=tuple(tokens), context_tokens=0)
        found.append((prompts, "-prefill"))
        mixed = replace(prompts, target="vllm-mixed", context_tokens=wanted[0])
        found.append((mixed, "-mixed"))
    return found


def shaped(spec: MeasureSpec) -> MeasureSpec:
    """The spec with the shape of the model that its engine loads."""
    engine = spec.engine
    assert engine is not None
    text, name = engine.config, spec.model.name
    if engine.model_dir:
        from gpu_worker.targets.vllm.model_folder import allowed_folder

        folder = allowed_folder(engine.model_dir)
        text, name = (folder / "config.json").read_text("utf-8"), folder.name
    if not text:
        return spec
    shape = shape_of_config(
        json.loads(text), name=name, tensor_parallel=engine.tensor_parallel_size
    ).shape
    return replace(spec, model=shape)


def measure_engine(
    specs: Sequence[MeasureSpec],
    on_row: OnRow = lambda spec, row: None,
    on_profile: OnProfile = lambda number, profile: None,
    env: Mapping[str, str] | None = None,
    on_eager: OnEager = lambda spec, size, times: None,
) -> list[Profile]:
    """A profile a spec, in their order, from one eager start and one with the list.

    on_profile : told of each when it is whole, with its place in the order, so that an end in the
        middle loses only those after it
    Raises JobError with the first cause where the engine does not start.
    """
    session = EngineSession(specs, env=env, on_eager=on_eager)
    profiles = []
    try:
        device = _opened(session)
        for number, spec in enumerate(specs):
            rows = [_measured(session, spec, size, on_row) for size in spec.measuring_order]
            rows.sort(key=lambda row: row.size)
            now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
            profiles.append(Profile(device, spec, tuple(rows), now, engine=session.facts()))
            on_profile(number, profiles[-1])
    finally:
        session.close()
    return profiles


def path_of(out: Path, ending: str) -> Path:
    """profile.json, "-prefill" -> profile-prefill.json."""
    return out.with_name(f"{out.stem}{ending}{out.suffix}")


def _opened(session: EngineSession) -> DeviceInfo:
    for tried in range(1, MAX_TRIES + 1):
        try:
            return session.open()
        except SessionEndedError:
            if tried == MAX_TRIES:
                raise
    raise AssertionError("a try more than there are")


def _measured(session: EngineSession, spec: MeasureSpec, size: int, on_row: OnRow) -> MeasureRow:
    """A process that dies is replaced and the point tried again, twice at most."""
    row = session.measure(size, spec=spec)
    tries = 1
    while session.crashed and tries < MAX_TRIES:
        row = session.measure(size, spec=spec)
        tries += 1
    if session.crashed:
        row = replace(row, error=f"{row.error}; tried {tries} times")
    on_row(spec, row)
    return row
