"""`python -m core simulate`: its JSON keys, its text, and one sentence on bad input."""

from __future__ import annotations

import json

import pytest

from core.__main__ import main
from core.records import DeviceInfo, MeasureRow, MeasureSpec, Profile, to_json_dict

CSV = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,100,3\n0.001,50,1\n2.0,10,2\n"
ASKED = [
    *("makespan_s", "ttft_ms", "tpot_ms", "e2e_ms", "output_tps", "preemptions", "steps"),
    *("histogram", "padded_slots", "eager_steps", "origin"),
]


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text(CSV)
    return str(path)


def answer(capsys, *args: str) -> dict:
    assert main(["simulate", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_keys_and_counts(csv, capsys):
    """All keys asked for. Of the first request's two decode tokens one comes with the second's
    prefill, so two steps of one decode alone; three have prefill. Assumed step times, said so."""
    result = answer(capsys, csv, "--sizes", "1,2,4", "--kv-tokens", "10000")
    assert set(ASKED) <= set(result)
    assert result["histogram"] == {"1": 2} and result["steps"] == 2 + 3
    assert result["preemptions"] == result["eager_steps"] == result["padded_slots"] == 0
    assert result["origin"] == "estimated" and result["step_times"] == "assumed"
    assert "assumed" in result["notes"][0]
    assert set(result["ttft_ms"]) >= {"p50", "p90", "p99"}
    assert 2.0 < result["makespan_s"] < 2.1
    assert result["output_tps"] == pytest.approx(6 / result["makespan_s"])


def test_graphs_beat_eager(csv, capsys):
    """The same trace without graphs takes longer a token and runs every decode step eager."""
    graphs = answer(capsys, csv, "--sizes", "1,2,4")
    eager = answer(capsys, csv, "--eager")
    assert eager["eager_steps"] == 2
    assert eager["tpot_ms"]["p50"] > graphs["tpot_ms"]["p50"]


def test_load_rate_and_goodput(csv, capsys):
    """Twice the load ends about a second sooner; a rate replaces arrivals; limits give goodput."""
    assert answer(capsys, csv, "--eager", "--load", "2")["makespan_s"] < 1.1
    fast = answer(capsys, csv, "--eager", "--rate", "1000", "--cv", "0")
    assert fast["makespan_s"] < 0.2
    limits = answer(capsys, csv, "--eager", "--ttft-limit-ms", "100000")
    assert limits["goodput_rps"] == pytest.approx(3 / limits["makespan_s"])
    assert fast["goodput_rps"] is None


def test_closed_loop_and_speculation(csv, capsys):
    """One request in flight; with all of 3 drafts accepted 2 tokens come in one step, 1 in one."""
    result = answer(
        *(capsys, csv, "--sizes", "1", "--concurrency", "1"),
        *("--draft-tokens", "3", "--acceptance", "1"),
    )
    assert result["histogram"] == {"1": 2}
    assert result["makespan_s"] < 0.5


def test_sizes_can_count_tokens(csv, capsys):
    """A request that verifies 3 drafts fills 4 tokens: no graph of 1 or 2 holds it, one of 4 does
    without padding. (Only the last request has a decode step of its own.)"""
    drafts = ("--draft-tokens", "3", "--acceptance", "1", "--sizes-count", "tokens")
    assert answer(capsys, csv, "--sizes", "1,2", *drafts)["eager_steps"] == 1
    exact = answer(capsys, csv, "--sizes", "4", *drafts)
    assert exact["eager_steps"] == 0 and exact["padded_slots"] == 0


def test_text_names_its_origin(csv, capsys):
    """People read the same: an estimate, on assumed step times."""
    assert main(["simulate", csv, "--sizes", "1,2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("estimated by simulation, step times assumed")
    assert "2 decode steps" in out and "TTFT" in out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--sizes", "1", "--kv-tokens", "8"], "smaller than one block"),
        (["--sizes", "0"], "Capture size 0"),
        (["--eager", "--load", "0"], "load factor"),
        (["--eager", "--prefix-hit-rate", "2"], "prefix hit rate"),
        (["--eager", "--profile", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_one_sentence(csv, capsys, args, says):
    """Exit code 2 and a sentence that names the value."""
    assert main(["simulate", csv, *args]) == 2
    err = capsys.readouterr().err
    assert says in err and len(err.strip().splitlines()) == 1


def test_lengths_need_a_rate(tmp_path, capsys):
    """Lengths without arrivals are refused with the way out, and run with --rate."""
    path = tmp_path / "lengths.csv"
    path.write_text("num_prefill_tokens,num_decode_tokens\n100,3\n50,1\n")
    assert main(["simulate", str(path), "--eager"]) == 2
    assert "--rate" in capsys.readouterr().err
    assert answer(capsys, str(path), "--eager", "--rate", "5")["requests"] == 2


def test_a_profile_replaces_assumptions(csv, tmp_path, capsys):
    """With a profile the decode curve is fitted; what it cannot tell is still named as assumed."""
    rows = tuple(
        MeasureRow(size, eager_us=900.0, replay_us=300.0 + size, samples=9) for size in (1, 2, 4)
    )
    profile = Profile(
        DeviceInfo("cuda", "A card", True, copy_gbps=2000.0), MeasureSpec((1, 2, 4)), rows, "2026"
    )
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(to_json_dict(profile)))
    result = answer(capsys, csv, "--sizes", "1,2,4", "--profile", str(path))
    assert "A card" in result["source"] and "prefill assumed" in result["source"]
    assert 0.25 < result["tpot_ms"]["p50"] < 0.7


def test_a_profile_brings_its_relatives(csv, capsys):
    """The shipped 8B step: prompts and context are fitted to its other profiles. A step at 1,000
    tokens of context is another curve, but the trace's own short contexts are what is simulated,
    so the time a token stays within 3 %."""
    short = answer(capsys, csv, "--sizes", "1,2,4", "--profile", "h200-llama-8b")
    assert "context fitted to contexts 512 and 2048" in short["source"]
    assert "prefill fitted" in short["source"] and short["step_times"] == "fitted"
    args = ("--sizes", "1,2,4", "--profile", "h200-llama-8b", "--context-tokens", "1000")
    other = answer(capsys, csv, *args)
    assert "context 1,000 tokens, between the measured 512 and 2,048" in other["source"]
    assert other["tpot_ms"]["p50"] == pytest.approx(short["tpot_ms"]["p50"], rel=0.03)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--context-tokens", "1000"], "needs step times that were measured"),
        (["--profile", "assumed", "--context-tokens", "1000"], "needs step times"),
        (["--profile", "h200-llama-8b-piecewise", "--context-tokens", "9"], "512 tokens only"),
        (["--profile", "h200-llama-8b", "--context-tokens", "0"], "must be 1 or more"),
    ],
)
def test_a_context_that_nothing_was_measured_at(csv, capsys, args, says):
    """One sentence, exit 2."""
    assert main(["simulate", csv, "--sizes", "1,2", *args]) == 2
    assert says in capsys.readouterr().err


def test_requests_that_never_fit_are_one_sentence(csv, capsys):
    """A cache of 16 tokens holds the last request alone; of 8 tokens none, which is refused."""
    result = answer(capsys, csv, "--eager", "--kv-tokens", "16", "--max-num-seqs", "4")
    assert result["rejected"] == 2 and any("can never fit" in note for note in result["notes"])
    small = ["simulate", csv, "--eager", "--kv-tokens", "8", "--block-size", "8", "--json"]
    assert main(small) == 2
    assert "None of the 3 requests fits" in capsys.readouterr().err


def test_a_loop_wider_than_the_engine_and_first_chunks(csv, capsys):
    """8 in flight on 2 seats is said; a first chunk is admitted where a whole prompt is not."""
    seats = ["--max-num-seqs", "2", "--max-num-batched-tokens", "4"]
    result = answer(capsys, csv, "--eager", "--concurrency", "8", *seats)
    assert any("keeps 6 requests waiting" in note for note in result["notes"])
    room = ["--kv-tokens", "112", "--block-size", "4"]
    whole = answer(capsys, csv, "--eager", *seats, *room)
    chunk = answer(capsys, csv, "--eager", *seats, *room, "--admit-first-chunk")
    # 26 of 28 blocks hold 100 + 3 tokens; only a first chunk of 4 or 8 still fits beside them
    assert (whole["peak_kv_tokens"], chunk["peak_kv_tokens"]) == (104, 112)
