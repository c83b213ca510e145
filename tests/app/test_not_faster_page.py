"""The page on graphs that do not pay: with traffic, with a log, with nothing."""

from __future__ import annotations

import pytest

from tests.app.apptest import figure, numbers, open_app, shown, texts, to_page
from tests.conftest import DATA

PAGE = "not_faster.py"


def test_the_parts_of_a_step_add_up_on_the_page():
    """The stacked bar with graphs is as long as its parts; the eager one as the eager step, and
    the sentence says the difference."""
    at = open_app(PAGE, example="1")
    at.selectbox(key="cost_name").set_value("Shipped: h200-qwen-0.5b").run()
    assert not at.exception and not at.error
    bars = figure(at, "The mean step")["data"]
    eager, taken = (sum(numbers(bar["x"])[i] for bar in bars) for i in (0, 1))
    sentence = at.success[0].value.replace("\\", "")
    assert f"they save {eager - taken:.2f} ms of {eager:.2f} ms a step" in sentence
    by_size = figure(at, "Where the time of a step goes")["data"]
    assert by_size[-1]["name"] == "the same step, eager"
    assert "kernels at the true size" in {trace["name"] for trace in by_size}


def test_each_group_has_a_verdict_and_its_evidence():
    """Four boxes; host times come from the profile in the sidebar, and without one they are asked
    for."""
    at = open_app(PAGE, example="1")
    words = texts(at)
    assert "host times: a measured profile" in words.replace("\\", "")
    at.selectbox(key="cost_name").set_value("Shipped: h200-llama-8b").run()
    words = texts(at).replace("\\", "")
    for title in ("Did the graphs replay?", "Host submission", "Padding and kernel time"):
        assert f"**{title}**" in words
    assert "A replay is launched in" in words and "(measured)" in words
    assert "host times: a measured profile" not in words


def test_sizes_of_another_set():
    """With graphs for the largest step alone padding is the answer."""
    at = open_app(PAGE, example="1", own="256", sets="My list")
    at.selectbox(key="cost_name").set_value("Shipped: h200-llama-8b").run()
    assert not at.exception
    assert "goes to padding" in at.error[0].value.replace("\\", "")
    assert at.selectbox(key="not_faster_set").value == "My list"


def test_a_log_of_an_eager_engine():
    """An uploaded log says that graphs are off, whatever the session's traffic; forgetting it
    brings the session's own answer back."""
    log = (DATA / "engine_logs" / "vllm-0.23-h200-eager.log").read_bytes()
    at = open_app(PAGE, example="1")
    at.file_uploader(key="not_faster_upload_0").set_value(("eager.log", log, "text/plain")).run()
    assert not at.exception
    assert "No step replays a graph (enforce_eager=True)" in at.error[0].value.replace("\\", "")
    assert "Leave out --enforce-eager" in texts(at).replace("\\", "")
    to_page(at, "diagnose.py")
    to_page(at, PAGE)
    assert "No step replays a graph" in at.error[0].value.replace("\\", "")  # kept over pages
    at.button(key="not_faster_forget").click().run()
    assert not at.exception and not at.error and at.success
    to_page(at, "diagnose.py")
    to_page(at, PAGE)
    assert not at.error and at.success


def test_a_recorded_run_brings_its_own_steps():
    """Its steps, its captured sizes and its step times; the session's traffic can be asked for."""
    run = (DATA / "engine_runs" / "vllm-0.23-h200-default.json.gz").read_bytes()
    at = open_app(PAGE, example="1")
    at.selectbox(key="cost_name").set_value("Shipped: h200-llama-8b").run()
    at.file_uploader(key="not_faster_upload_0").set_value(("run.json.gz", run, "x")).run()
    assert not at.exception and not at.error
    assert at.selectbox(key="not_faster_steps").value == "run.json.gz"
    assert at.selectbox(key="not_faster_said").value == "As the engine says"
    words = texts(at).replace("\\", "")
    assert "longer than the profile's replay of it" in words
    assert "3,044 steps have a graph among the 51 sizes" in words
    at.selectbox(key="not_faster_steps").set_value("The traffic of this session").run()
    assert "3,044 steps" not in texts(at).replace("\\", "")


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("notes.md", b"# nothing\nof use\n", "of no kind we read"),
        ("bad.json", b'{"spec": {}, "rows": [', "is no JSON"),
    ],
)
def test_a_file_that_tells_nothing_is_named(name, data, says):
    """One sentence; the rest of the page answers without it."""
    at = open_app(PAGE, example="1")
    at.file_uploader(key="not_faster_upload_0").set_value((name, data, "text/plain")).run()
    assert not at.exception
    assert says in at.error[0].value
    assert at.success


def test_without_traffic_the_profile_is_judged_alone():
    """Each measured size counts once, and where to bring traffic is said."""
    at = open_app(PAGE)
    at.selectbox(key="cost_name").set_value("Shipped: h200-qwen-0.5b").run()
    assert not at.exception
    assert any("No steps yet" in item.value for item in at.info)
    assert "each measured size counts once" in texts(at).replace("\\", "")
    assert at.success


def test_what_is_missing_is_said_once():
    """Without traffic and files one note says what to bring; each box says what it lacks."""
    at = open_app(PAGE)
    assert [shown(item.value).split(":")[0] for item in at.info] == ["No steps yet"]
    assert texts(at).count("No steps yet") == 1
    assert "To tell more, give the steps and how they ran" in texts(at)


def test_an_assumed_cost_contradicts_nothing():
    """Nobody measured the host: no bar is named after it, the box says what is likely, "assumed" is
    not said twice, and no share is 0.0 % or 100.0 %."""
    at = open_app(PAGE, example="1")
    words = texts(at)
    names = {trace["name"] for trace in figure(at, "The mean step")["data"]}
    assert "eager, beyond its kernels" in names and not any("host" in name for name in names)
    assert "only measured host times show it" in words
    assert "Step times, assumed: replay 5800 µs" in words and "assumed, assumed" not in words
    assert "No step is GPU-bound: a step without a graph takes longer than its kernels." in words
    assert "By their size, all of the 72,074 steps have a graph" in words
    assert " 0.0 %" not in words and "100.0 %" not in words
    assert " us" not in words.replace(" use", "")


def test_sizes_are_requests_where_each_is_one_token():
    """vLLM's list counts tokens, one a request here: the axis says requests, as on other pages."""
    at = open_app(PAGE, example="1")
    axis = figure(at, "Where the time of a step goes")["layout"]["xaxis"]
    assert axis["title"]["text"] == "size of the step [requests]"
