"""What a deployment file comes down to, in short forms for tests."""

from __future__ import annotations

from typing import Any

from core.deploy.read import read_deployments
from core.deploy.record import Deployment
from core.engines import ENGINES
from core.engines.config import read_config

EAGER8 = {"max_num_seqs": 8, "enforce_eager": True}


def every(text: str, engine: str | None = None, **variables: str) -> tuple[Deployment, ...]:
    """All deployments of a text."""
    return read_deployments(text, engine, variables).deployments


def only(text: str, engine: str | None = None, **variables: str) -> Deployment:
    """The one deployment of a text."""
    found = every(text, engine, **variables)
    assert len(found) == 1, [one.name for one in found]
    return found[0]


def settings(one: Deployment) -> dict[str, Any]:
    """Its settings as the engine's own parser reads them, checked and without defaults."""
    assert one.engine is not None
    engine = ENGINES[one.engine]
    given = read_config(engine, one.text, one.release).settings
    _, values, _ = engine.checked_values(None, given)
    return {name: values[name] for name in given}


def says(one: Deployment) -> tuple[str | None, str | None, dict[str, Any]]:
    """(engine, release, settings)."""
    return one.engine, one.release, settings(one)


def all_say(text: str, **variables: str) -> list[tuple[str | None, str | None, dict[str, Any]]]:
    """Of every deployment."""
    return [says(one) for one in every(text, **variables)]
