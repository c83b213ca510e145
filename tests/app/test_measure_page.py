"""The Measure page: what is sent, and what is shown of rows that come back from a card."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.measuring import jobs
from core.profiles import comparison_profiles, shipped_profiles
from core.records import DeviceInfo, MeasureRow, MeasureSpec, Profile
from core.store.jobs import JobStatus, MeasureJob, WorkerInfo
from tests.app.apptest import figure, numbers, open_app, shown, table_row, texts, to_page

PAGE = "measure.py"
CARD = WorkerInfo("w", "h", 1, "nvidia-h200", "H200", "measure.nvidia-h200", "p", 0, 0, 0.0, "idle")


def job_of(name: str, profile: Profile, status: JobStatus = JobStatus.DONE) -> MeasureJob:
    """A job that measured a profile."""
    return MeasureJob(
        job_id=name,
        kind="measure",
        status=status,
        queue=CARD.queue,
        submitted_at=0.0,
        rows_at=1.0,
        done=len(profile.rows),
        total=len(profile.spec.sizes),
        spec=profile.spec,
        rows=profile.rows,
        device=profile.device,
    )


@pytest.fixture
def queue(monkeypatch):
    """A worker with a card that has measured two contexts of one step at once."""
    shipped = shipped_profiles()
    answers = {
        512: shipped["h200-llama-8b"],
        2048: shipped["h200-llama-8b-2k"],
    }
    sent: list[MeasureSpec] = []
    states: dict[str, MeasureJob] = {}

    def submit(spec, queue=None):
        sent.append(spec)
        name = f"job-{len(sent)}"
        states[name] = job_of(name, answers[spec.context_tokens])
        return name

    monkeypatch.setattr(jobs, "workers", lambda: [CARD])
    monkeypatch.setattr(jobs, "submit", submit)
    monkeypatch.setattr(jobs, "job_state", lambda job_id: states[job_id])
    monkeypatch.setattr(jobs, "recent_measurement", lambda: None)
    return sent, answers


def press_measure(at):
    next(b for b in at.button if b.label == "Measure").click()
    at.run()
    assert not at.exception
    return at


def test_a_job_a_context(queue):
    """Two contexts are two jobs that differ in nothing else; their rows stand in one chart and one
    table, with a sentence each on where host and card change places."""
    sent, answers = queue
    at = open_app(PAGE)
    at.text_input(key="measure_sizes").set_value("1, 2, 4")
    at.text_input(key="measure_contexts").set_value("2048, 512")
    press_measure(at)
    assert [spec.context_tokens for spec in sent] == [512, 2048]
    assert replace(sent[0], context_tokens=2048) == sent[1] and sent[0].sizes == (1, 2, 4)
    lines = figure(at, "Step time by context")["data"]
    replays = {trace["name"]: numbers(trace["y"]) for trace in lines}
    for context, profile in answers.items():
        rows = sorted(profile.rows, key=lambda row: row.size)
        expected = [(row.replay_us or 0) / 1e3 for row in rows]
        assert replays[f"graph replay, context {context:,}"] == pytest.approx(expected)
    assert table_row(at, "context", 2048)["eager is"] == "launch-bound"
    words = texts(at)
    assert "Context 512 tokens: Eager steps are launch-bound up to 128 requests" in words
    assert "Context 2,048 tokens: Eager steps are launch-bound up to 56 requests" in words


def test_measured_contexts_price_any_other(queue):
    """What was measured becomes the step cost; the sidebar then asks for the context."""
    at = open_app(PAGE, example="1")
    at.text_input(key="measure_contexts").set_value("512, 2048")
    press_measure(at)
    at.button(key="use_profile").click().run()
    assert not at.exception
    assert str(at.selectbox(key="cost_name").value).startswith("Measured: NVIDIA H200, llama-8b")
    at.number_input(key="profile_context").set_value(1024).run()
    assert "context 1,024 tokens, between the measured 512 and 2,048" in texts(at)
    to_page(at, "buckets.py")
    assert "between the measured 512 and 2,048" in texts(at)


def test_a_prefill_chunk_counts_tokens(queue):
    """Its sizes are tokens of a chunk, kept apart from those of a decode step; its profile prices
    prompts and is no step cost."""
    sent, answers = queue
    answers[512] = comparison_profiles()["h200-llama-8b-prefill"]
    at = open_app(PAGE)
    at.selectbox(key="target").set_value("llama-prefill").run()
    assert at.text_input(key="measure_chunks").value == "64, 128, 256, 512, 1024, 2048"
    press_measure(at)
    assert sent[0].target == "llama-prefill" and sent[0].sizes[-1] == 2048
    first = json.loads(at.get("plotly_chart")[0].proto.spec)  # a profile below has that title too
    assert first["layout"]["xaxis"]["title"]["text"] == "size of the step [tokens]"
    assert numbers(first["data"][1]["x"]) == [64, 128, 256, 512, 1024, 2048]
    words = texts(at)
    assert "launch-bound up to 256 tokens and GPU-bound from 512" in words
    assert "it prices the prompts" in words
    assert not any(name.startswith("Measured") for name in at.selectbox(key="cost_name").options)


def test_failed_rows_say_why(queue):
    """Rows of one reason stand together, with the error, its cause and the way out."""
    _, answers = queue
    good = answers[512]
    fits = "{} requests with 512 tokens of context do not fit; the device's free memory holds 9"
    bad = [MeasureRow(size, error=fits.format(size)) for size in (600, 700)]
    killed = MeasureRow(800, error="The measuring process ended with signal 9")
    answers[512] = replace(good, rows=(*good.rows[:3], *bad, killed))
    at = press_measure(open_app(PAGE))
    words = texts(at)
    assert "**3 of 6 rows failed**" in words
    assert "**does not fit**, size 600, 700" in words and "**process killed**, size 800" in words
    assert fits.format(600) in [code.value for code in at.code]
    plain = words.replace("\\", "")
    assert "What to do: Measure smaller sizes or a shorter context" in plain
    assert table_row(at, "size", 800)["error"] == killed.error
    assert table_row(at, "size", 1)["graph saves"] == "5.27 ms"  # 9,518.7 - 4,237.1 - 12.8 us


def test_a_job_that_is_gone_is_said(monkeypatch, queue):
    """A session opened elsewhere names jobs of another database: one sentence, and the page."""
    from core.errors import JobError

    def gone(job_id):
        raise JobError(f"There is no job {job_id}.")

    at = press_measure(open_app(PAGE))
    monkeypatch.setattr(jobs, "job_state", gone)
    at.run()
    assert not at.exception
    assert "There is no job job-1." in shown(at.error[0].value)


def test_a_look_that_fails_is_a_sentence_and_the_next_one_follows(monkeypatch, queue):
    """The database goes away between two looks at a job that runs; then it is back."""
    from core.errors import JobError

    running = replace(job_of("job-1", queue[1][512], JobStatus.RUNNING), message="Runs.")
    looks = iter(
        [running, JobError("The database did not answer [x](http://y)."), running, running]
    )

    def look(job_id):
        found = next(looks)
        if isinstance(found, JobError):
            raise found
        return found

    monkeypatch.setattr(jobs, "job_state", look)
    at = press_measure(open_app(PAGE))
    (error,) = at.error
    assert shown(error.value) == "The database did not answer [x](http://y)."
    assert "](" not in error.value
    at.run()
    assert not at.error and not at.exception and "Runs." in texts(at)


def test_a_jobs_message_is_drawn_as_text(queue, monkeypatch):
    """An error that somebody else's model or worker made: no link, image or formula comes of it."""
    hostile = "![i](http://evil.example/i.png) **Failed** $x$ <img src=x>"
    job = replace(job_of("job-1", queue[1][512], JobStatus.FAILED), message=hostile)
    monkeypatch.setattr(jobs, "job_state", lambda job_id: job)
    at = press_measure(open_app(PAGE))
    assert hostile in [shown(c.value) for c in at.caption]
    assert hostile not in [c.value for c in at.caption]


