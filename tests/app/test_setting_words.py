"""Settings and their changes are told in words, with units, wherever people read them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

import pytest

from app.sessions.document import NOT_KEPT
from app.sessions.setting_values import readable
from app.sessions.setting_words import LEARN, WORDS, setting_words
from tests.app.apptest import PAGES, open_app, table_row, to_page
from tests.app.session_steps import kept_session
from tests.conftest import ROOT


def is_told(key: str) -> bool:
    """Has the setting words, or is it never kept?"""
    if key in NOT_KEPT or key.startswith(("config_", "compare_")):
        return True
    return key in WORDS or key.startswith(LEARN)


def written_keys() -> Iterator[str]:
    """Keys that stand in calls of state.remember, anywhere in app."""
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("remember"):
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant):
                    yield str(first.value)


def test_every_written_key_has_words():
    """No widget's key is shown to people as it is called inside."""
    keys = set(written_keys())
    assert len(keys) > 50 and [key for key in sorted(keys) if not is_told(key)] == []


@pytest.mark.usefixtures("own_database")
def test_every_key_that_pages_make_has_words():
    """What the pages remember of the example, keys that are put together included."""
    at = open_app(example="1")
    seen: set[str] = set()
    for page in PAGES:
        to_page(at, page)
        held = at.session_state["bucketwise"]
        seen |= {*held.defaults, *held.values}
    assert {"version_vllm", "card_gib", "cost_step_us", "kv_tokens"} <= seen
    assert [key for key in sorted(seen) if not is_told(key)] == []


def test_words_are_for_people():
    """Words are no keys, and none is empty; names that engines have stay as they are."""
    names = {"max_num_seqs", "max_num_batched_tokens"}
    for key, words in WORDS.items():
        assert words.strip() and (key in names or "_" not in words.replace("max_num_seqs", "")), key
    assert setting_words("made_up") == "made up"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("settings.card_gib: 80.0 -> 40.5", "card memory: 80 GiB → 40.5 GiB"),
        ("settings.kv_tokens: 123456 (new)", "KV cache: 123,456 tokens (was the default)"),
        ("settings.tp: taken out (was 2)", "tensor parallel: back to the default (was 2)"),
        ("settings.best_k: 16 -> 8", "graphs in the best set, K: 16 → 8"),
        ('settings.sets: ["vllm"] -> ["vllm", "My list"]',
         "bucket sets to compare: vLLM default → vLLM default, My list"),
        ('settings.arrive: "closed" (new)', "how requests come: Closed loop (was the default)"),
        ("settings.best_guard: false -> true", "best set always includes max_num_seqs: no → yes"),
        ('settings.own_sizes: "1, 2" -> "1, 2, 4', "'My list': 1, 2 → 1, 2, 4"),
        (f"settings.model_config: {json.dumps('{}')} (new)",
         "model (config.json): a pasted config (was the default)"),
        ("sets.Night: 1, 3, 5 (new)", "bucket set Night: 1, 3, 5 (new)"),
        ('name: "a: b" -> "c"', 'name: "a: b" -> "c"'),
        ("first version", "first version"),
    ],
)  # fmt: skip
def test_a_line_of_the_history_in_words(line: str, said: str):
    """Names in words, units behind the values, and no JSON."""
    assert readable(line) == said


@pytest.mark.usefixtures("own_database")
def test_the_history_of_a_session_is_in_words():
    """A change of the card stands there as people say it."""
    at, _ = kept_session()
    to_page(at, "memory.py").number_input(key="card_gib").set_value(40.0).run()
    to_page(at, "sessions.py")
    assert table_row(at, "version", 2)["changes"] == "card memory: 40 GiB (was the default)"
