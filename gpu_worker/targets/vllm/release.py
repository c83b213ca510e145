"""Which vLLM is installed beside the worker, told without importing it."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util

from core.engines.versions import version_key
from core.errors import SettingError

OLDEST = "0.11"
"""The first release without the V0 engine; from here on the parts that are used have one shape."""
TESTED = "0.23"
INSTALL = "install it there (pip install vllm) or put its folder on PYTHONPATH"


def installed_release() -> str:
    """Raises SettingError where there is none, or one that cannot be driven."""
    if importlib.util.find_spec("vllm") is None:
        raise SettingError(f"vLLM is not installed beside the worker; {INSTALL}.")
    try:
        text = importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        text = _own_version()
    return checked_release(text)


def checked_release(text: str) -> str:
    """Raises SettingError for a release that cannot be ordered, or is older than OLDEST."""
    key, oldest = version_key(text), version_key(OLDEST)
    assert oldest is not None
    if key is None:
        raise SettingError(
            f"vLLM's release {text!r} cannot be told; releases from {OLDEST} on can be measured."
        )
    if key < oldest:
        raise SettingError(
            f"vLLM {text} is installed; releases from {OLDEST} on can be measured. Update it."
        )
    return text


def release_notes(text: str) -> tuple[str, ...]:
    """A sentence where another release was tested."""
    if text.startswith(f"{TESTED}."):
        return ()
    return (f"Driven as vLLM {TESTED} was tested; vLLM {text} itself was not.",)


def _own_version() -> str:
    """What the package says of itself, where it was unpacked without its metadata."""
    return str(getattr(importlib.import_module("vllm"), "__version__", "unknown"))
