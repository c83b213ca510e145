"""Serving engines by id: each module here that holds `ENGINE` is one; `_`-modules are parts."""

from __future__ import annotations

import importlib
import pkgutil

from core.engines.protocol import Engine
from core.errors import SettingError


def _load() -> dict[str, Engine]:
    found: list[Engine] = []
    for info in pkgutil.iter_modules(__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"{__name__}.{info.name}")
            if hasattr(module, "ENGINE"):
                found.append(module.ENGINE)
    return {e.id: e for e in sorted(found, key=lambda e: (e.position, e.label))}


ENGINES: dict[str, Engine] = _load()


def get_engine(name: str) -> Engine:
    """The engine of that id, label or alias, whatever the case.

    Raises SettingError that lists the known ones.
    """
    wanted = name.strip().lower()
    for engine in ENGINES.values():
        if wanted in {engine.id, engine.label.lower(), *engine.aliases}:
            return engine
    raise SettingError(f"No engine is called {name!r}; known are {', '.join(ENGINES)}.")