@pytest.mark.parametrize("status", [JobStatus.DONE, JobStatus.CANCELLED])
def test_what_this_session_did_not_send_is_kept_by_a_click_alone(monkeypatch, queue, status):
    """A job of the same person sent elsewhere is shown, and its profile stays out of the session
    until it is asked for."""
    monkeypatch.setattr(jobs, "recent_measurement", lambda: "elsewhere")
    monkeypatch.setattr(jobs, "job_state", lambda _: job_of("elsewhere", queue[1][512], status))
    at = open_app(PAGE)
    assert "Measurement" in [s.value for s in at.subheader]
    assert at.session_state["bucketwise"].profiles == {}
    at.button(key="use_profile").click().run()
    (name,) = at.session_state["bucketwise"].profiles
    assert at.selectbox(key="cost_name").value == name and not at.exception


def test_a_part_of_a_profile_is_kept_by_a_click_alone(monkeypatch, queue):
    """The session's own job, cancelled after three rows; one that somebody else owns likewise."""
    whole = queue[1][512]
    part = job_of("job-1", replace(whole, rows=whole.rows[:3]), JobStatus.CANCELLED)
    other = replace(job_of("job-1", whole), sent_by="oidc:1234")
    own = replace(job_of("job-1", whole), sent_by="local")
    at = press_measure(open_app(PAGE))
    for job, kept in ((part, 0), (other, 0), (own, 1)):
        monkeypatch.setattr(jobs, "job_state", lambda _, job=job: job)
        at.session_state["bucketwise"].profiles.clear()
        at.run()
        assert len(at.session_state["bucketwise"].profiles) == kept, job
        assert at.button(key="use_profile")


