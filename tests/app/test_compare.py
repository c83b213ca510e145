"""Two sessions side by side: the numbers are those that each session's own pages show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.inputs.cost import ASSUMED
from tests.app.apptest import BATCHES, figure, numbers, open_app, shown, table_row, texts, to_page
from tests.app.session_steps import kept_session, press, share

pytestmark = pytest.mark.usefixtures("own_database")

OTHER = b"batch,count\n1,1\n3,3\n5,1\n8,1\n"


def compared(**query: str):
    """The Compare page as an address with these parameters opens it."""
    at = open_app(**{name: value for name, value in query.items() if name == "key"})
    at.switch_page("app_pages/compare.py")
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception, at.exception
    return at


def rows(at) -> list[dict]:
    """The Compare page's table."""
    return next(d.value for d in at.dataframe if "difference" in d.value.columns).to_dict("records")


def row(at, about: str, what: str) -> dict:
    (found,) = [r for r in rows(at) if (r["about"], r["what"]) == (about, what)]
    return found


def own_list(at, sizes: str) -> None:
    to_page(at, "buckets.py")
    at.multiselect(key="sets").set_value(["My list"])
    at.text_input(key="own_sizes").set_value(sizes).run()


@pytest.fixture
def two():
    """Two sessions: batches 1,3,5,8 once each, and with 3 thrice; own lists of 4 and 5 sizes."""
    first, first_id = kept_session(BATCHES, "one.csv")
    own_list(first, "1, 2, 4, 8")
    second, second_id = kept_session(OTHER, "two.csv")
    own_list(second, "1, 2, 4, 5, 8")
    return first, first_id, second, second_id


def test_by_hand(two):
    """17 useful of 21 slots waste 19.0 %; 23 of 26 with 5 added: 11.5 %; 7.51 points less."""
    _, first_id, _, second_id = two
    at = compared(first=first_id, second=second_id)
    waste = row(at, "My list", "waste")
    a, b = [name for name in waste if "version" in name]
    # 1 + 4 + 8 + 8 = 21 slots for 1 + 3 + 5 + 8 = 17; 1 + 3 * 4 + 5 + 8 = 26 for 23
    assert (waste[a], waste[b]) == ("19.0 %", "11.5 %")
    assert waste["difference"] == f"−{100 * (4 / 21 - 3 / 26):.2f} points" == "−7.51 points"
    assert row(at, "My list", "graphs")["difference"] == "+1"
    assert row(at, "traffic", "steps")["difference"] == "+2"
    assert row(at, "session", "traffic")[a] == "one.csv"
    assert row(at, "settings", "'My list'")[b] == "1, 2, 4, 5, 8"
    assert not [r for r in rows(at) if r["difference"] == "same"]
    at.toggle(key="compare_only").set_value(False).run()
    assert row(at, "My list", "coverage")["difference"] == "same"


def test_the_numbers_are_those_of_the_own_pages(two):
    """Step time, graph memory and KV capacity are what Buckets and Memory show of each session."""
    first, first_id, second, second_id = two
    at = compared(first=first_id, second=second_id)
    at.toggle(key="compare_only").set_value(False).run()
    for i, browser in enumerate((first, second)):
        to_page(browser, "buckets.py")
        bucket_row = table_row(browser, "bucket set", "My list")
        to_page(browser, "memory.py")
        memory_row = table_row(browser, "bucket set", "My list")
        for what, expected in (
            ("mean step", bucket_row["mean step"]),
            ("graph memory", bucket_row["graph memory"]),
            ("KV capacity", memory_row["KV tokens"]),
            ("concurrent requests", memory_row["concurrent requests"]),
        ):
            found = row(at, "My list", what)
            assert found[[name for name in found if "version" in name][i]] == expected, what


def test_charts_lay_both_over_each_other(two):
    """Each session has one colour in every chart, and its own numbers."""
    _, first_id, _, second_id = two
    at = compared(first=first_id, second=second_id)
    lines = figure(at, "Step sizes")["data"]
    assert numbers(lines[0]["y"]) == [25, 50, 75, 100]
    assert [round(y, 3) for y in numbers(lines[1]["y"])] == [16.667, 66.667, 83.333, 100]
    colours = {trace["name"]: trace["line"]["color"] for trace in lines}
    assert len(set(colours.values())) == 2
    at.segmented_control(key="compare_view").set_value("Best possible").run()
    best = figure(at, "Padding against")["data"]
    marks = [trace for trace in best if trace["mode"] == "markers"]
    assert [round(numbers(trace["y"])[0], 2) for trace in marks] == [19.05, 11.54]
    assert [trace["marker"]["color"] for trace in marks] == list(colours.values())
    at.segmented_control(key="compare_view").set_value("Each set").run()
    bars = figure(at, "Waste of each")["data"]
    assert [round(numbers(trace["y"])[0], 2) for trace in bars] == [19.05, 11.54]
    assert [trace["marker"]["color"] for trace in bars] == list(colours.values())


