"""Engine, Serve and Measure: what an engine, a simulation and a worker answer."""

from __future__ import annotations

import json

import pytest

from tests.app.apptest import (
    BATCHES,
    figure,
    numbers,
    open_app,
    table_row,
    texts,
    to_page,
    with_file,
)

pytestmark = pytest.mark.usefixtures("own_database")


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


def test_more_graphs_than_sizes_are_explained():
    """51 sizes with whole graphs up to 256 beside pieces: 51 + 35 = 86 graphs, and what each is."""
    at = open_app("engine.py")
    at.text_area(key="config_vllm").set_value("vllm serve m --max-num-seqs 256").run()
    cells = {m.label: m.value for m in at.metric}
    assert (cells["sizes captured"], cells["graphs, all kinds"]) == ("51", "86")
    assert "51 sizes become 86 graphs: 51 piecewise, 35 full. Each kind of step has" in texts(at)


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


def test_job_without_a_worker_says_so():
    """A measurement that nobody can run is accepted and says that no worker listens."""
    at = open_app("measure.py", example="1")
    at.text_input(key="measure_sizes").set_value("1, 2")
    at.button[0].click() if not at.button else None
    submit = next(b for b in at.button if b.label == "Measure")
    submit.click().run()
    assert not at.exception
    assert "worker" in texts(at)


def test_a_model_the_step_cannot_have_is_refused_before_it_is_sent():
    """Latent attention is named in one sentence, and no job is made."""
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


def test_a_failed_capture_is_explained():
    """A pasted error names the root cause and the way out; harmless text is no failure."""
    at = open_app("diagnose.py")
    at.text_area(key="config_failure").set_value(
        "torch.AcceleratorError: CUDA error: operation not permitted when stream is capturing"
    ).run()
    assert not at.exception and not at.error
    assert at.subheader and at.text
    at.text_area(key="config_failure").set_value("INFO 11-30 server started").run()
    assert "No capture failure that we know is in 1 line." in at.success[0].value


def test_a_failed_capture_shows_its_layer_and_what_to_switch_off():
    """The page names the layer, and tells in order which flag takes a layer out, at which cost."""
    at = open_app("diagnose.py")
    at.text_area(key="config_failure").set_value(
        "vLLM API server version 0.11.0\n"
        '  File "/opt/vllm/distributed/device_communicators/custom_all_reduce.py", line 22, in f\n'
        "    ops.all_reduce(x)\n"
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    ).run()
    assert not at.exception and not at.error
    assert at.subheader[0].value == "illegal memory access"
    assert any("Layer: custom all-reduce, shown by" in c.value for c in at.caption)
    assert any("Flags (vLLM 0.11.0)" in c.value for c in at.caption)
    order = at.table[0].value
    assert order["Flag"].iloc[0] == "--disable-custom-all-reduce"
    assert order["Flag"].iloc[-1] == "--enforce-eager" and order["Costs"].all()


def test_an_example_of_a_failed_capture_is_a_click_away():
    """Whoever has no log sees what an answer looks like: the root cause, not what followed it."""
    at = open_app("diagnose.py")
    at.button(key="diagnose_example").click().run()
    assert not at.exception and "mask.sum().item()" in str(at.text_area(key="config_failure").value)
    assert at.subheader[0].value == "host sync" and "line" in at.caption[1].value