def test_contexts_that_are_none_are_refused(queue):
    """One sentence, and nothing is sent."""
    sent, _ = queue
    at = open_app(PAGE)
    at.text_input(key="measure_contexts").set_value("long")
    press_measure(at)
    assert sent == [] and "'long' is not a context in tokens" in at.error[0].value


def test_every_context_of_a_shipped_profile():
    """The two shipped contexts in one chart, and where each profile turns."""
    at = open_app(PAGE)
    at.selectbox(key="profile_shown").set_value("Shipped: h200-llama-8b").run()
    assert "host and card take equally long at about 135 requests" in texts(at)
    at.segmented_control(key="profile_view").set_value("Every context").run()
    assert not at.exception
    names = [trace["name"] for trace in figure(at, "Step time by context")["data"]]
    assert names[:4] == [
        *("graph replay, context 512", "eager, context 512"),
        *("graph replay, context 2,048", "eager, context 2,048"),
    ]


def test_a_size_that_cannot_be_is_refused_at_the_form(queue):
    """Nothing is sent: no device can, or the one that listens cannot; the bound is said."""
    sent, _ = queue
    at = open_app(PAGE)
    at.text_input(key="measure_sizes").set_value("1, 999999999")
    press_measure(at)
    assert "Size 999,999,999 requests cannot be measured; the bound is 1,048,576" in texts(at)
    # 2 MiB a request of 512 tokens: 0.75 x 143,771 MiB hold 53,914 beside the padding's block
    at.text_input(key="measure_sizes").set_value("1, 100000")
    press_measure(at)
    assert "H200 has at most 105.3 GiB for it. Measure sizes up to 53,914" in texts(at)
    assert sent == []


def test_fewer_samples_than_asked_for_are_said_and_why(queue):
    """Without a card a slow size stops early: the table says "5 of 50", a caption why."""
    _, answers = queue
    card = answers[512]
    slow = (MeasureRow(8, eager_us=4e5, samples=5), MeasureRow(1, eager_us=9e3, samples=50))
    device = DeviceInfo("cpu", "A processor", False)
    answers[512] = replace(card, device=device, rows=slow)
    at = press_measure(open_app(PAGE))
    assert table_row(at, "size", 8)["samples"] == "5 of 50"
    assert table_row(at, "size", 1)["samples"] == "50"
    words = texts(at)
    assert "without a card a size stops after 1 s, with 5 samples at the least" in words
    assert "5 to 50 of 50 samples a row" in words


def test_a_card_takes_all_samples(queue):
    """Then no count of those asked for stands beside them."""
    at = press_measure(open_app(PAGE))
    assert table_row(at, "size", 8)["samples"] == "50"
    assert "50 samples a row" in texts(at) and "Fewer samples" not in texts(at)


def test_the_fit_says_the_residuals_of_both_curves(queue):
    """The shipped 2k profile: replays point to point; eager times 10.83 % off their line."""
    at = open_app(PAGE)
    at.selectbox(key="profile_shown").set_value("Shipped: h200-llama-8b-2k").run()
    words = texts(at)
    assert "graph replay point to point, never falling, residuals 0.00 % (2.6 %" in words
    assert "eager a line with bends, residuals 10.83 %" in words
    assert "how far the measured medians lie from their dotted curve" in words


def test_few_sizes_have_a_tick_each(queue):
    """Sizes 1 and 8 on an axis without 0.5 and 1.5; many sizes as Plotly spaces them."""
    _, answers = queue
    few = tuple(row for row in answers[512].rows if row.size <= 8)
    answers[512] = replace(answers[512], rows=few)
    at = press_measure(open_app(PAGE))
    charts = [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]
    times = [c for c in charts if "Step time" in c["layout"]["title"]["text"]]
    assert [c["layout"]["xaxis"].get("dtick") for c in times] == [1, None]
    assert "a dash is what a graph would take alone" in texts(at)
