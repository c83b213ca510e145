"""Each page, driven by its widgets, without a browser."""

from __future__ import annotations

import numpy as np
import pytest

from tests.app.apptest import figure, numbers, open_app, table_row, texts
from tests.conftest import DATA

PAGES = (
    "workload.py",
    "buckets.py",
    "break_even.py",
    "memory.py",
    "engine.py",
    "measure.py",
    "serve.py",
)
BATCHES = b"batch,count\n1,1\n3,1\n5,1\n8,1\n"


@pytest.fixture(autouse=True)
def own_database(tmp_path, monkeypatch):
    """No test sees the jobs of another, or of the developer."""
    import streamlit as st

    monkeypatch.setenv("BUCKETWISE_DATABASE_URL", f"sqlite:///{tmp_path / 'jobs.sqlite'}")
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def with_file(data: bytes, name: str):
    at = open_app()
    at.file_uploader(key="upload").set_value((name, data, "text/csv")).run()
    assert not at.exception, at.exception
    return at


def to_page(at, page: str):
    at.switch_page(f"app_pages/{page}").run()
    assert not at.exception, at.exception
    return at


@pytest.mark.parametrize("page", PAGES)
def test_empty_state_says_what_to_do(page):
    """Without traffic each page says so in a sentence and shows no error."""
    at = open_app(page)
    assert not at.error
    text = texts(at)
    assert any(word in text for word in ("example", "worker", "Paste"))


@pytest.mark.parametrize("page", PAGES)
def test_every_page_works_with_the_example(page):
    """The example, opened by a link, gives every page something to show."""
    at = open_app(page, example="1")
    assert not at.error
    if page not in ("engine.py", "measure.py", "serve.py"):
        assert at.get("plotly_chart")


def test_four_batches_waste_four_of_twenty_one():
    """Batches 1, 3, 5, 8 on 1, 2, 4, 8: 17 useful of 21 slots, waste 19.0 %; with 5, 1 of 18."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["My list"])
    at.text_input(key="own_sizes").set_value("1 2 4 8").run()
    row = table_row(at, "bucket set", "My list")
    assert (row["waste"], row["padded slots"]) == ("19.0 %", "4")
    at.text_input(key="own_sizes").set_value("1 2 4 5 8").run()
    row = table_row(at, "bucket set", "My list")
    assert (row["waste"], row["padded slots"]) == ("5.6 %", "1")


def test_padding_chart_shows_the_padded_slots():
    """The bars are the report's numbers: sizes 1, 3, 5, 8 pad 0, 1, 3, 0 slots."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["My list"])
    at.text_input(key="own_sizes").set_value("1 2 4 8").run()
    traces = {t["name"]: t for t in figure(at, "Slots")["data"] if t.get("x")}
    assert numbers(traces["padded"]["x"]) == [1, 3, 5, 8]
    assert numbers(traces["padded"]["y"]) == [0, 1, 3, 0]
    assert numbers(traces["useful"]["y"]) == [1, 3, 5, 8]


def test_best_set_reaches_zero_padding_with_a_graph_for_each_size():
    """The frontier of four distinct sizes ends at K=4 without padding."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    best = figure(at, "Padding against")["data"][0]
    assert numbers(best["x"])[:4] == [1, 2, 3, 4]
    assert numbers(best["y"])[3] == 0
    assert numbers(best["y"])[0] == pytest.approx(100 * 15 / 32)  # 1,3,5,8 all in bucket 8


def test_a_list_that_is_no_list_is_answered_with_a_sentence():
    """A typing error names the piece, and the other sets stay."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["My list", "Powers of two"])
    at.text_input(key="own_sizes").set_value("1, two, 4").run()
    assert not at.exception
    assert "'two' is not a capture size" in at.warning[0].value
    assert table_row(at, "bucket set", "Powers of two")["graphs"] == 4


def test_unknown_file_is_one_sentence_and_keeps_the_old_workload():
    """A file that is nothing we know is an error in one sentence; what was there stays."""
    at = with_file(BATCHES, "batches.csv")
    at.file_uploader(key="upload").set_value(("x.bin", bytes(range(256)) * 4, "")).run()
    assert not at.exception
    assert len(at.error) == 1 and "Traceback" not in at.error[0].value
    assert "batches.csv" in texts(at)


