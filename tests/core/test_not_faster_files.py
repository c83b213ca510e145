"""Graphs are on, but nothing got faster: told from real files, and by right values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.cost.family import family_of
from core.errors import ProjectError
from core.not_faster import Group, Verdict, why_not_faster
from core.not_faster.gather import gather, read_part
from core.padding import padding_report
from core.profiles import comparison_profiles, shipped_profiles
from core.records import (
    Origin,
    SizeUnit,
    StepHistogram,
)
from core.step_cost import cost_from_profile
from tests.conftest import DATA
from tests.core.cases import case

EVERY = {**shipped_profiles(), **comparison_profiles()}


def part(folder: str, name: str):
    return read_part((DATA / folder / name).read_bytes(), name)


def judged(*parts, profile_name: str | None = None, **chosen):
    family = cost = None
    if profile_name is not None:
        family = family_of(EVERY[profile_name], EVERY.values())
        cost = cost_from_profile(family.profile)
    return why_not_faster(gather(parts, family=family, cost=cost, **chosen))


def test_a_real_eager_log():
    """vLLM started with --enforce-eager says it itself; the way out is the engine's own flag."""
    found = judged(part("engine_logs", "vllm-0.23-h200-eager.log"))
    first = found.groups[0]
    assert (first.group, first.verdict) == (Group.REPLAY, Verdict.CAUSE)
    assert "enforce_eager=True" in found.sentence
    assert first.todo == ("Leave out --enforce-eager and a cudagraph_mode of NONE.",)


def test_a_real_log_without_steps_cannot_tell():
    """51 sizes are captured and 0.59 of 103.22 GiB taken; how steps ran is not in it."""
    found = judged(part("engine_logs", "vllm-0.23-h200-default.log"))
    assert found.sentence.startswith("It cannot be told yet. Missing: the steps")
    assert found.of(Group.REPLAY).verdict is Verdict.UNKNOWN
    boundary = found.of(Group.BOUNDARY)
    assert boundary.verdict is Verdict.NOT
    assert boundary.evidence[0].text == (
        "The graphs take 0.59 GiB, 0.57 % of what the KV cache could have."
    )


def test_two_real_runs_of_one_engine():
    """With and without graphs, measured in the engine: the gain is what its own tables say, at
    each step's size, times what the run held; without graphs 1 and 160 requests take alike."""
    graphs = part("engine_runs", "vllm-0.23-h200-default.json.gz")
    eager = part("engine_runs", "vllm-0.23-h200-eager.json.gz")
    found = judged(eager, graphs)  # whichever is given first
    assert found.helps and found.split is not None
    assert graphs.facts is not None and eager.facts is not None and graphs.reading is not None
    steps, fast, slow = graphs.reading.steps, graphs.facts.step_us, eager.facts.step_us
    assert steps is not None and fast is not None and slow is not None
    captured = {n: us for n, us in fast.items() if n in (graphs.facts.captured or ())}
    buckets = padding_report(steps, graphs.facts.captured or ()).bucket_by_size

    def mean(table: dict[int, float], sizes) -> float:
        xs = sorted(table)
        # beyond the largest measured batch the last slope goes on
        ys = [table[x] for x in xs]
        slope = (ys[-1] - ys[-2]) / (xs[-1] - xs[-2])
        values = np.interp(sizes, xs, ys) + max(0, slope) * np.maximum(0, sizes - xs[-1])
        return float(values @ steps.steps) / steps.total_steps

    at_captured = {n: float(np.interp(n, sorted(slow), [slow[k] for k in sorted(slow)]))
                   for n in captured}  # fmt: skip
    gain = mean(at_captured, steps.sizes) - mean(captured, buckets)
    assert found.split.gain_us == pytest.approx(gain, rel=1e-6)
    assert 5_000 < gain < 7_000  # 12.9 against 6.0 ms at one request
    host = found.of(Group.HOST)
    assert any("flat: the host sets the pace" in e.text for e in host.evidence)
    assert found.of(Group.REPLAY).verdict is Verdict.NOT


