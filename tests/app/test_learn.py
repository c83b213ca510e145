"""The Learn page: each piece driven by its widgets; charts and sentences show what was run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.learning.lessons import LESSONS
from core.errors import JobError
from core.records import DeviceInfo, MeasureRow, MeasureSpec
from core.store.jobs import MeasureJob
from core.store.states import JobStatus, WorkerInfo
from tests.app.apptest import figure, numbers, open_app, shown, table_row, texts

TITLES = list(LESSONS)


pytestmark = pytest.mark.usefixtures("own_database")


def open_lesson(number: int, **query: str):
    """The page at lesson 1 to 12."""
    at = open_app("learn.py", **query)
    if number > 1:
        at.selectbox(key="lesson").set_value(TITLES[number - 1]).run()
    assert not at.exception and not at.error, (at.exception, at.error)
    return at


def metric(at, label: str) -> str:
    return next(m.value for m in at.metric if m.label == label)


def ok(at):
    assert not at.exception, at.exception
    return at


@pytest.mark.parametrize("number", range(1, 13))
def test_every_lesson_opens_and_folds_out_its_derivation(number):
    """Each lesson shows its title and has assumptions, steps and an answer to unfold, once the
    answer is asked for; lesson 12 has them with traffic."""
    at = open_lesson(number, example="1")
    for key in ("learn_replays_show", "learn_hazard_show"):
        if any(t.key == key for t in at.toggle):
            ok(at.toggle(key=key).set_value(True).run())
    assert any(TITLES[number - 1] == s.value for s in at.subheader)
    text = texts(at)
    assert "**Assumed**" in text and "**Computed**" in text and "**So:**" in text


def test_a_python_value_is_kept_and_content_is_followed():
    """x 2 -> 5 with scale 3: both 16; scale 10: eager 51, the replay still 16."""
    at = open_lesson(1)
    assert table_row(at, "eager", "51")["replay"] == "16"
    ok(at.number_input(key="learn_scale_new").set_value(3.0).run())
    assert all(row == "equal" for row in at.dataframe[0].value["verdict"])
    assert figure(at, "recorded graph")["data"][0]["text"][1] == "multiply<br>3"


def test_two_replays_are_guessed_and_judged():
    """17 and 10 are right; 10 and 17 are not; other inputs give other answers."""
    at = open_lesson(2)
    assert "So:" not in texts(at), "the answer is not shown before a guess"
    at.number_input(key="learn_guess_a").set_value(10.0)
    ok(at.number_input(key="learn_guess_b").set_value(17.0).run())
    assert any("a = 17, b = 10" in w.value for w in at.warning)
    at.number_input(key="learn_guess_a").set_value(17.0)
    ok(at.number_input(key="learn_guess_b").set_value(10.0).run())
    assert any("Right: a = 17, b = 10" in s.value for s in at.success)
    alias, clone = figure(at, "two names")["data"]
    assert (numbers(alias["y"]), numbers(clone["y"])) == ([10, 17], [10, 10])
    ok(at.number_input(key="learn_second").set_value(5.0).run())
    assert metric(at, "a, the alias") == "26"


def test_a_wait_left_out_of_the_warm_up_shows():
    """With both waits one result; without the second, 17 is possible."""
    at = open_lesson(2)
    assert any("right is 10" in s.value for s in at.success)
    ok(at.toggle(key="learn_wait_after").set_value(False).run())
    assert any("17 in" in e.value for e in at.error)


def test_the_rebound_variable():
    """Eager 10, replay 1, mended 10."""
    at = open_lesson(3)
    assert numbers(figure(at, "name moved")["data"][0]["y"]) == [10, 1, 10]
    assert "holds 0" in at.code[0].value


def test_counters_and_the_frozen_branch():
    """2 warm-ups and 50 replays: 53 expected, 3 counted, 52 on the card; the branch is frozen."""
    at = open_lesson(4)
    assert numbers(figure(at, "How often")["data"][0]["y"]) == [53, 3, 3, 3, 52]
    row = table_row(at, "flag", "False")
    assert (row["eager"], row["one graph"], row["a graph per branch"]) == ("-5", "10", "-5")
    ok(at.toggle(key="learn_flag").set_value(False).run())
    assert table_row(at, "flag", "False")["one graph is"] == "right"


def test_each_failure_has_a_verdict():
    """The answer is judged; class, code and line of the doctor are shown."""
    at = open_lesson(5)
    for name, waits, words in (
        (".item()", True, "host_sync"),
        ("an unjoined stream", False, "CUDA error 904"),
        ("a host tensor", False, "h2d_copy"),
    ):
        ok(at.selectbox(key="learn_hazard").set_value(name).run())
        options = at.segmented_control(key=f"learn_why_{name}").options
        ok(at.segmented_control(key=f"learn_why_{name}").set_value(options[0]).run())
        judged = at.success if waits else at.warning
        assert any(("Right" if waits else "Not quite") in j.value for j in judged)
        assert words in texts(at)
        assert any("the replay" in s.value for s in at.success)


def test_a_pasted_log_is_diagnosed():
    """The first cause with its line; a healthy log; nothing typed."""
    at = open_lesson(5)
    log = (
        '  File "model.py", line 88, in forward\n    n = mask.sum().item()\n'
        "RuntimeError: CUDA error: operation not permitted when stream is capturing\n"
        "RuntimeError: CUDA error: operation failed due to a previous error during capture\n"
    )
    ok(at.text_area(key="learn_log").set_value(log).run())
    assert any("model.py, line 88" in info.value for info in at.info)
    assert "Follows from the error in line 3" in texts(at)
    ok(at.text_area(key="learn_log").set_value("all is well").run())
    assert any("No known error" in s.value for s in at.success)


def test_kv_padding_that_hits_live_memory():
    """Safe padding equals eager; slot -1 makes request A wrong from step 1 on."""
    at = open_lesson(6)
    assert any("All 8 steps equal eager" in s.value for s in at.success)
    crosses = next(t for t in figure(at, "Slots of the KV")["data"] if "differs" in t["name"])
    assert numbers(crosses["x"]) == []
    ok(at.selectbox(key="learn_padding").set_value("slot -1, used as an index").run())
    assert any("From step 1 on request A" in e.value for e in at.error)
    crosses = next(t for t in figure(at, "Slots of the KV")["data"] if "differs" in t["name"])
    assert numbers(crosses["x"]) == [1, 2, 3, 4, 5, 6, 7]


def test_slots_and_waste():
    """17 of 21, 19.0 %; with 5 added 18, 5.6 %; a list that is none is a sentence."""
    at = open_lesson(7)
    assert (metric(at, "replayed"), metric(at, "waste")) == ("21 slots", "19.0 %")
    ok(at.toggle(key="learn_five").set_value(True).run())
    assert (metric(at, "replayed"), metric(at, "waste")) == ("18 slots", "5.6 %")
    useful, padded = figure(at, "Slots that each step")["data"]
    assert (numbers(useful["y"]), numbers(padded["y"])) == ([1, 3, 5, 8], [0, 1, 0, 0])
    ok(at.text_input(key="learn_sizes").set_value("1, two").run())
    assert len(at.error) == 1 and "two" in at.error[0].value


def test_two_buckets_fewer_with_own_traffic():
    """Without traffic a sentence; with the example graphs saved and slots wasted."""
    at = open_lesson(7)
    assert any("No step sizes yet" in i.value for i in at.info)
    at = open_lesson(7, example="1")
    assert metric(at, "saved") == "2 graphs"
    assert float(metric(at, "wasted more").split()[0].replace(",", "")) > 0
    ok(at.number_input(key="learn_many").set_value(3).run())
    assert figure(at, "Least waste")["data"][2]["name"].startswith("1 buckets: ")


def test_break_even_and_never():
    """12 us against 10 us: saves from 301; a batch of 2: never; a batch above its bucket: a
    sentence."""
    at = open_lesson(8)
    assert metric(at, "saves from step") == "301"
    ok(at.number_input(key="learn_batch").set_value(2).run())
    assert metric(at, "saves from step") == "never"
    ok(at.number_input(key="learn_batch").set_value(9).run())
    assert len(at.error) == 1 and "does not fit" in at.error[0].value


def test_graphs_against_kv():
    """24 requests beside 4 graphs, 16 beside 8; pools 960, 960, 512 MiB."""
    at = open_lesson(9)
    assert metric(at, "beside 4 graphs") == "24 requests"
    assert metric(at, "beside 8 graphs") == "16 requests"
    assert numbers(figure(at, "Four graphs")["data"][0]["y"]) == [960, 960, 512]


def test_a_wait_left_out_between_two_streams():
    """With both waits no order is wrong; without one some are, and a wrong result is shown."""
    at = open_lesson(10)
    assert metric(at, "wrong") == "0"
    assert metric(at, "all steps done after") == "30 µs"
    ok(at.number_input(key="learn_buffers").set_value(2).run())
    assert (metric(at, "wrong"), metric(at, "all steps done after")) == ("0", "22 µs")
    ok(at.toggle(key="learn_copy_waits").set_value(False).run())
    assert int(metric(at, "wrong")) > 0
    assert any("Right would be 10, 17, 26" in e.value for e in at.error)


def test_pieces_and_boundaries():
    """14, 1 and 7 launches; 80 pieces of 12 us are 0.96 ms and 4.8 % of 20 ms."""
    at = open_lesson(11)
    assert numbers(figure(at, "Launches")["data"][0]["y"]) == [14, 1, 7]
    ok(at.number_input(key="learn_segments").set_value(80).run())
    assert metric(at, "boundaries, a step") == "0.96 ms"
    assert metric(at, "share of the step") == "4.8 %"


def test_the_rare_bucket_of_own_traffic():
    """Without traffic a sentence; with the example the least used bucket and its verdict."""
    at = open_lesson(12)
    assert any("No step sizes yet" in i.value for i in at.info)
    at = open_lesson(12, example="1")
    bars = figure(at, "Steps of each used bucket")["data"][0]
    size = metric(at, "rarest used bucket").split()[0].replace(",", "")
    assert min(numbers(bars["y"])) == numbers(bars["y"])[bars["x"].index(size)]
    assert any(word in at.info[0].value for word in ("Capture", "Leave eager"))
    # the figures shown are those that the verdict rests on
    assert f"take {metric(at, 'without it, a step more')} more" in at.info[0].value
    assert f"Needs {metric(at, 'pays back from step')} steps" in at.info[0].value


def test_the_lesson_is_kept_between_pages():
    """Leaving the page and coming back shows the same lesson."""
    at = open_lesson(9)
    at.switch_page("app_pages/measure.py").run()
    at.switch_page("app_pages/learn.py").run()
    assert at.selectbox(key="lesson").value == TITLES[8]


def test_without_a_card_the_page_says_how_to_run_it():
    """No worker: one sentence with the command."""
    at = open_lesson(1)
    ok(at.toggle(key="learn_card").set_value(True).run())
    assert any("No worker with a CUDA card" in i.value for i in at.info)


def test_a_card_captures_and_compares(monkeypatch):
    """With a worker that has a card the job is sent to its queue and its rows are shown."""
    from app.measuring import jobs

    spec = MeasureSpec((1, 2))
    rows = (
        MeasureRow(1, eager_us=100.0, replay_us=40.0, equal=True, nodes={"kernel": 21}, pieces=1),
        MeasureRow(2, error="CaptureError: no"),
    )
    device = DeviceInfo("nvidia-x", "Card X", True)
    done = MeasureJob(
        **{"job_id": "j", "kind": "measure", "status": JobStatus.DONE, "queue": "measure.x"},
        **{"done": 2, "total": 2, "submitted_at": 0.0, "rows_at": 1.0},
        **{"spec": spec, "rows": rows, "device": device},
    )
    worker = WorkerInfo("w", "h", 1, "nvidia-x", "Card X", "measure.x", "p", 0, 0, 0.0, "idle")
    sent = []
    monkeypatch.setattr(jobs, "workers", lambda: [worker])
    monkeypatch.setattr(jobs, "job_state", lambda job_id: done)
    monkeypatch.setattr(jobs, "submit", lambda spec, queue=None: sent.append((spec, queue)) or "j")
    at = open_lesson(1)
    ok(at.toggle(key="learn_card").set_value(True).run())
    ok(at.button(key="learn_card_run").click().run())
    assert [(s.sizes, q) for s, q in sent] == [((1, 2, 4, 8), "measure.x")]
    row = table_row(at, "bucket", 1)
    assert (row["replay equals eager"], row["nodes"], row["replay"]) == ("yes", "21", "40 µs")
    assert "failed: CaptureError: no" in table_row(at, "bucket", 2)["replay equals eager"]
    hostile = "Failed: ![i](http://evil.example/i.png) $x$"
    running = replace(done, status=JobStatus.RUNNING, message=hostile)
    looks = iter([running, JobError(hostile), running, running])

    def look(job_id):
        found = next(looks)
        if isinstance(found, JobError):
            raise found
        return found

    monkeypatch.setattr(jobs, "job_state", look)
    at.run()
    assert [shown(e.value) for e in at.error] == [hostile] and not at.exception
    ok(at.run())
    assert not at.error and hostile in [shown(c.value) for c in at.caption]
    drawn = [element.value for element in (*at.caption, *at.error)]
    assert not any("](http" in text for text in drawn)
