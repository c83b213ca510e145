"""YAML with bad tags, odd scalars and aliases is read, or refused in one sentence."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines.check import check
from core.errors import FileContentError, ProjectError
from core.text.yaml_text import read_yaml, read_yaml_documents

engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)

TAGS = (
    *("bool", "int", "float", "null", "timestamp", "binary", "set", "omap", "pairs", "map"),
    *("seq", "str", "merge", "value", "python/none", "python/object:os.system", "nothing"),
)
SCALARS = (
    *("foo", "", "''", "0x", "0b2", "1_", "0o9", ".inf", "-.nan", "1:99", "~", "on", "0999"),
    *("2024-02-31", "2024-13-01T99:00:00", "9" * 5000, "[]", "{}", "[a, {b: c}]", "? x", "*a"),
    *("&b 1", "<<: 3", "=", "!", "!!", "%", "@", "`", "|", ">-", "{{ x }}", "$X"),
)


def lines(engine) -> st.SearchStrategy[str]:
    """A line of YAML with a key of this engine and a value that few expect."""
    keys = st.sampled_from([*(option.path for option in engine.options), "a", "<<", "? [1]", "2"])
    tags = st.sampled_from(["", *(f"!!{tag} " for tag in TAGS), "!own ", "&a ", "! "])
    return st.tuples(keys, tags, st.sampled_from(SCALARS)).map(lambda p: f"{p[0]}: {p[1]}{p[2]}")


@engines
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_yaml(engine, data) -> None:
    """Tags, aliases, merge keys and scalars of any kind: a report, or one sentence."""
    text = "\n".join(data.draw(st.lists(lines(engine), min_size=1, max_size=5)))
    with contextlib.suppress(ProjectError):
        check(engine, text=text)


@engines
@pytest.mark.parametrize("value", ["!!bool foo", "!!int", "!!float ''", "!!timestamp x"])
def test_a_bad_tag_names_its_line(engine, value: str) -> None:
    """The sentence says which line, and nothing of the loader's insides."""
    with pytest.raises(FileContentError) as caught:
        check(engine, text=f"a: 1\nb: {value}\n")
    assert "line 2" in str(caught.value)
    assert str(caught.value).count("\n") == 0


@given(st.text(alphabet="ab:-[]{}!&*?|>'\"\n #%,0", max_size=40))
def test_any_text_is_yaml_or_a_sentence(text: str) -> None:
    """No loader's own exception comes through."""
    with contextlib.suppress(FileContentError):
        read_yaml_documents(text)


def test_work_is_bounded() -> None:
    """Aliases that multiply without any leaf, depth, and size are refused."""
    layers = ["l0: &l0 []"]
    layers += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, 15)]
    with pytest.raises(FileContentError, match="more than 100000 values"):
        read_yaml("\n".join(layers))
    with pytest.raises(FileContentError, match="nested without end"):
        read_yaml("[" * 150 + "]" * 150)
    with pytest.raises(FileContentError, match="nested without end"):
        read_yaml("[" * 10_000)
    with pytest.raises(FileContentError, match="no configuration"):
        read_yaml("a: 1\n" * 300_000)
    with pytest.raises(FileContentError, match="2 documents"):
        read_yaml("a: 1\n---\nb: 1\n")
