"""waste, tune, break-even and kv on the command line: one JSON object, or one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from core.__main__ import main
from tests.conftest import ROOT
from tests.core.cases import case


@pytest.fixture
def ask(capsys):
    """Run a command with --json; returns its answer."""

    def run(*argv: str) -> dict:
        assert main([*argv, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def histogram_file(tmp_path):
    """A histogram as JSON {size: steps}."""

    def write(data, name: str = "steps.json") -> str:
        path = tmp_path / name
        path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
        return str(path)

    return write


def test_a_reader_that_leaves_is_no_error():
    """As with `| head`: nothing is said on stderr, and the exit code is 1."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "core", "waste", "--sizes", "1,2", "--batches", "1"]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


def test_waste_by_hand(ask):
    """4/21 and 1/18, as in the definitions."""
    found = ask("waste", "--sizes", "1,2,4,8", "--batches", "1,3,5,8")
    assert (found["useful"], found["slots"], found["padded"]) == (17, 21, 4)
    assert found["waste_pct"] == pytest.approx(19.0476, abs=1e-3)
    assert found["hits"] == {"1": 1, "4": 1, "8": 2}
    assert found["unused"] == [2]
    found = ask("waste", "--sizes", "1,2,4,5,8", "--batches", "1,3,5,8")
    assert found["waste_pct"] == pytest.approx(5.5556, abs=1e-3)


def test_waste_of_a_file(ask, histogram_file):
    """A histogram file gives the numbers of the case, eager steps among them."""
    given_, expect = case("D-TRACE-01")
    file = histogram_file(given_["histogram"])
    found = ask("waste", "--sizes", ",".join(map(str, given_["sizes"])), "--histogram", file)
    assert found["waste_pct"] == pytest.approx(expect["waste_pct"], abs=0.01)
    assert found["coverage_pct"] == expect["coverage_pct"]
    assert found["eager_steps"] == expect["eager_steps"]
    assert found["hits"] == expect["hits"]
    csv = "batch,count\n" + "".join(f"{a},{b}\n" for a, b in given_["histogram"].items())
    again = ask("waste", "--sizes", "1,2,4,8,16", "--histogram", histogram_file(csv, "h.csv"))
    assert again["waste_pct"] == found["waste_pct"]


def test_break_even(ask):
    """600/2: even at 300, saving from 301; never is null."""
    found = ask("break-even", "--capture-us", "600", "--eager-us", "12", "--graph-us", "10")
    assert found == {"net_us": 2, "even_at": 300, "saves_from": 301, "pays_back_s": None}
    never = ask("break-even", "--capture-us", "600", "--eager-us", "10", "--graph-us", "12")
    assert (never["even_at"], never["saves_from"]) == (None, None)
    given_, expect = case("D-BE-01")
    found = ask(
        "break-even",
        *("--capture-us", str(given_["capture_s"] * 1e6)),
        *("--eager-us", str(given_["eager_ms"] * 1e3), "--graph-us", str(given_["graph_ms"] * 1e3)),
        *("--steps-per-hour", str(given_["steps_per_s"] * 3600)),
    )
    assert (found["even_at"], found["pays_back_s"]) == (expect["steps"], expect["seconds"])


@pytest.mark.parametrize(("graphs", "requests"), [(4, 24), (8, 16)])
def test_kv(ask, graphs, requests):
    """8 GiB free, 0.5 GiB a graph, 0.25 GiB a request."""
    found = ask(
        *("kv", "--free-gib", "8", "--graph-gib", "0.5", "--graphs", str(graphs)),
        *("--kv-per-request-gib", "0.25"),
    )
    assert (found["requests"], found["graph_gib"]) == (requests, graphs / 2)


def test_graphs_that_do_not_fit_are_said(ask, capsys):
    """8 graphs of 0.5 GiB are 4 GiB of 2 GiB free: 2 are missing. Of 4 GiB free they take all."""
    asked = ("--graph-gib", "0.5", "--graphs", "8", "--kv-per-request-gib", "0.25")
    sentence = "Graphs of 4 GiB do not fit in 2 GiB free: 2 GiB are missing."
    found = ask("kv", "--free-gib", "2", *asked)
    assert found["requests"] == 0 and found["warnings"][0].startswith(sentence)
    assert ask("kv", "--free-gib", "4", *asked)["warnings"] == []
    assert main(["kv", "--free-gib", "2", *asked]) == 0
    assert f"warning: {sentence}" in capsys.readouterr().out


