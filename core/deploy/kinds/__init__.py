"""Kinds of deployment files: each module here that holds `KIND` is one, tried by position."""

from __future__ import annotations

import importlib
import pkgutil

from core.deploy.kinds.kind import Kind


def _load() -> tuple[Kind, ...]:
    names = [info.name for info in pkgutil.iter_modules(__path__)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    found = [module.KIND for module in modules if hasattr(module, "KIND")]
    return tuple(sorted(found, key=lambda kind: kind.position))


KINDS = _load()
