"""A stored config.json gives the same numbers, and none of its other words is stored."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from core.errors import ProjectError
from core.model.config_kept import KEYS, PARTS, kept_config
from core.model.memory import model_memory
from core.model.shape import shape_of_config
from tests.conftest import DATA, ROOT

CONFIGS: dict[str, Any] = json.loads((DATA / "model_configs" / "configs.json").read_text())
READERS = ("config", "memory", "shape", "weight_count")
NAME = "_name_or_path"
"""The model's name: shown, never stored."""


def answers(config: Any) -> list[object]:
    """Everything that is computed from a config, or the kind of its error."""
    found: list[object] = []
    for ask in (model_memory, lambda c: model_memory(c, tp=2), shape_of_config):
        try:
            made = ask(config)
        except ProjectError as error:
            found.append(type(error))
        else:
            text = repr(made)
            found.append(text[text.index(",") :])  # after the name, which is not stored
    return found


def with_words(config: Any) -> Any:
    """The same config with words that nobody reads, also where a known key has an odd value."""
    if not isinstance(config, dict):
        return config
    made = {key: with_words(value) for key, value in config.items()}
    return made | {NAME: "/mnt/canary/a", "canary": {"canary": ["canary"]}, "auth": "canary"}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_same_numbers_without_other_words(name: str) -> None:
    """Weights, KV bytes, state and shape of every real config, from what is stored of it."""
    config = CONFIGS[name]
    kept = kept_config(json.dumps(with_words(config)))
    assert "canary" not in kept
    assert answers(json.loads(kept)) == answers(config)
    assert kept_config(kept) == kept


@pytest.mark.parametrize(
    "odd",
    [
        {"model_type": "canary"},
        {"torch_dtype": "canary"},
        {"layer_types": ["full_attention", "canary"]},
        {"quantization_config": {"quant_method": "canary"}},
        {"quantization_config": {"quant_method": "canary", "quant_algo": "my_FP8_canary"}},
        {"hybrid_override_pattern": "canary*"},
        {"sliding_window": "canary"},
        {"num_key_value_heads": {"canary": 1}},
    ],
    ids=str,
)
def test_an_odd_word_is_not_stored(odd: dict[str, Any]) -> None:
    """A word that is no known type, kind or method is left out, whatever it stands for."""
    config = next(iter(CONFIGS.values())) | odd
    assert "canary" not in kept_config(json.dumps(config)).lower()


def test_no_config_is_no_text() -> None:
    """What is no JSON object is not stored at all."""
    assert [kept_config(text) for text in ("canary", "[1]", "", "[" * 100_000)] == [""] * 4


def test_every_key_that_is_read_is_stored() -> None:
    """The keys that the calculations ask for, found in their source."""
    asked: set[str] = set()
    for reader in READERS:
        tree = ast.parse((ROOT / "core" / "model" / f"{reader}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in ("get", "whole"):
                    asked |= {a.value for a in node.args if isinstance(a, ast.Constant) and a.value}
    words = {key for key in asked if isinstance(key, str)} - {NAME, "none", "torch_dtype"}
    assert len(words) > 40
    assert words <= KEYS | set(PARTS)