def test_the_engines_own_steps_beside_a_profile():
    """The run's steps take some 2 ms longer than the profile's replay: told, and estimated."""
    found = judged(
        part("engine_runs", "vllm-0.23-h200-default.json.gz"),
        part("engine_logs", "vllm-0.23-h200-default.log"),
        profile_name="h200-llama-8b",
    )
    host = found.of(Group.HOST)
    assert found.helps and host.verdict is Verdict.PART
    assert host.lost_us is not None and 1_000 < host.lost_us < 3_000
    assert host.evidence[-1].origin is Origin.ESTIMATED
    assert found.of(Group.BOUNDARY).verdict is Verdict.NOT


def test_a_real_profile_at_large_batches():
    """H200, 8B, 512 tokens: at 300 requests and more the card is the limit; on steps of 2 and 3 the
    same graphs save half of the step."""
    large = StepHistogram.from_mapping({304: 3, 400: 2})
    found = judged(profile_name="h200-llama-8b", steps=large, sizes=(304, 400))
    assert not found.helps and "The card is the limit" in found.sentence
    small = StepHistogram.from_mapping({2: 10, 3: 20})
    found = judged(profile_name="h200-llama-8b", steps=small, sizes=(2, 4))
    assert found.helps and found.split is not None
    assert found.split.gain_us / found.split.mean("eager") == pytest.approx(0.51, abs=0.02)


def test_a_profile_alone_is_judged_by_its_own_sizes():
    """Without traffic each measured size counts once, and the notes say so."""
    name = "h200-llama-8b-piecewise"
    found = judged(profile_name=name)
    assert found.split is not None and found.split.sizes.tolist() == list(EVERY[name].spec.sizes)
    assert "each measured size counts once" in found.notes[0]
    assert found.of(Group.BOUNDARY).lost_us == pytest.approx(
        found.split.mean("copy") + found.split.mean("pieces")
    )
    assert found.split.mean("pieces") > 100  # 33 graphs a step instead of one


def test_a_log_of_sampled_steps():
    """SGLang's decode lines: 139 of 184 eager, counted from a sample and called estimated."""
    found = judged(part("traces", "sglang_decode.log"))
    first = found.groups[0]
    assert first.verdict is Verdict.CAUSE and found.sentence.startswith("75.5 % of the steps")
    assert first.evidence[0].origin is Origin.ESTIMATED
    assert any("which sizes are captured" in words for words in first.missing)
    metrics = judged(part("traces", "prom_sglang_metrics.txt"))
    assert metrics.of(Group.REPLAY).verdict is Verdict.UNKNOWN


def test_a_log_with_tables():
    """vLLM's tables: every step on a graph, 9,579 of 74,291 slots padded."""
    found = judged(part("traces", "vllm_cudagraph_stats.log"), profile_name="h200-qwen-0.5b")
    assert found.helps and found.of(Group.REPLAY).verdict is Verdict.NOT
    padding = found.of(Group.KERNELS).evidence[0]
    assert padding.text == "12.9 % of the replayed slots are padding."
    assert round(100 * 9579 / (9579 + 64712), 1) == 12.9


def test_a_histogram_without_a_step():
    """Nothing to judge by, which is said; the log's own words still count."""
    empty = StepHistogram.from_mapping({})
    log = part("engine_logs", "vllm-0.23-h200-eager.log")
    known = gather([log], steps=empty)
    assert known.steps is None and "holds no step" in known.notes[0]
    assert why_not_faster(known).groups[0].verdict is Verdict.CAUSE


def test_a_session_file_is_no_profile():
    """JSON that holds profiles deeper down is judged by the readers, not taken for a profile."""
    data = b'{"format": 1, "profiles": {"a": {"spec": {}, "rows": []}}}'
    with pytest.raises(ProjectError) as caught:
        read_part(data, "work.bucketwise.json")
    assert "unknown field" not in str(caught.value)


def test_scheduling_that_waits_is_named():
    """A whole log says that scheduling is synchronous: part of the boundary, without a number."""
    found = judged(part("traces", "vllm-0.23-default.log"))
    texts = [e.text for e in found.of(Group.BOUNDARY).evidence]
    assert any("schedules synchronously" in text for text in texts)