def test_azure_slice_is_read_and_simulated():
    """An Azure trace shows its lengths and gives decode steps, labelled estimated."""
    path = next((DATA / "traces").rglob("*azure*conv*.csv"))
    at = with_file(path.read_bytes(), path.name)
    assert figure(at, "Prompt length")["data"]
    steps = figure(at, "Step sizes (estimated)")["data"][0]
    assert min(numbers(steps["y"])) >= 1
    assert "step times assumed" in texts(at)


def test_choices_survive_a_change_of_page():
    """K chosen on Buckets is still there after a visit to Memory, and in the address bar."""
    at = open_app("buckets.py", example="1")
    at.number_input(key="best_k").set_value(7).run()
    to_page(at, "memory.py")
    to_page(at, "buckets.py")
    assert at.number_input(key="best_k").value == 7
    assert at.query_params["k"] in ("7", ["7"])
    assert table_row(at, "bucket set", "Best possible, K=7")["graphs"] == 7


def test_a_malformed_link_is_said():
    """A link with k=seven works, with the default, and says so."""
    at = open_app("buckets.py", example="1", k="seven")
    assert at.number_input(key="best_k").value == 16
    to_page(at, "buckets.py")


def test_same_set_has_the_same_colour_on_every_page():
    """A set's colour on the Memory chart is its colour on the Buckets chart."""
    at = open_app("buckets.py", example="1")
    padding = {t["name"]: t["marker"]["color"] for t in figure(at, "Padding against")["data"][1:]}
    to_page(at, "memory.py")
    memory = {
        t["name"]: t["marker"]["color"]
        for t in figure(at, "KV cache left")["data"]
        if t["mode"] == "markers"
    }
    assert padding and memory == padding


def test_break_even_page_says_never_when_nothing_is_gained():
    """The verdict table has a row for each bucket of the chosen set."""
    at = to_page(with_file(BATCHES, "batches.csv"), "break_even.py")
    at.selectbox(key="even_set").set_value("Powers of two").run()
    sizes = {table_row(at, "bucket", size)["bucket"] for size in (1, 2, 4, 8)}
    assert sizes == {1, 2, 4, 8}
    assert table_row(at, "bucket", 2)["verdict"].startswith("drop")  # no step of size 2


def test_more_graphs_leave_fewer_kv_tokens():
    """Every curve on the Memory page falls with the number of graphs."""
    at = open_app("memory.py", example="1")
    for trace in figure(at, "KV cache left")["data"]:
        if trace["mode"] == "lines":
            assert (np.diff(numbers(trace["y"])) <= 0).all()


def test_job_without_a_worker_says_so():
    """A measurement that nobody can run is accepted and says that no worker listens."""
    at = open_app("measure.py", example="1")
    at.text_input(key="measure_sizes").set_value("1, 2")
    at.button[0].click() if not at.button else None
    submit = next(b for b in at.button if b.label == "Measure")
    submit.click().run()
    assert not at.exception
    assert "worker" in texts(at)


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
    shown = {m.label: m.value for m in at.metric}
    assert shown["prompt tokens"] == "600"
    assert shown["output tokens"] == "24"


def test_seconds_can_be_said_to_be_milliseconds():
    """Arrivals 0, 1000, 2000 read as ms last 2 s, as s 2,000 s."""
    data = b"arrival,prompt_tokens,output_tokens\n0,10,5\n1000,10,5\n2000,10,5\n"
    at = with_file(data, "ticks.csv")
    at.selectbox[[b.label for b in at.selectbox].index("Unit of arrival times")].set_value("ms")
    next(b for b in at.button if b.label == "Read again").click().run()
    assert {m.label: m.value for m in at.metric}["duration"] == "2.00 s"