def test_a_session_beside_its_own_past(two):
    """Alone with itself, the version before stands first; what one save changed is told."""
    first, first_id, _, second_id = two
    to_page(first, "buckets.py")
    first.text_input(key="own_sizes").set_value("1, 8").run()
    at = compared(first=first_id, second=first_id, first_version="2", second_version="3")
    change = row(at, "settings", "'My list'")
    assert list(change.values())[2:4] == ["1, 2, 4, 8", "1, 8"]
    assert row(at, "My list", "graphs")["difference"] == "−2"
    same = compared(first=first_id, second=first_id)
    assert "same version" in texts(same)
    unknown = compared(first=first_id, second=second_id, first_version="99")
    assert not unknown.exception and rows(unknown)


def test_comparing_changes_nothing(two):
    """Neither session gets a version from being looked at, nor the open one another choice."""
    first, first_id, _, second_id = two
    from app.sessions import current as sessions

    before = [sessions.store().head(i, "local").version for i in (first_id, second_id)]
    to_page(first, "compare.py")
    first.toggle(key="compare_only").set_value(False).run()
    to_page(first, "buckets.py")
    assert first.text_input(key="own_sizes").value == "1, 2, 4, 8"
    assert [sessions.store().head(i, "local").version for i in (first_id, second_id)] == before, (
        sessions.store().history(first_id, "local")[0]
    )


def test_only_sessions_with_a_part_are_compared(two):
    """A guest finds those that are shared; another one's id in the address is refused."""
    first, first_id, _, second_id = two
    guest = compared(key=share(first, "viewer"), second=second_id)
    assert "not shared with you" in shown(guest.error[0].value)
    assert "two.csv" not in str(rows(guest) if guest.dataframe else "")
    assert (
        guest.selectbox(key="compare_second").options
        == guest.selectbox(key="compare_first").options
    )
    assert len(guest.selectbox(key="compare_first").options) == 1


def test_nothing_kept_is_one_sentence():
    """Without a session the page says how to come by one."""
    at = open_app("compare.py")
    assert "No session is kept yet" in texts(at) and not at.exception


def test_a_session_without_traffic_is_compared_by_settings():
    """What cannot be worked out is a dash, and the settings still tell."""
    at = open_app("sessions.py")
    press(at, "Keep this work as a session")
    _, other = kept_session()
    at = compared(second=other)
    assert "no step sizes" in shown(texts(at))
    assert row(at, "traffic", "steps")["difference"] == "–"


def test_a_card_that_is_too_small_is_never_swapped_for_the_default():
    """10 GiB hold no 8B model: the Memory page's sentence stands there, and no KV capacity."""
    first, first_id = kept_session(BATCHES, "one.csv")
    own_list(first, "1, 2, 4, 8")
    second, second_id = kept_session(BATCHES, "two.csv")
    own_list(second, "1, 2, 4, 8")
    to_page(second, "memory.py")
    second.number_input(key="card_gib").set_value(10.0).run()
    (told,) = [shown(error.value) for error in second.error]
    assert "Nothing is left" in told
    at = compared(first=first_id, second=second_id)
    assert [shown(warning.value) for warning in at.warning] == [told]
    assert "the default holds" not in texts(at)
    for what in ("KV capacity", "concurrent requests"):
        one, other = [v for k, v in row(at, "My list", what).items() if "version" in k]
        assert one != "–" and other == "–", what
    assert row(at, "settings", "card memory")


def test_a_setting_that_cannot_be_used_is_told_with_its_session(two):
    """Each by its session, its value and what was used instead; the session stays as it is."""
    from app.sessions import current as sessions

    _, first_id, _, second_id = two
    kept = sessions.store().load(first_id, "local")
    odd = {
        "best_k": "many",
        "policy": "of tomorrow",
        "cost_name": "gone",
        "sets": ["Best possible"],
    }
    document = replace(kept.document, settings=odd)
    sessions.store().save(first_id, document, kept.version, "local")
    at = compared(first=first_id, second=second_id)
    said = [shown(warning.value) for warning in at.warning]
    whose = f"{document.name}, version {kept.version + 1}"
    assert sorted(said) == [
        f"{whose}: 'graph memory pool' is of tomorrow, which cannot be used; the default is used.",
        f"{whose}: 'graphs in the best set, K' is many, which cannot be used; 16 is used.",
        f"{whose}: 'step cost' is gone, which cannot be used; {ASSUMED} is used.",
    ]
    assert sessions.store().load(first_id, "local").document == document