def test_kv_of_a_model(ask, histogram_file):
    """A config.json gives KV bytes a token; blocks and tokens follow."""
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 14336,
        "vocab_size": 128256,
    }
    file = histogram_file(config, "config.json")
    found = ask("kv", "--free-gib", "4", "--graph-gib", "2", "--model", file)
    # 2 GiB / 131,072 bytes = 16,384 tokens = 1,024 blocks of 16
    assert (found["kv_bytes_per_token"], found["tokens"], found["blocks"]) == (131072, 16384, 1024)
    assert found["requests"] is None
    found = ask(
        *("kv", "--free-gib", "4", "--graph-gib", "2", "--model", file),
        *("--tokens-per-request", "1000"),
    )
    assert found["requests"] == 16  # 16,384 / 1,000


def test_kv_of_a_card(ask, histogram_file):
    """What a card has left beside weights and reserve is free for graphs and KV cache."""
    from tests.core.test_memory_model import CONFIGS

    file = histogram_file(CONFIGS["llama-3.1-8b"]["config"], "config.json")
    found = ask("kv", "--card", "h100 sxm", "--model", file, "--graph-gib", "1")
    # 81,559 MiB x 0.9 - 16,059,990,016 bytes - 4 GiB
    assert found["free_gib"] == pytest.approx(81_559 / 1024 * 0.9 - 16_059_990_016 / 2**30 - 4)
    assert found["weight_gib"] == pytest.approx(14.957, abs=1e-3)
    assert found["kv_gib"] == found["free_gib"] - 1


def test_tune(ask, histogram_file):
    """The best four sizes of the case, the whole frontier, and every engine beside it."""
    given_, expect = case("D-OPT-01")
    file = histogram_file(given_["histogram"])
    found = ask("tune", "--histogram", file, "--max-graphs", "4")
    assert found["sizes"] == expect["sizes"]
    assert (found["cost"], found["unit"]) == (expect["pad_rows"], "padded slots")
    curve = {str(point["k"]): point["cost"] for point in found["frontier"]}
    wanted = case("D-OPT-02")[1]["pad_rows"]
    assert curve == {k: wanted[k] for k in "1234"}
    assert found["baselines"]["vllm"]["waste_pct"] > 0
    assert {"sizes", "waste_pct", "cost"} <= set(found["baselines"]["sglang"])


def test_tune_under_a_memory_limit_a_price_and_multiples(ask, histogram_file):
    """A price a graph, a memory limit, multiples and forced sizes each change the set."""
    file = histogram_file(case("D-OPT-01")[0]["histogram"])
    assert len(ask("tune", "--histogram", file)["sizes"]) == 8
    # the 5th to 8th graph save 315, 135, 110 and 90 slots, the 4th 675
    assert len(ask("tune", "--histogram", file, "--price", "320")["sizes"]) == 4
    tight = ask("tune", "--histogram", file, "--memory-mib", "250")
    assert len(tight["sizes"]) < 8
    assert max(p["memory_mib"] for p in tight["frontier"] if p["sizes"] == tight["sizes"]) <= 250
    fours = ask("tune", "--histogram", file, "--multiple-of", "4", "--include", "1")["sizes"]
    assert 1 in fours and all(size % 4 == 0 for size in fours if size != 1)


def test_tune_with_assumed_times(ask, histogram_file):
    """With step times the cost is in us, and says where the times come from."""
    file = histogram_file({"1": 100, "8": 50})
    found = ask("tune", "--histogram", file, "--profile", "assumed")
    assert found["unit"] == "us"
    # 100 x (5800 + 44) + 50 x (5800 + 352)
    assert found["cost"] == pytest.approx(100 * 5844 + 50 * 6152)
    assert found["cost_source"].startswith("assumed")


