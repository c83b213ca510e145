"""Workload: files are read, mapped, and answered by a sentence where they cannot be."""

from __future__ import annotations

import pytest

from tests.app.apptest import (
    BATCHES,
    figure,
    numbers,
    shown,
    table_row,
    texts,
    with_file,
)
from tests.conftest import DATA

pytestmark = pytest.mark.usefixtures("own_database")


def test_unknown_file_is_one_sentence_and_keeps_the_old_workload():
    """A file that is nothing we know is told in one sentence, with the traffic still shown."""
    at = with_file(BATCHES, "batches.csv")
    at.file_uploader(key="upload").set_value(("x.bin", bytes(range(256)) * 4, "")).run()
    assert not at.exception
    assert len(at.error) == 1 and "Traceback" not in at.error[0].value
    said = shown(at.error[0].value)
    assert said.startswith("Still showing batches.csv; the upload x.bin was not read: ")
    assert said.count("x.bin") == 1
    assert "batches.csv" in [shown(h.value) for h in at.header]


def test_without_traffic_a_bad_file_has_its_sentence_alone():
    """Where nothing was read before, nothing is still shown."""
    at = with_file(bytes(range(256)) * 4, "x.bin")
    assert shown(at.error[0].value).startswith("x.bin: ")


def test_a_file_that_cannot_be_read_anew_stays_as_it_was_read():
    """A column of texts for tokens is refused, and the numbers of the first reading stay."""
    data = b"arrival,prompt_tokens,output_tokens,note\n0,10,5,x\n1,20,5,y\n"
    at = with_file(data, "t.csv")
    next(box for box in at.selectbox if box.label == "prompt tokens").set_value("note")
    next(b for b in at.button if b.label == "Read again").click().run()
    assert shown(at.error[0].value).startswith("Still showing t.csv as it was read before; ")
    assert {m.label: m.value for m in at.metric}["prompt tokens"] == "30"


def test_azure_slice_is_read_and_simulated():
    """An Azure trace shows its lengths and gives decode steps, labelled estimated."""
    path = next((DATA / "traces").rglob("*azure*conv*.csv"))
    at = with_file(path.read_bytes(), path.name)
    assert figure(at, "Prompt length")["data"]
    steps = figure(at, "Step sizes (estimated)")["data"][0]
    assert min(numbers(steps["y"])) >= 1
    assert "step times assumed" in texts(at)


def test_columns_with_other_names_can_be_chosen():
    """Columns nobody can guess: the page lists them, the user maps them, the trace is read."""
    data = b"alpha,beta,gamma\n0.5,100,7\n1.5,200,8\n2.5,300,9\n"
    at = with_file(data, "odd.csv")
    assert len(at.error) == 1
    picks = {box.label: box for box in at.selectbox}
    picks["arrival time"].set_value("alpha")
    picks["prompt tokens"].set_value("beta")
    picks["output tokens"].set_value("gamma")
    next(b for b in at.button if b.label == "Read again").click().run()
    assert not at.exception and not at.error
    found = {m.label: m.value for m in at.metric}
    assert found["prompt tokens"] == "600"
    assert found["output tokens"] == "24"


def test_seconds_can_be_said_to_be_milliseconds():
    """Arrivals 0, 1000, 2000 read as ms last 2 s, as s 2,000 s."""
    data = b"arrival,prompt_tokens,output_tokens\n0,10,5\n1000,10,5\n2000,10,5\n"
    at = with_file(data, "ticks.csv")
    at.selectbox[[b.label for b in at.selectbox].index("Unit of arrival times")].set_value("ms")
    next(b for b in at.button if b.label == "Read again").click().run()
    assert {m.label: m.value for m in at.metric}["duration"] == "2.00 s"


def test_a_prometheus_histogram_shows_its_bounds():
    """Coarse counts are drawn by range, and the page says that single lengths are unknown."""
    lines = ["# TYPE vllm:request_prompt_tokens histogram"]
    for bound, count in (("10.0", 3), ("100.0", 8), ("+Inf", 9)):
        lines.append(f'vllm:request_prompt_tokens_bucket{{le="{bound}",model_name="m"}} {count}')
    lines += ['vllm:request_prompt_tokens_sum{model_name="m"} 700']
    lines += ['vllm:request_prompt_tokens_count{model_name="m"} 9', ""]
    at = with_file("\n".join(lines).encode(), "metrics.txt")
    assert not at.error
    bars = figure(at, "bounds only")["data"][0]
    assert numbers(bars["y"]) == [3, 5, 1]
    assert "Grade D" in texts(at)


def test_step_sizes_by_range_are_named_by_what_they_count():
    """vLLM's coarse counts of tokens a step stand over "step tokens", a word for people."""
    lines = ["# TYPE vllm:iteration_tokens_total histogram"]
    for bound, count in (("8.0", 5), ("64.0", 9), ("+Inf", 9)):
        lines.append(f'vllm:iteration_tokens_total_bucket{{le="{bound}",model_name="m"}} {count}')
    lines += ['vllm:iteration_tokens_total_sum{model_name="m"} 200']
    lines += ['vllm:iteration_tokens_total_count{model_name="m"} 9', ""]
    drawn = figure(with_file("\n".join(lines).encode(), "metrics.txt"), "bounds only")
    assert drawn["layout"]["title"]["text"].startswith("Step tokens by range")
    assert drawn["layout"]["xaxis"]["title"]["text"] == "step tokens"


def test_one_step_of_one_request_is_singular():
    """Neither "1 steps" nor "sizes 1 to 1"."""
    at = with_file(b"batch,count\n1,1\n", "one.csv")
    at.switch_page("app_pages/break_even.py").run()
    assert "Traffic: 1 step of 1 request; measured" in texts(at)


def test_the_first_requests_are_shown_as_read():
    """The preview holds arrival and token counts, and nothing of any other column."""
    data = b"arrival,prompt_tokens,output_tokens,prompt\n0,10,5,hello secret\n2,20,6,more\n"
    at = with_file(data, "small.csv")
    row = table_row(at, "prompt tokens", 20)
    assert row == {"arrival [s]": 2.0, "prompt tokens": 20, "output tokens": 6}
    shown = texts(at) + "".join(frame.value.to_string() for frame in at.dataframe)
    assert "secret" not in shown


def test_a_typed_rate_is_named_and_no_longer_asked_for():
    """Lengths alone ask for a rate; once it is typed, nothing asks and the caption names it."""
    at = with_file(b"prompt_tokens,completion_tokens\n100,10\n200,20\n300,30\n", "lengths.csv")
    assert "Type a request rate" in texts(at)
    at.number_input(key="rate_rps").set_value(5.0).run()
    assert not at.exception and not at.warning
    assert "3 requests at 5 requests/s, typed, replayed at load x1" in texts(at)
    assert "request rate to go on" not in texts(at) and "Type a request rate" not in texts(at)


def test_shares_of_lengths_do_not_ask_for_a_rate():
    """No request can arrive at any rate: the grade says so, and what to upload instead."""
    data = (DATA / "traces" / "servegen-dataset.json").read_bytes()
    at = with_file(data, "dataset.json")
    said = texts(at)
    assert "no decode steps can be simulated" in said and "upload a request trace" in said
    assert "which you type in" not in said
