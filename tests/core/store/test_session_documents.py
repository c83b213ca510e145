"""A session's document: what it takes, JSON both ways, what differs between two, both joined."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ProjectError, RecordError
from core.records import BucketSet
from core.records.session import TuningSession, WorkloadRef, plain_settings
from core.records.session_changes import changes, fields_of, merge, session_from_fields
from core.records.session_json import parse_json, session_from_json, session_to_json
from tests.core.store.session_cases import DOCUMENT, PROFILE, documents, spots


@given(documents())
def test_documents_survive_json(document: TuningSession) -> None:
    """Written as JSON text and read again, a document is the same in every field."""
    text = json.dumps(session_to_json(document), allow_nan=False)
    assert session_from_json(parse_json(text, "text")) == document


@given(documents())
def test_documents_survive_being_taken_apart(document: TuningSession) -> None:
    """The fields that changes are told by are the whole document."""
    assert session_from_fields(fields_of(document), document) == document


PLAIN_JSON = session_to_json(DOCUMENT)
SPOTS = spots(PLAIN_JSON)


@given(
    st.sampled_from(SPOTS),
    st.sampled_from(["delete", None, True, -1, 1e400, math.nan, "\x1b[31m", [], {}, [[]], {"": 1}]),
)
def test_a_damaged_document_is_refused_or_whole(spot: tuple[Any, ...], value: Any) -> None:
    """Whatever stands in a field, it is read as it stands or refused with a sentence."""
    damaged = copy.deepcopy(PLAIN_JSON)
    inner = damaged
    for key in spot[:-1]:
        inner = inner[key]
    if value == "delete":
        del inner[spot[-1]]
    else:
        inner[spot[-1]] = value
    try:
        read = session_from_json(damaged)
    except ProjectError as error:
        assert str(error)
    else:
        again = session_to_json(read)
        assert session_from_json(again) == read
        fields_of(read)


def test_a_newer_format_is_refused_by_number() -> None:
    """An older installation says which format it has met and what to do."""
    with pytest.raises(RecordError, match="format is 2.*this version reads 1; update"):
        session_from_json({**PLAIN_JSON, "format": 2})


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "1" * 5000, ""])
def test_odd_json_is_refused(text: str) -> None:
    """NaN, repeated keys, endless nesting and endless numbers are no document."""
    with pytest.raises(RecordError, match="is not valid JSON"):
        parse_json(text, "The text")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": " "}, "name"),
        ({"name": "a\x1b[2J"}, r"unprintable character U\+001B at position 2"),
        ({"name": "x" * 201}, "201 characters; at most 200"),
        ({"notes": "a\x00b"}, r"U\+0000"),
        ({"settings": {"a": math.inf}}, "settings.a is inf"),
        ({"settings": {"a": object()}}, "settings.a"),
        ({"settings": {"a": 2**70}}, "settings.a"),
        ({"settings": {"a": {1: 2}}}, "key 1 is no text"),
        ({"settings": {"a": [[[[[[[[[0]]]]]]]]]}}, "more than 8 lists"),
        ({"sets": (BucketSet("a", (1,)), BucketSet("a", (2,)))}, "named 'a'"),
        ({"jobs": ("../x",)}, "no job id"),
        ({"workload": ("x", "abc")}, "not 64 hex digits"),
    ],
)
def test_what_a_document_does_not_take(values: dict[str, Any], sentence: str) -> None:
    """A value that could not be kept or shown is refused where the document is made."""
    with pytest.raises(RecordError, match=sentence):
        if "workload" in values:
            WorkloadRef(*values["workload"])
        TuningSession(**values)


def test_settings_that_cannot_be_kept_are_named() -> None:
    """Of a page's values the plain ones are kept and the others listed, none is lost unsaid."""
    kept, left_out = plain_settings({"k": 3, "sets": ("a",), "run": object(), "nan": math.nan})
    assert kept == {"k": 3, "sets": ["a"]}
    assert left_out == ("run", "nan")


def test_changes_by_hand() -> None:
    """Each changed field is one line; what is alike is not named."""
    after = replace(
        DOCUMENT,
        settings={**DOCUMENT.settings, "best_k": 8, "new": True},
        sets=(BucketSet("Mine", (1, 2), note="fewer"),),
        profiles={},
        jobs=(),
    )
    assert [change.text for change in changes(DOCUMENT, after)] == [
        "settings.best_k: 16 -> 8",
        "sets.Mine: 1, 2, 4, 8 (asked for by Ana) -> 1, 2 (fewer)",
        "profiles.H200, today: taken out (was NVIDIA H200, 1 row, 2026-11-30T08:00:00Z)",
        f"jobs.{'0f' * 16}: taken out (was sent)",
        "settings.new: true (new)",
    ]


def test_true_is_not_one() -> None:
    """Python calls them equal; a widget does not."""
    one, true = TuningSession(settings={"a": 1}), TuningSession(settings={"a": True})
    assert [change.field for change in changes(one, true)] == ["settings.a"]


def test_terminal_escapes_are_shown_not_obeyed() -> None:
    """A setting with an escape sequence, also of one character, is printed as text."""
    after = TuningSession(settings={"text": "\x1b[31m \x9b31m"})
    [line] = [change.text for change in changes(TuningSession(), after)]
    assert line.isprintable() and "9b31m" in line


def test_a_merge_keeps_both() -> None:
    """Changes to different fields are joined; a field that both changed is a clash."""
    base = DOCUMENT
    mine = replace(base, settings={**base.settings, "best_k": 8, "load_factor": 2.0})
    theirs = replace(
        base, notes="Looked.", settings={**base.settings, "load_factor": 3.0}, profiles={}
    )
    joined = merge(base, mine, theirs)
    assert joined.clashes == ("settings.load_factor",)
    assert joined.session.notes == "Looked." and joined.session.profiles == {}
    assert joined.session.settings["best_k"] == 8
    assert joined.session.settings["load_factor"] == 2.0
    other = merge(base, mine, theirs, prefer_mine=False)
    assert other.session.settings["load_factor"] == 3.0 and other.session.settings["best_k"] == 8


@settings(max_examples=30)
@given(documents(), documents(), documents())
def test_no_change_is_lost_in_a_merge(
    base: TuningSession, mine: TuningSession, theirs: TuningSession
) -> None:
    """Every field of the result is one writer's change or, where neither changed it, the base."""
    result = fields_of(merge(base, mine, theirs).session)
    old, ours, others = fields_of(base), fields_of(mine), fields_of(theirs)
    my_fields = {change.field for change in changes(base, mine)}
    for field in {*old, *ours, *others, *result}:
        source = ours if field in my_fields else others
        assert result.get(field) == source.get(field)
    assert changes(theirs, merge(base, base, theirs).session) == ()
    assert changes(mine, merge(base, mine, base).session) == ()


def test_profiles_are_checked_by_type() -> None:
    """A profile whose card is an object, not a name, never reaches a page."""
    damaged = session_to_json(replace(DOCUMENT, profiles={"p": PROFILE}))
    damaged["profiles"]["p"]["device"]["name"] = {"a": 1}
    with pytest.raises(RecordError, match=r"profiles\.p\.device\.name is \{'a': 1\}; a text"):
        session_from_json(damaged)
