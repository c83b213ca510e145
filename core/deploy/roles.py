"""Prefill and decode, by the words that deployments use for them."""

from __future__ import annotations

import re

_WORDS = {
    "prefill": ("prefill", "context", "ctx", "prefiller"),
    "decode": ("decode", "generation", "gen", "decoder"),
}
SHARED = ("common", "shared", "defaults", "default", "base", "all", "global")
"""Sections that hold for every role."""


def role_of(*names: str) -> str:
    """ "prefill", "decode" or empty, by the first of these names that tells."""
    for name in names:
        spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
        words = set(re.split(r"[^a-z]+", spaced.lower()))
        for role, known in _WORDS.items():
            if words & set(known):
                return role
    return ""


def is_role(key: str) -> bool:
    """Whether a section's key is a role, alone or as a worker of that role."""
    rest = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", key).lower()
    words = [word for word in re.split(r"[^a-z]+", rest) if word]
    known = {word for group in _WORDS.values() for word in group}
    around = {*("server", "servers", "worker", "workers", "config", "engine", "engines", "args")}
    around |= {*("vllm", "sglang", "trtllm", "node", "nodes", "instance", "instances", "only")}
    return bool(set(words) & known) and set(words) <= known | around