def test_steps_with_prompts_are_no_decode_steps():
    """Tokens beyond the widest decode step hold prompts: 5 of 15 steps are left out and named."""
    log = (DATA / "engine_logs" / "vllm-0.23-h200-default.log").read_bytes()
    stamp = "INFO 11-30 04:40:00 [cuda_graph.py:123] "
    rows = ["| Unpadded Tokens | Padded Tokens | Num Paddings | Runtime Mode | Count |"]
    rows += ["| 4 | 4 | 0 | FULL | 10 |", "| 2000 | 2000 | 0 | NONE | 5 |"]
    log += "".join(f"{stamp}{row}\n" for row in rows).encode()
    known = gather([read_part(log, "vllm.log")])
    assert known.steps is not None and known.steps.sizes.tolist() == [4]
    assert known.notes[0].startswith("5 steps of more than 256 tokens hold prompts")
    assert why_not_faster(known).of(Group.REPLAY).verdict is Verdict.NOT


@pytest.mark.parametrize("number", [*range(1, 11), 12])
def test_a_failed_capture_is_the_cause(number):
    """Texts of the collection: a capture that failed, or that shows no root cause of its own."""
    given_, _ = case(f"D-DIAG-{number:02d}")
    text = f"{given_['text']}\n{given_.get('context', '')}"
    found = judged(read_part(text.encode(), "error.txt")).of(Group.REPLAY)
    consequence_or_sign = number in (4, 9)
    assert (found.verdict is Verdict.CAUSE) != consequence_or_sign
    if not consequence_or_sign:
        assert found.todo and found.evidence


def test_an_error_outside_of_a_capture_is_not_blamed_on_graphs():
    """No memory left to initialise a library: nothing is told of graphs."""
    given_, _ = case("D-DIAG-11")
    text = f"{given_['text']}\n{given_['context']}"
    assert judged(read_part(text.encode(), "error.txt")).groups[0].verdict is Verdict.UNKNOWN


def test_a_capture_that_ran_out_of_memory():
    """2 of 52 captured: this is it."""
    given_, expect = case("D-LOG-06")
    found = judged(read_part(given_["log"].encode(), "sglang.log"))
    first = found.groups[0]
    assert first.verdict is Verdict.CAUSE
    says = f"Capturing stopped after {expect['done']} of {expect['total']}: memory ran out."
    assert says in [e.text for e in first.evidence]


def test_half_of_the_lines_eager():
    """Two decode lines, one on a graph: half, and a sample."""
    given_, expect = case("D-LOG-03")
    found = judged(read_part(given_["log"].encode(), "sglang.log"))
    assert found.sentence == "50.0 % of the steps replay no graph."
    assert expect["graph_share_pct"] == 50.0


def test_graph_memory_of_a_log():
    """0.77 GiB beside 21.70 of KV cache: 3.4 %, not felt."""
    given_, expect = case("D-LOG-01")
    item = judged(read_part(given_["log"].encode(), "vllm.log")).of(Group.BOUNDARY)
    share = expect["capture_GiB"] / (expect["capture_GiB"] + expect["kv_GiB"])
    assert item.verdict is Verdict.NOT
    assert f"0.77 GiB, {100 * share:.1f} %" in item.evidence[0].text


def test_steps_wider_than_the_decode_curve_are_named():
    """The 8B profile ends at 512 rows: 2,048 tokens are no such row, and the answer says so; steps
    that only decode, or are as narrow, need no such word."""
    cost = cost_from_profile(shipped_profiles()["h200-llama-8b"])
    wide = StepHistogram.from_mapping({8: 9, 2048: 1}, unit=SizeUnit.TOKENS)
    said = "Steps of up to 2,048 tokens are weighed as rows of decode steps, known up to 512"
    assert any(note.startswith(said) for note in gather([], steps=wide, cost=cost).notes)
    narrow = StepHistogram.from_mapping({8: 9, 512: 1}, unit=SizeUnit.TOKENS)
    for steps in (narrow, replace(wide, decode_only=True)):
        assert not any("known up to" in note for note in gather([], steps=steps, cost=cost).notes)


def test_sparse_sizes_hurt():
    """Steps of 2, 29 and 100 on 1, 88, 192 ...: the third group, in microseconds where known."""
    given_, expect = case("D-STREAM-03")
    steps = StepHistogram.from_mapping(dict.fromkeys(given_["batches"], 1))
    found = judged(profile_name="h200-llama-8b", steps=steps, sizes=given_["sizes"])
    item = found.of(Group.KERNELS)
    slots = sum(row["bucket"] for row in expect["rows"])
    waste = 100 * (slots - sum(given_["batches"])) / slots
    assert item.evidence[0].text == f"{waste:.1f} % of the replayed slots are padding."
    assert item.verdict is Verdict.PART and item.lost_us and item.lost_us > 500
