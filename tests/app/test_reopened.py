"""What a session keeps is what its pages show, and what a reopened session shows again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.errors import SettingError
from core.records import PoolPolicy
from tests.app.apptest import BATCHES, open_app, table_row, texts, to_page, with_file
from tests.app.session_steps import in_address, kept_session, press
from tests.conftest import DATA

pytestmark = pytest.mark.usefixtures("own_database")


def newest(session_id: str):
    """The document that the database holds, with its version."""
    from app.sessions import current as sessions

    return sessions.store().load(session_id, "local")


def kept_arrivals(session_id: str) -> list[float]:
    """Arrivals of the traffic that the newest version names [s]."""
    from app.sessions import current as sessions

    named = newest(session_id).document.workload
    assert named is not None
    found = sessions.store().load_workload(session_id, "local", named.digest)
    assert found.trace is not None and found.trace.arrival_s is not None
    return np.asarray(found.trace.arrival_s).tolist()


def read_again(at, role: str, column: str) -> None:
    """Take another column for a role, on the Workload page."""
    box = next(box for box in at.selectbox if box.label == role)
    box.set_value(column)
    press(at, "Read again")
    assert not at.error


def test_a_file_that_is_read_again_is_saved_again():
    """Arrivals 0, 1, 2 and then, from another column, 0, 10, 30: the session holds the latter,
    and so does a fork of it."""
    data = b"arrival,later,prompt_tokens,output_tokens\n0,0,10,5\n1,10,10,5\n2,30,10,5\n"
    at = with_file(data, "two.csv")
    to_page(at, "sessions.py")
    press(at, "Keep this work as a session")
    session_id = in_address(at, "session")
    assert kept_arrivals(session_id) == [0, 1, 2]
    to_page(at, "workload.py")
    at.file_uploader(key="upload").set_value(("two.csv", data, "text/csv")).run()
    read_again(at, "arrival time", "later")
    assert kept_arrivals(session_id) == [0, 10, 30]
    to_page(at, "sessions.py")
    press(at, "Fork: a copy of your own")
    fork_id = in_address(at, "session")
    assert fork_id != session_id
    assert kept_arrivals(fork_id) == [0, 10, 30]


def test_an_untouched_own_list_is_the_same_after_reopening():
    """My list was shown, chosen and never typed: Memory judges the nine sizes of the Buckets page,
    before and after."""
    at, session_id = kept_session()
    to_page(at, "buckets.py")
    at.multiselect(key="sets").set_value(["My list"]).run()
    assert table_row(at, "bucket set", "My list")["graphs"] == 9
    mine = table_row(to_page(at, "memory.py"), "bucket set", "My list")
    assert table_row(open_app("memory.py", session=session_id), "bucket set", "My list") == mine


def test_the_rate_that_a_file_tells_holds_after_reopening():
    """Lengths with a rate of 8/s in the file, which no one typed: the reopened Buckets page and
    Compare have the steps of the page that showed the rate."""
    data = (DATA / "traces" / "sglang_bench.jsonl").read_bytes()
    at, session_id = kept_session(data, "bench.jsonl")
    to_page(at, "workload.py")
    assert at.number_input(key="rate_rps").value == 8
    mine = table_row(to_page(at, "buckets.py"), "bucket set", "vLLM default")
    other = open_app("buckets.py", session=session_id)
    assert table_row(other, "bucket set", "vLLM default") == mine
    other.number_input(key="best_k").set_value(3).run()  # a second version to compare with
    compared = to_page(other, "compare.py")
    compared.toggle(key="compare_only").set_value(False).run()
    shown = [d.value for d in compared.dataframe if "difference" in d.value.columns][0]
    waste = shown[(shown["about"] == "vLLM default") & (shown["what"] == "waste")].iloc[0]
    assert {str(v) for k, v in waste.items() if "version" in str(k)} == {str(mine["waste"])}


def test_the_report_weighs_the_set_of_the_break_even_page(monkeypatch):
    """With nothing chosen, and with a set that is gone: the first of the sets in both."""
    from app.report import button

    made, real = [], button._work
    monkeypatch.setattr(button, "_work", lambda *given: made.append(real(*given)) or made[-1])
    at = with_file(BATCHES, "batches.csv")
    to_page(at, "buckets.py")
    assert made[-1].pay_back.set_name == "vLLM default"
    to_page(at, "break_even.py")
    assert at.selectbox(key="even_set").value == "vLLM default"
    at.selectbox(key="even_set").set_value("Powers of two").run()
    to_page(at, "buckets.py")
    assert made[-1].pay_back.set_name == "Powers of two"
    at.multiselect(key="sets").set_value(["sglang", "Best possible"]).run()
    assert made[-1].pay_back.set_name == "SGLang default"
    assert to_page(at, "break_even.py").selectbox(key="even_set").value == "SGLang default"


def test_sets_and_jobs_of_a_session_stay():
    """A session with a noted set and two jobs, one of them shown by no setting: changing K keeps
    them, the history tells of K alone, and the set is compared and weighed like the others."""
    from app.sessions import current as sessions
    from core.records import BucketSet
    from core.records.session import TuningSession

    _, session_id = kept_session()
    noted = BucketSet("Night", (1, 3, 5, 8), note="for the *quiet* hours")
    before = newest(session_id)
    document = replace(before.document, sets=(noted,), jobs=("job-1", "job-2"))
    sessions.store().save(session_id, document, before.version, "local")
    at = open_app("buckets.py", session=session_id)
    at.number_input(key="best_k").set_value(3).run()
    after = newest(session_id)
    assert isinstance(after.document, TuningSession)
    assert (after.document.sets, after.document.jobs) == ((noted,), ("job-1", "job-2"))
    (last, *_) = sessions.store().history(session_id, "local")
    assert list(last.changes) == ["settings.best_k: 3 (new)"]
    at.multiselect(key="sets").set_value(["Kept: Night"]).run()
    # batches 1, 3, 5 and 8 are all sizes of the list
    assert table_row(at, "bucket set", "Kept: Night")["padded slots"] == "0"
    assert "for the *quiet* hours" in texts(at)
    assert table_row(to_page(at, "memory.py"), "bucket set", "Kept: Night")["graphs"] == 4


def test_my_list_is_kept_under_a_name():
    """Kept with a note, chosen at once, found by whoever opens the session, and taken out again."""
    at, session_id = kept_session()
    to_page(at, "buckets.py")
    at.text_input(key="own_sizes").set_value("1, 4, 8").run()
    press(at, "Keep this list")
    assert "The list's name" in texts(at) and newest(session_id).document.sets == ()
    at.text_input(key="kept_set_name").set_value("Day")
    at.text_input(key="kept_set_note").set_value("agreed on Monday")
    press(at, "Keep this list")
    assert "Kept: Day" in at.multiselect(key="sets").value
    (item,) = newest(session_id).document.sets
    assert (item.name, item.sizes, item.note) == ("Day", (1, 4, 8), "agreed on Monday")
    other = open_app("buckets.py", session=session_id)
    assert table_row(other, "bucket set", "Kept: Day")["graphs"] == 3
    press(other, "Take out")
    assert newest(session_id).document.sets == ()
    assert "Kept: Day" not in other.multiselect(key="sets").value


def test_the_report_has_the_runs_of_the_serve_page(monkeypatch):
    """After the pool's policy changed, the KV cache of each set is another: nothing is told of the
    old runs; run again, the rows are the page's, and no old run is held."""
    from app.report import button

    made, real = [], button._work
    monkeypatch.setattr(button, "_work", lambda *given: made.append(real(*given)) or made[-1])
    requests = "\n".join(f"{i / 20},{50 + i},20" for i in range(30)).encode()
    at = with_file(b"arrival_s,prompt_tokens,output_tokens\n" + requests, "requests.csv")
    to_page(at, "serve.py").button(key="serve").click().run()
    to_page(at, "buckets.py")
    first = {run.name: run.kv_tokens for run in made[-1].served.runs}
    assert len(first) == 4
    to_page(at, "memory.py").selectbox(key="policy").set_value(PoolPolicy.PRIVATE).run()
    to_page(at, "buckets.py")
    assert [run.name for run in made[-1].served.runs] == ["No graphs (eager)"]
    to_page(at, "serve.py").button(key="serve").click().run()
    page = next(d.value for d in at.dataframe if "KV tokens" in d.value.columns)
    to_page(at, "buckets.py")
    told = {run.name: run.kv_tokens for run in made[-1].served.runs}
    assert list(told) == list(page["bucket set"]) == list(first)
    assert [int(str(v).replace(",", "")) for v in page["KV tokens"]] == list(told.values())
    assert told["vLLM default"] < first["vLLM default"]
    assert len(at.session_state["bucketwise"].values["served"][1]) == 4


def test_a_report_that_cannot_be_made_says_why(monkeypatch):
    """A choice that gives no report takes the button away with a sentence."""
    from app.report import button

    def refused(*_):
        raise SettingError("no step cost *here*.")

    at = with_file(BATCHES, "batches.csv")
    monkeypatch.setattr(button, "_work", refused)
    to_page(at, "sessions.py")
    assert "There is no report of this work now: no step cost *here*." in texts(at)