def test_engine_page_lists_what_would_happen():
    """vLLM told 257 as the largest size truncates it to 256; the fix is a full list to paste."""
    at = open_app("engine.py")
    at.text_area(key="config_vllm").set_value(
        "vllm serve m --max-num-seqs 256 --max-cudagraph-capture-size 257"
    ).run()
    assert not at.exception and not at.error
    text = texts(at)
    assert "257" in text and "256" in text
    assert any("cudagraph_capture_sizes" in c.value and "256,257" in c.value for c in at.code)


def test_engine_as_set_becomes_a_baseline():
    """What the Engine page captures is offered on Buckets as 'Your engine today'."""
    at = with_file(BATCHES, "batches.csv")
    to_page(at, "engine.py")
    at.text_area(key="config_vllm").set_value("--cudagraph-capture-sizes 2 8").run()
    to_page(at, "buckets.py")
    at.multiselect(key="sets").set_value(["Your engine today"]).run()
    assert not at.exception
    row = table_row(at, "bucket set", "Your engine today")
    assert (row["graphs"], row["padded slots"]) == (2, "9")  # 1->2, 3->8, 5->8, 8: 1+5+3


def test_export_is_ready_to_paste():
    """The chosen list appears as vLLM's flag."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["My list"])
    at.text_input(key="own_sizes").set_value("1 2 4 8").run()
    assert any("[1,2,4,8]" in c.value and "cudagraph_capture_sizes" in c.value for c in at.code)


def test_best_set_respects_what_is_asked():
    """Two graphs in multiples of 4: 4 and 8. With 6 included in any case: 6 and 8."""
    at = to_page(with_file(BATCHES, "batches.csv"), "buckets.py")
    at.multiselect(key="sets").set_value(["Best possible"])
    at.number_input(key="best_k").set_value(2)
    at.number_input(key="best_multiple").set_value(4).run()
    assert not at.exception and not at.error
    row = table_row(at, "bucket set", "Best possible, K=2")
    assert (row["graphs"], row["padded slots"]) == (2, "7")  # 1->4, 3->4, 5->8: 3+1+3
    at.number_input(key="best_multiple").set_value(1)
    at.text_input(key="best_include").set_value("6").run()
    row = table_row(at, "bucket set", "Best possible, K=2")
    assert row["padded slots"] == "9"  # 6 and 8: 1->6, 3->6, 5->6: 5+3+1


def test_serve_runs_each_set_and_eager():
    """After the button each set and the eager yardstick have a row; eager steps are slower."""
    at = open_app("serve.py", example="1")
    next(b for b in at.button if b.label.startswith("Serve the requests")).click().run()
    assert not at.exception and not at.error
    eager = table_row(at, "bucket set", "No graphs (eager)")
    best = table_row(at, "bucket set", "Best possible, K=16")
    assert eager["eager steps"] != "0" and best["eager steps"] == "0"
    figures = figure(at, "Latency of requests")["data"]
    tpot = {t["name"]: numbers(t["y"]) for t in figures if t["xaxis"] == "x2"}
    assert tpot["No graphs (eager)"][0] > tpot["Best possible, K=16"][0]


def test_a_limit_is_the_same_on_every_page_that_shows_it():
    """KV tokens set on Workload are what Serve shows, and the other way round."""
    at = open_app("workload.py", example="1")
    at.number_input(key="kv_tokens").set_value(123_000).run()
    to_page(at, "serve.py")
    assert at.number_input(key="kv_tokens").value == 123_000
    at.number_input(key="kv_tokens").set_value(77_000).run()
    to_page(at, "workload.py")
    assert at.number_input(key="kv_tokens").value == 77_000


def test_advice_stands_under_the_trade_off():
    """Judged by step time, the chart has a floor below every point and advice in words."""
    at = open_app("buckets.py", example="1")
    at.segmented_control(key="frontier_view").set_value("Step time").run()
    assert not at.exception
    spec = figure(at, "Mean step time")
    floor = spec["layout"]["shapes"][0]["y0"]
    assert all(y >= floor * (1 - 1e-9) for trace in spec["data"] for y in numbers(trace["y"]))
    assert "vLLM default" in texts(at)


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


@pytest.mark.parametrize("kind", range(3))
def test_every_kind_of_bucket_works_on_every_page(kind):
    """Decode batch, step tokens and prompt length: each page answers or says why not."""
    at = open_app("workload.py", example="1")
    radio = at.radio(key="bucketed")
    radio.set_value(radio.options[kind]).run()
    for page in PAGES:
        to_page(at, page)
        assert not any("Traceback" in e.value for e in at.error)


@pytest.mark.parametrize("name", ["vllm_cudagraph_stats.log", "hist_prompt_length_count.csv"])
def test_every_page_works_without_requests(name):
    """Step sizes from a log, or lengths alone, are enough for the pages that need no requests."""
    at = with_file((DATA / "traces" / name).read_bytes(), name)
    assert not at.error
    for page in PAGES:
        to_page(at, page)


def test_the_assumed_cost_can_be_adjusted():
    """A replay that takes longer than an eager step never pays back."""
    at = to_page(with_file(BATCHES, "batches.csv"), "break_even.py")
    at.number_input(key="cost_step_us").set_value(50_000.0)
    at.number_input(key="cost_launch_us").set_value(100.0).run()
    assert not at.exception
    shown = {m.label: m.value for m in at.metric}
    assert shown["saves from step"] == "never"


def test_a_roofline_is_labelled_estimated():
    """Model and card give a step cost that says estimated and names the card."""
    at = open_app("break_even.py", example="1")
    at.selectbox(key="cost_name").set_value("Estimated: roofline of model and card").run()
    assert not at.exception and not at.error
    assert "roofline" in texts(at) and "H200" in texts(at)


def test_restored_graphs_save_from_the_first_step():
    """Graphs restored from disk cost nothing to capture: they save from step 1."""
    at = open_app("break_even.py", example="1")
    at.checkbox(key="restored").set_value(True).run()
    assert not at.exception
    assert {m.label: m.value for m in at.metric}["saves from step"] == "1"


def test_a_sweep_names_the_fewest_graphs_that_do():
    """The sweep serves best sets of growing size under each load and marks one for each."""
    at = open_app("serve.py", example="1")
    next(b for b in at.button if b.label == "Run the sweep").click().run()
    assert not at.exception and not at.error
    lines = [t for t in figure(at, "by number of graphs")["data"] if "lines" in t["mode"]]
    assert lines and min(numbers(lines[0]["x"])) == 0
    eager, *graphs = numbers(lines[0]["y"])
    assert eager > max(graphs)
    assert "fewest within 1 %" in texts(at)


def test_the_choice_is_checked_on_later_traffic():
    """The first half's best list is scored on the second half of the trace."""
    at = open_app("buckets.py", example="1")
    at.button(key="check_choice").click().run()
    assert not at.exception and not at.error
    assert "16 graphs chosen on the first half" in texts(at)