def test_tune_prices_prompt_lengths_by_their_tokens(ask, histogram_file):
    """Assumed or measured, a prompt is no batch of so many requests; memory says what is taken."""
    prompts = ("--histogram", histogram_file("length,count\n1000,1\n", "prompts.csv"))
    prompts = (*prompts, "--histogram-of", "prompt")
    found = ask("tune", *prompts, "--profile", "assumed")
    # a decode step of one takes 5,844 us; 3/4 and 1/4 of it, 1,000/305 of it for the tokens, and
    # 500,500/3,700,000 of it for their attention: 25,795 us. 1,000 rows would take 49,800 us.
    assert found["size_unit"] == "sequence tokens"
    assert found["cost"] == pytest.approx(5844 * (1 + 1000 / 305 + 500_500 / 3.7e6), rel=3e-4)
    assert found["cost_source"].startswith("one prompt a step, replay 5,844 µs + 19.2 µs a token")
    assert "a graph of so many tokens" in found["memory_source"]
    assert found["study"] is None and "no decode steps" in found["advice"][0]
    measured = ask("tune", *prompts, "--profile", "h200-llama-8b")
    assert measured["cost"] == pytest.approx(30_000, rel=0.03)  # 1,024 tokens: 30,262 us
    assert "measured on NVIDIA H200" in measured["cost_source"]
    # Without a profile slots are counted.
    slots = ask("tune", *prompts)
    assert slots["unit"] == "padded slots" and slots["study"] is None


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["waste", "--sizes", "0", "--batches", "1"], "Capture size 0"),
        (["waste", "--sizes", "1", "--batches", "0"], "--batches holds 0"),
        (["waste", "--sizes", "1"], "either --batches"),
        (["waste", "--sizes", "1", "--histogram", "/no/such/file"], "/no/such/file"),
        (["tune", "--batches", "1,300", "--candidates", "1,256"], "largest allowed is 256"),
        (["tune", "--batches", "1", "--max-graphs", "0"], "must be 1 or more"),
        (["tune", "--batches", "1", "--memory-mib", "1"], "No set fits into 1.0 MiB"),
        (["tune", "--batches", "1", "--profile", "nonesuch"], "no known profile"),
        (["kv", "--free-gib", "8"], "--kv-per-request-gib"),
        (["kv", "--kv-per-request-gib", "1"], "either --free-gib"),
        (["kv", "--card", "H200"], "only with --model"),
        (["kv", "--free-gib", "8", "--kv-per-request-gib", "0"], "must be above 0"),
        (["kv", "--free-gib", "-8", "--kv-per-request-gib", "1"], "below 0"),
        (
            ["break-even", "--capture-us", "-1", "--eager-us", "1", "--graph-us", "1"],
            "capture time is -1.0 µs",
        ),
    ],
)
def test_bad_input_is_one_sentence(capsys, argv, words):
    """Exit 2, one line on stderr that names the matter, nothing on stdout, no traceback."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"1": 99999999999999999999}', "99999999999999999999 steps of size 1"),
        ('{"0": 4}', "steps of size 0"),
        ('{"1": 2.5}', "2.5 steps of size 1"),
        ("{}", "holds no step"),
        ("batch,count\n1,0\n", "no row can be used"),
        ("", "empty"),
    ],
)
def test_histograms_that_are_none(capsys, histogram_file, text, words):
    """Counts are whole and of a size that an engine could have; an empty file is said to be so."""
    assert main(["tune", "--histogram", histogram_file(text, "h.txt")]) == 2
    assert words in capsys.readouterr().err


def test_counts_near_the_end_of_64_bits(ask, histogram_file):
    """Two sizes of 2**62 - 1 steps: their sum and their slots do not wrap."""
    many = 2**62 - 1
    found = ask("waste", "--sizes", "4", "--histogram", histogram_file({"1": many, "3": many}))
    assert (found["steps"], found["slots"], found["padded"]) == (2 * many, 8 * many, 4 * many)


@pytest.mark.parametrize("sizes", ["1,+-5", "1,\u00b2", "1,99999999999999999999", "1,2.5"])
def test_lists_that_are_none(capsys, sizes):
    """argparse's own refusal: exit 2 and one sentence that quotes the item."""
    with pytest.raises(SystemExit) as stop:
        main(["waste", "--sizes", sizes, "--batches", "1"])
    assert stop.value.code == 2
    assert sizes[2:] in capsys.readouterr().err


def test_words_for_people(capsys):
    """Without --json each command answers in words."""
    assert main(["waste", "--sizes", "1,2,4,8", "--batches", "1,3,5,8"]) == 0
    assert "waste 19.05 % of the replayed slots" in capsys.readouterr().out
    assert main(["break-even", "--capture-us", "600", "--eager-us", "1", "--graph-us", "3"]) == 0
    assert capsys.readouterr().out.startswith("never: a replay is slower by 2 µs")
    assert main(["break-even", "--capture-us", "600", "--eager-us", "10", "--graph-us", "10"]) == 0
    assert capsys.readouterr().out.strip() == "never: a replay takes as long as an eager step"
    assert main(["tune", "--batches", "1,3,5,8"]) == 0
    said = capsys.readouterr().out
    assert "Beside the engine's own" in said and "simulated with its graphs" in said
