"""The Serve page: every choice of the simulator, figures side by side, and runs that are kept."""

from __future__ import annotations

import numpy as np
import pytest

from core.example.trace import example_trace, gamma_arrivals
from core.records import Trace
from core.simulate import Machine, simulate
from core.step_cost import assumed_step_cost
from core.trace_changes import with_prefix_hit_rate
from tests.app.apptest import (
    KV_TOKENS,
    figure,
    numbers,
    open_app,
    shown,
    table_row,
    texts,
    to_page,
    with_file,
)

pytestmark = pytest.mark.usefixtures("own_database")

REQUESTS = example_trace(num_requests=60, rate_rps=20.0)
EAGER = "No graphs (eager)"


def csv(trace: Trace) -> bytes:
    """Our own column names; without arrivals where the trace has none."""
    arrivals = ["" for _ in range(len(trace))]
    if trace.arrival_s is not None:
        arrivals = [f"{t:.9f}," for t in trace.arrival_s]
    head = ("" if trace.arrival_s is None else "arrival_s,") + "prompt_tokens,output_tokens"
    rows = [
        f"{a}{p},{o}"
        for a, p, o in zip(arrivals, trace.prompt_tokens, trace.output_tokens, strict=True)
    ]
    return "\n".join([head, *rows]).encode()


def serve_page(trace: Trace = REQUESTS):
    return to_page(with_file(csv(trace), "requests.csv"), "serve.py")


def serve(at):
    at.button(key="serve").click().run()
    assert not at.exception and not at.error, [e.value for e in at.error]
    return at


def eager(trace: Trace, machine: Machine, **options):
    return simulate(trace, machine, assumed_step_cost(), None, **options)


def all_figures(at) -> dict[str, float]:
    """The eager column of the full table, as numbers."""
    at.segmented_control(key="serving_view").set_value("All figures").run()
    frame = next(d.value for d in at.dataframe if "figure" in d.value.columns)
    return {
        row["figure"]: float(str(row[EAGER]).replace(",", ""))
        for _, row in frame.iterrows()
        if row[EAGER] != "–"
    }


def test_figures_are_those_of_the_simulation():
    """Percentiles, throughput and steps on the page are core's for the same run."""
    found = all_figures(serve(serve_page()))
    real = eager(REQUESTS, Machine(KV_TOKENS))
    latency = real.latency()
    for name, values in (
        ("TTFT", latency.ttft_ms),
        ("TPOT", latency.tpot_ms),
        ("ITL", latency.itl_ms),
        ("end to end", latency.e2e_ms),
    ):
        for rank in ("p50", "p90", "p99"):
            assert found[f"{name} {rank} [ms]"] == pytest.approx(getattr(values, rank), abs=0.006)
    assert found["output tokens/s"] == pytest.approx(real.output_tps, abs=0.06)
    assert found["requests/s"] == pytest.approx(real.request_rps, abs=0.0006)
    assert found["decode steps"] == real.decode_steps.total_steps == found["eager decode steps"]
    assert found["mixed steps (they hold prefill)"] == real.mixed_steps.total_steps
    assert found["padded slots"] == 0 and found["preemptions"] == real.preemptions


def test_goodput_follows_the_limits_without_a_new_run():
    """A TTFT limit below every request leaves none; the runs stay."""
    at = serve(serve_page())
    assert float(table_row(at, "bucket set", EAGER)["goodput [requests/s]"]) > 1
    at.number_input(key="ttft_limit_ms").set_value(1.0).run()
    assert table_row(at, "bucket set", EAGER)["goodput [requests/s]"] == "0.000"
    assert "None serves a request within the limits" in texts(at)


def test_separate_prefill_and_blocks():
    """SGLang's way, with blocks of 64: the page's run is core's."""
    at = serve_page()
    at.segmented_control(key="prefill_mode").set_value("separate")
    at.number_input(key="block_size_tokens").set_value(64)
    at.checkbox(key="whole_prompt").set_value(False).run()
    found = all_figures(serve(at))
    machine = Machine(KV_TOKENS, block_size_tokens=64, mode="separate", whole_prompt_must_fit=False)
    real = eager(REQUESTS, machine)
    assert found["TPOT p50 [ms]"] == pytest.approx(real.latency().tpot_ms.p50, abs=0.006)
    assert found["KV tokens held, peak"] == real.peak_kv_tokens


