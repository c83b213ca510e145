"""A deployment file on the Engine page: which of its engines, its open variables, what is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from app import compute, state
from app.drawing.markdown_text import as_text
from app.inputs.engine_choice import EngineChoice
from core.deploy.record import Deployment
from core.engines import ENGINES
from core.errors import FileContentError, ProjectError
from core.text.yaml_text import MOST_CHARS

FILE_ID = "config_file_id"
VARIABLE = "config_var_"


def drop(as_the_text_says: str) -> None:
    """A file whose text fills the field below; the engine it names is chosen."""
    file = st.file_uploader(
        "A file of it",
        key="config_file",
        help="Compose, Kubernetes, Helm values, role sections, a shell script, a systemd unit, a "
        "Dockerfile, SkyPilot or Ray Serve; a config or a start-up log too.",
    )
    values = state.session().values
    if file is None or values.get(FILE_ID) == file.file_id:
        return
    try:
        text = _text_of(file)
        engine = _engine_of(text)
    except ProjectError as error:
        st.error(as_text(str(error)))
        return
    values[FILE_ID] = file.file_id
    state.set_values(
        {"engine": engine, f"config_{engine}": text, f"version_{engine}": as_the_text_says}
    )


def _text_of(file: Any) -> str:
    """Raises FileContentError for what is no text of a configuration's size."""
    data = file.getvalue()
    if len(data) > MOST_CHARS:
        raise FileContentError(
            f"{file.name} is larger than {MOST_CHARS >> 10} KiB; cut it to the part of interest, "
            "or give it to `python -m core check --config`."
        )
    try:
        return str(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FileContentError(f"{file.name} is no UTF-8 text; give a configuration.") from error


def _engine_of(text: str) -> str:
    """The first engine that the file names, else the one that is chosen."""
    chosen = state.value("engine", next(iter(ENGINES)))
    found = compute.deployments(text, chosen, {}).deployments
    return found[0].engine or chosen


def chosen(choice: EngineChoice) -> EngineChoice:
    """The choice with what the text starts, where it is a deployment file; else as it is.

    Raises FileContentError for a deployment file in which nothing starts an engine.
    """
    if choice.text is None:
        return choice
    found = compute.deployments(choice.text, choice.engine, {})
    if not found.deployments[0].kind:
        return choice
    at = _which(found.deployments)
    variables = _variables(found.deployments[at].unset)
    if variables:
        # What a variable decides may change how many engines there are.
        found = compute.deployments(choice.text, choice.engine, variables)
        at = min(at, len(found.deployments) - 1)
    _say(found.deployments[at], found.passed_over)
    return _as_choice(choice, found.deployments[at])


def _as_choice(choice: EngineChoice, one: Deployment) -> EngineChoice:
    assert one.engine is not None
    return replace(
        choice, engine=one.engine, version=choice.version or one.release, text=one.text, settings={}
    )


def _which(deployments: tuple[Deployment, ...]) -> int:
    if len(deployments) == 1:
        return 0
    names = [f"{at}: {one.title}" for at, one in enumerate(deployments, 1)]
    label = f"The file starts {len(names)} engines; which?"
    if state.value("config_which", names[0]) not in names:
        state.set_values({"config_which": names[0]})
    st.selectbox(label, names, key=state.remember("config_which", names[0]))
    return names.index(state.keep("config_which"))


def _variables(names: tuple[str, ...]) -> dict[str, str]:
    """A field for each variable that nothing sets; those left empty stay open."""
    given: dict[str, str] = {}
    for name in (name for name in names if name.replace("_", "").isalnum()):
        key = f"{VARIABLE}{name}"
        st.text_input(
            f"{name} is set by nothing in the text; its value", key=state.remember(key, "")
        )
        if value := state.keep(key).strip():
            given[name] = value
    return given


def _say(one: Deployment, passed_over: tuple[str, ...]) -> None:
    st.caption(as_text(f"{one.kind}: {one.title}. {' '.join(one.evidence)}"))
    for sentence in one.not_understood:
        st.warning(as_text(f"Not understood: {sentence}"))
    if one.no_release:
        st.caption(as_text(f"Release not known: {one.no_release}; choose it above."))
    if passed_over:
        st.caption(as_text(f"Not checked: {'; '.join(passed_over)}."))