def test_every_page_computes_with_a_measured_profile():
    """With a shipped profile as step cost the pages say fitted, and name card and date."""
    at = open_app("measure.py", example="1")
    name = next(n for n in at.selectbox(key="cost_name").options if "llama-8b" in n)
    at.selectbox(key="cost_name").set_value(name).run()
    assert not at.exception and not at.error
    assert "NVIDIA H200" in texts(at)
    fitted = [t for t in figure(at, "Step time (measured")["data"] if "fitted" in t["name"]]
    assert len(fitted) == 2
    for page in PAGES:
        to_page(at, page)
        assert not at.error, [e.value for e in at.error]
    to_page(at, "break_even.py")
    assert "Fitted: NVIDIA H200" in texts(at)


def test_a_model_the_step_cannot_have_is_refused_before_it_is_sent():
    """Latent attention is named in one sentence, and no job is made."""
    import json

    config = {"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "kv_lora_rank": 8, "vocab_size": 100}
    config |= {"intermediate_size": 128, "qk_rope_head_dim": 8}
    at = open_app("memory.py", example="1")
    at.text_area(key="model_config").set_value(json.dumps(config)).run()
    to_page(at, "measure.py")
    box = at.selectbox(key="model")
    box.set_value(box.options[-1])
    next(b for b in at.button if b.label == "Measure").click().run()
    assert not at.exception
    assert any("latent attention" in e.value for e in at.error)