def test_speculation():
    """3 drafts accepted at 0.7: fewer steps, and graphs are fitted to four tokens a request."""
    at = serve_page()
    at.number_input(key="draft_tokens").set_value(3).run()
    at.number_input(key="acceptance").set_value(0.7).run()
    found = all_figures(serve(at))
    real = eager(REQUESTS, Machine(KV_TOKENS, draft_tokens=3, acceptance=0.7))
    assert found["decode steps"] == pytest.approx(real.decode_steps.total_steps, rel=0.05)
    assert (
        found["decode steps"] < 0.6 * eager(REQUESTS, Machine(KV_TOKENS)).decode_steps.total_steps
    )
    to_page(at, "workload.py")
    sizes = numbers(figure(at, "Step sizes")["data"][0]["x"])
    assert all(size % 4 == 0 for size in sizes)


def test_prefix_hits():
    """A typed share of every prompt is spared; off spares nothing."""
    at = serve_page()
    at.selectbox(key="prefix_use").set_value("typed").run()
    at.slider(key="prefix_hit_rate").set_value(0.5).run()
    found = all_figures(serve(at))
    real = eager(with_prefix_hit_rate(REQUESTS, 0.5), Machine(KV_TOKENS))
    assert found["prompt tokens from the cache"] == real.cached_tokens > 0
    at.selectbox(key="prefix_use").set_value("off").run()
    assert all_figures(serve(at))["prompt tokens from the cache"] == 0


def test_closed_loop():
    """Four in flight, whatever the arrivals: core's run with concurrency 4."""
    at = serve_page()
    at.segmented_control(key="arrive").set_value("closed").run()
    at.number_input(key="concurrency").set_value(4).run()
    found = all_figures(serve(at))
    real = eager(REQUESTS, Machine(KV_TOKENS), concurrency=4)
    assert found["makespan [s]"] == pytest.approx(real.makespan_s, abs=0.006)
    at.segmented_control(key="serving_view").set_value("Over time").run()
    running = [t for t in figure(at, "State of the engine")["data"] if t["name"] == EAGER][0]
    assert max(numbers(running["y"])) <= 4


def test_lengths_get_arrivals_where_serve_needs_them():
    """Without arrivals the page asks for a rate, burstiness and seed, and makes them as core does;
    a closed loop needs none."""
    lengths = Trace(REQUESTS.prompt_tokens, REQUESTS.output_tokens)
    at = serve_page(lengths)
    assert "lengths without arrivals" in texts(at) and not at.dataframe
    at.number_input(key="rate_rps").set_value(10.0)
    at.number_input(key="arrival_cv").set_value(2.0)
    at.number_input(key="arrival_seed").set_value(7).run()
    found = all_figures(serve(at))
    real = eager(gamma_arrivals(lengths, rate_rps=10.0, cv=2.0, seed=7), Machine(KV_TOKENS))
    assert found["makespan [s]"] == pytest.approx(real.makespan_s, abs=0.006)
    other = serve_page(lengths)
    other.segmented_control(key="arrive").set_value("closed").run()
    serve(other)
    assert table_row(other, "bucket set", EAGER)["graphs"] == 0


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("max_num_batched_tokens", 16, "max_num_batched_tokens is 16, but 256 requests"),
        ("draft_tokens", 40, "256 requests decoding 41 tokens each need 10496"),
    ],
)
def test_bad_settings_are_named_before_the_run(key, value, says):
    """One sentence, and no button to run with."""
    at = serve_page()
    at.number_input(key=key).set_value(value).run()
    assert len(at.error) == 1 and says in at.error[0].value
    assert not [b for b in at.button if b.key == "serve"]


