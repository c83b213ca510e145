"""Whatever text is given, the answer is a report or one sentence, never a crash."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.engines import ENGINES
from core.engines.check import check
from core.errors import FileContentError, ProjectError
from core.logs.rules import Into

few = settings(max_examples=30)
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


@engines
def test_options_and_messages_name_declared_settings(engine) -> None:
    """Every option gives a setting that the engine declares, and so does what switches graphs off;
    the messages of its log name at least one of them, where they print settings."""
    declared = {setting.name for setting in engine.settings}
    assert {o.setting for o in engine.options if o.setting} <= declared
    assert set(engine.off_settings) <= declared
    rules = engine.log_form.rules if engine.log_form is not None else ()
    printed = {n for r in rules if r.into is Into.SETTING for n in r.pattern.groupindex}
    assert not printed or printed & declared


@engines
@few
@given(text=st.text(max_size=80))
def test_any_text(engine, text: str) -> None:
    """Free text is read or refused with a sentence."""
    with contextlib.suppress(ProjectError):
        check(engine, text=text)


def words(engine) -> st.SearchStrategy[str]:
    """Words such as a command line of this engine holds, and some that it should not."""
    flags = ["--" + option.path.replace("_", "-") for option in engine.options]
    values = ["1", "0", "-1", "1,2", "[1,2]", "{}", '{"a":{"b":1}}', "null", "", "true", "x=y"]
    return st.sampled_from([*flags, *values, "A=1", "'", "1e9", "99999999999999999999"])


@engines
@few
@given(data=st.data())
def test_any_command_line(engine, data) -> None:
    """Known flags with odd values are read or refused with a sentence."""
    text = " ".join(data.draw(st.lists(words(engine), max_size=8)))
    with contextlib.suppress(ProjectError):
        check(engine, text=text)


@engines
@few
@given(data=st.data())
def test_any_mapping(engine, data) -> None:
    """Known keys with odd values, nested or not, are read or refused with a sentence."""
    paths = st.sampled_from([option.path for option in engine.options] or ["a"])
    values = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 10**20),
        st.text(max_size=4),
        st.lists(st.integers(-1, 9), max_size=3),
        st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    )
    lines = [
        f"{path}: {value!r}" for path, value in data.draw(st.dictionaries(paths, values)).items()
    ]
    with contextlib.suppress(ProjectError):
        check(engine, text="\n".join(lines))


def test_endless_and_exploding_yaml() -> None:
    """A mapping that holds itself, and aliases that multiply, are refused."""
    with pytest.raises(FileContentError, match="nested without end"):
        check(ENGINES["vllm"], text="a: &a\n  b: *a\n")
    layers = ["l0: &l0 {a: 1, b: 2, c: 3, d: 4}"]
    for i in range(1, 12):
        inside = ", ".join(f"{k}: *l{i - 1}" for k in "abcd")
        layers.append(f"l{i}: &l{i} {{{inside}}}")
    with pytest.raises(FileContentError, match="more than 10000"):
        check(ENGINES["vllm"], text="\n".join(layers))


def test_log_with_an_impossible_number() -> None:
    """A list of buckets that is cut or damaged is no list; how many there are is stated."""
    text = "Generated 1 decode buckets [bs, query, num_blocks]: [(1, 1"
    for end in ("", "), 3]", ", 128), (4, 1"):
        report = check(ENGINES["gaudi"], text=text + end)
        assert report.source == "start-up log"
        assert report.log is not None and report.log.sizes is None
        assert report.log.plain_graphs == {"decode": 1}
    whole = check(ENGINES["gaudi"], text=text + ", 128), (4, 1, 128)]")
    assert whole.log is not None and whole.log.sizes == (1, 4)
