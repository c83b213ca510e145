"""Step-time models fitted in this session: kept with its settings, offered as step cost."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import state
from app.drawing.markdown_text import as_text
from core.calibration.model import StepModel, model_from_json, model_to_json
from core.errors import ProjectError

PREFIX = "Fitted: "
KEY = "fitted_models"


def fitted_models() -> dict[str, StepModel]:
    """By the name under which the sidebar offers them; one that cannot be read is said and goes."""
    found = {}
    for name, document in list(_kept().items()):
        try:
            found[PREFIX + name] = model_from_json(document, name)
        except ProjectError as error:
            st.warning(as_text(str(error)))
            _keep({key: value for key, value in _kept().items() if key != name})
    return found


def use_model(model: StepModel) -> None:
    """Compute with it on every page. A callback: it runs before the sidebar is drawn."""
    _keep({**_kept(), model.name: model_to_json(model)})
    state.set_values({"cost_name": PREFIX + model.name})


def is_used(model: StepModel) -> bool:
    """Whether every page computes with exactly this model."""
    chosen = state.value("cost_name", "") == PREFIX + model.name
    return chosen and _kept().get(model.name) == model_to_json(model)


def _kept() -> dict[str, Any]:
    return state.value(KEY, {})


def _keep(models: dict[str, Any]) -> None:
    state.session().values[KEY] = models