def test_requests_that_never_fit_are_named_before_the_run():
    """A request of 3,000 tokens in a cache of 2,000: said above the button, counted after it."""
    trace = Trace(np.array([3000, 100]), np.array([10, 10]), np.array([0.0, 1.0]))
    at = serve_page(trace)
    at.number_input(key="kv_tokens").set_value(2000).run()
    at.number_input(key="block_size_tokens").set_value(16).run()
    said = [shown(w.value) for w in at.warning if "can never fit" in w.value]
    assert said and "request 0 (3,000 + 10 tokens)" in said[0]


def test_runs_are_kept_and_only_what_is_new_runs(monkeypatch):
    """Another set is served alone; a change of a limit starts anew."""
    from app import compute

    served = []
    run = compute.served

    def count(*args, **kwargs):
        served.append(args[3])
        return run(*args, **kwargs)

    monkeypatch.setattr(compute, "served", count)
    at = serve(serve_page())
    first = len(served)
    assert first == 4 and served[0] is None  # eager, two defaults of the page, the best
    to_page(at, "buckets.py")
    at.multiselect(key="sets").set_value(
        ["vllm", "Powers of two", "Best possible", "My list"]
    ).run()
    to_page(at, "serve.py")
    assert "5 ways to serve them, 4 of them done" in texts(at)
    serve(at)
    assert len(served) == first + 1
    at.number_input(key="max_num_seqs").set_value(128).run()
    assert "0 of them done" in texts(at)


def test_every_chart_shows_the_runs():
    """Padded slots and eager steps by size, and step sizes, are core's sums."""
    at = serve(serve_page())
    at.segmented_control(key="serving_view").set_value("Padded and eager").run()
    bars = figure(at, "Eager steps by size")["data"]
    assert [b["name"] for b in bars] == [EAGER]
    total = table_row(at, "bucket set", EAGER)["eager steps"].replace(",", "")
    assert sum(numbers(bars[0]["y"])) == int(total)
    padded = {b["name"]: sum(numbers(b["y"])) for b in figure(at, "Padded slots by size")["data"]}
    for name, slots in padded.items():
        assert slots == int(table_row(at, "bucket set", name)["padded slots"].replace(",", ""))
    at.segmented_control(key="serving_view").set_value("Step sizes").run()
    lines = {t["name"]: sum(numbers(t["y"])) for t in figure(at, "Decode steps by size")["data"]}
    assert lines[EAGER] == int(total)
    assert figure(at, "Steps with prefill by size")["data"]


def test_the_best_set_is_named_in_a_sentence():
    """The verdict names a set, its graphs and the gain over eager."""
    at = serve(serve_page())
    sentence = next(shown(m.value) for m in at.markdown if "within the limits" in m.value)
    assert "graphs)" in sentence and EAGER in sentence
    assert "% less than" in sentence or "% more than" in sentence


def test_the_engine_of_serve_gives_the_steps_of_workload():
    """What is set on Serve changes the step sizes that the other pages choose sets for."""
    at = serve_page()
    at.segmented_control(key="arrive").set_value("closed").run()
    at.number_input(key="concurrency").set_value(2).run()
    to_page(at, "workload.py")
    assert max(numbers(figure(at, "Step sizes")["data"][0]["x"])) <= 2
    assert "in a closed loop of 2" in texts(at)


def test_without_requests_the_page_says_what_it_needs():
    """Batch sizes alone cannot be served."""
    at = to_page(with_file(b"batch,count\n1,1\n3,1\n", "batches.csv"), "serve.py")
    assert "Serving needs requests" in texts(at)


def test_the_example_opens_from_serve():
    """A link to Serve with the example shows its widgets."""
    at = open_app("serve.py", example="1")
    assert at.number_input(key="load_factor").value == 1.0


def test_an_engines_default_is_served_by_its_own_rule():
    """TensorRT-LLM pads no decode batch by default: sizes that it did not capture run eager."""
    at = serve_page()
    to_page(at, "buckets.py")
    at.multiselect(key="sets").set_value(["trtllm", "Powers of two"]).run()
    to_page(at, "serve.py")
    serve(at)
    row = table_row(at, "bucket set", "TensorRT-LLM default")
    other = table_row(at, "bucket set", "Powers of two")
    assert row["padded slots"] == "0" and other["padded slots"] != "0"
