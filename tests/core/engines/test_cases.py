"""The right values of LADDER, TRUNC, SPEC, CFG, LORA, DP and COUNT."""

from __future__ import annotations

import shlex

import pytest
import yaml

from core.capture_budget import captures
from core.data_parallel import RankRule
from core.engines import ENGINES
from core.engines._vllm_sizes import rounded, stepped
from core.engines.ascend import ceiling
from core.engines.check import check
from core.engines.cliffs import Admission, cliff
from core.engines.dispatch import dispatch_ranks, uncovered
from core.engines.export import export
from core.engines.memory import GIB, MIB
from core.engines.plan import GraphCount, GraphList, Mode, Plan
from core.errors import SettingError
from core.records import SizeUnit, StepHistogram
from tests.core.cases import case

VLLM, SGLANG, TRTLLM = (ENGINES[name] for name in ("vllm", "sglang", "trtllm"))


def plan_of(*sizes: int) -> Plan:
    return Plan(tuple(sizes), SizeUnit.TOKENS, (GraphList(Mode.FULL, tuple(sizes)),))


def test_ladder_01_vllm_to_512() -> None:
    """51 sizes; 272 follows 256."""
    given, expect = case("D-LADDER-01")
    settings = {"max_num_seqs": 256, "max_cudagraph_capture_size": given["max_capture"]}
    sizes = VLLM.default_sizes("0.33.0", settings).sizes
    assert len(sizes) == expect["count"]
    assert sizes[sizes.index(256) + 1] == expect["after_256"]
    assert sizes[-1] == expect["last"]


def test_ladder_02_vllm_from_max_num_seqs() -> None:
    """The ceiling is twice the widest decode step."""
    given, expect = case("D-LADDER-02")
    settings = {k: given[k] for k in ("max_num_seqs", "max_num_batched_tokens")}
    for version in ("0.13.0", "0.23.0", "0.33.0"):
        sizes = VLLM.default_sizes(version, settings).sizes
        assert list(sizes) == expect["sizes"]
        assert sizes[-1] == expect["ceiling"]


def test_ladder_03_sglang_to_512() -> None:
    """52 sizes, 12 among the first."""
    given, expect = case("D-LADDER-03")
    sizes = SGLANG.default_sizes("0.5.23", {"cuda_graph_max_bs": given["max_bs"]}).sizes
    assert len(sizes) == expect["count"]
    assert list(sizes[:8]) == expect["head"]


def test_ladder_04_sglang_with_speculation() -> None:
    """The hole between 32 and 40."""
    given, expect = case("D-LADDER-04")
    largest = given["max_bs"]
    settings = {
        "cuda_graph_max_bs": largest,
        "num_draft_tokens": 4,
        "max_running_requests": largest,
    }
    assert len(SGLANG.default_sizes("0.5.23", settings).sizes) == expect["count"]
    asked = [int(size) for size in expect["buckets"]]
    step = SGLANG.dispatch_sizes(asked, None, "0.5.23", settings)
    assert step.padded.tolist() == list(expect["buckets"].values())


def test_ladder_05_trtllm_by_64() -> None:
    """The maximum itself is added when the strides miss it."""
    given, expect = case("D-LADDER-05")
    for largest, count, tail in zip(
        given["max_batch"], expect["counts"], expect["tails"], strict=True
    ):
        settings = {"cuda_graph_max_batch_size": largest, "enable_padding": True}
        sizes = TRTLLM.default_sizes("main", settings).sizes
        assert (len(sizes), list(sizes[-3:])) == (count, tail)


def test_ladder_06_fastdeploy_saves_graphs() -> None:
    """27 graphs stand in for 256."""
    given, expect = case("D-LADDER-06")
    seqs = given["max_seqs"]
    padded = len(ENGINES["fastdeploy"].default_sizes("main", {"max_num_seqs": seqs}).sizes)
    assert padded == expect["padded"]
    assert (seqs, seqs - padded) == (expect["unpadded"], expect["saved"])


def test_trunc_01_maximum_off_the_grid() -> None:
    """257 becomes 256; one more graph covers 257 and only 257."""
    given, expect = case("D-TRUNC-01")
    settings = {"max_num_seqs": 260, "max_cudagraph_capture_size": given["max_capture"]}
    report = check(VLLM, "0.30.0", settings)
    assert report.sizes[-1] == expect["effective_max"]
    assert len(report.sizes) == expect["count_now"]
    assert report.plan is not None
    eager = [n for a, b in uncovered(report.plan, 260) for n in range(a, b + 1)]
    assert eager == expect["eager_batches"]
    step = VLLM.dispatch_sizes([250], None, "0.30.0", settings)
    assert step.padded.tolist() == [expect["bucket_250"]]
    finding = next(f for f in report.findings if f.id == "max-truncated")
    assert finding.affected == (257, 257)
    fixed = check(VLLM, "0.30.0", {"max_num_seqs": 260}, finding.fix)
    assert len(fixed.sizes) == expect["count_if_appended"]


def test_trunc_02_ascend_without_the_factor_two() -> None:
    """Full load is exactly the uncovered case."""
    given, expect = case("D-TRUNC-02")
    ascend = ENGINES["ascend"]
    for seqs, row in zip(given["max_num_seqs"], expect["rows"], strict=True):
        plan = ascend.plan(None, {"max_num_seqs": seqs})
        runs = uncovered(plan, seqs)
        assert plan.sizes[-1] == row["largest"]
        assert (list(runs[0]) if runs else None) == row["uncovered"]


def test_trunc_03_cost_of_the_cliff() -> None:
    """Three steps in ten eager at 7.5 times the time: 2.95 times slower."""
    given, expect = case("D-TRUNC-03")
    found = cliff(given["time_share_at_full"], given["graph_step_ms"], given["eager_factor"])
    assert found.with_ms == pytest.approx(expect["mean_ms_with_cliff"], abs=0.001)
    assert found.without_ms == expect["mean_ms_without"]
    assert found.slowdown == pytest.approx(expect["slowdown"], abs=0.001)
    with pytest.raises(SettingError):
        cliff(1.5, 8, 2)
    with pytest.raises(SettingError):
        cliff(0.5, 0, 2)


def test_trunc_04_admission_limit_above_the_graphs() -> None:
    """Limit, median and 95th percentile are all above the largest graph, and check says so."""
    given, expect = case("D-TRUNC-04")
    admission = Admission(
        *(given[k] for k in ("largest_graph", "max_running", "p50_running", "p95_running"))
    )
    for name in ("limit_covered", "median_covered", "p95_covered"):
        assert getattr(admission, name) is expect[name]
    assert admission.advice == expect["advice"]
    settings = {"cuda_graph_bs": [8, 16, 32], "max_running_requests": given["max_running"]}
    # half the steps up to 61, 95 in 100 up to 90
    steps = StepHistogram.from_mapping({61: 50, 90: 45, 100: 5})
    report = check(SGLANG, None, settings, histogram=steps)
    finding = next(f for f in report.findings if f.id == "p95-uncovered")
    assert finding.fix.lower() == expect["advice"] + "."
    assert Admission(90, 4096, 61, 90).advice == ""


def test_spec_01_verification_batch() -> None:
    """6 requests of 7 tokens need 42; the grid ends at 40."""
    given, expect = case("D-SPEC-01")
    settings = {
        "max_num_seqs": given["max_num_seqs"],
        "num_speculative_tokens": given["num_spec_tokens"],
        "max_cudagraph_capture_size": given["explicit_max"],
    }
    plan = VLLM.plan("0.33.0", settings)
    q = plan.tokens_per_request
    assert q == expect["query_len"]
    assert [q * n for n in range(1, given["max_num_seqs"] + 1)] == expect["needed"]
    assert list(plan.sizes) == expect["grid"]
    assert max(plan.sizes) == expect["effective_max"]
    assert plan.full_load == 42
    assert (uncovered(plan, 42) == ()) is expect["full_batch_covered"]
    ids = {f.id for f in check(VLLM, "0.33.0", settings).findings}
    assert {"max-truncated", "above-largest"} <= ids


def test_spec_02_widest_decode_step() -> None:
    """Before 0.13 the ceiling forgot the drafts: 64 tokens hold 3 of 32 requests."""
    given, expect = case("D-SPEC-02")
    settings = {
        "max_num_seqs": given["max_num_seqs"],
        "num_speculative_tokens": given["num_spec_tokens"],
    }
    plan = VLLM.plan("0.11.2", settings)
    assert plan.full_load == expect["tokens"]
    assert plan.configured is not None
    assert plan.configured[-1] == expect["default_ceiling"]
    runs = uncovered(plan, expect["tokens"])
    assert (runs == ()) is expect["covered"]
    assert runs[0][0] // plan.tokens_per_request - 1 == expect["requests_covered_by_default"]


def test_spec_03_double_ceiling() -> None:
    """vLLM's ceiling is twice vllm-ascend's."""
    given, expect = case("D-SPEC-03")
    seqs, drafts = given["max_num_seqs"], given["num_spec_tokens"]
    settings = {"max_num_seqs": seqs, "num_speculative_tokens": drafts}
    vllm = VLLM.default_sizes("0.26.0", settings).sizes
    ascend = ENGINES["ascend"].default_sizes(None, settings).sizes
    assert (vllm[-1], ascend[-1]) == (expect["with_2"], expect["without"])
    assert ceiling(seqs, 1 + drafts) == expect["without"]
    assert vllm[-1] / ascend[-1] == expect["ratio"]
    assert (len(vllm), len(ascend)) == (expect["count_with"], expect["count_without"])


def test_spec_04_every_second_count_pads() -> None:
    """Multiples of 8 are even multiples of 4; odd request counts pad by one phantom request."""
    given, expect = case("D-SPEC-04")
    q = given["query_len"]
    sizes = rounded(tuple(given["base"]), q)
    assert list(sizes) == expect["sizes"]
    assert [r for r in range(1, 13) if r * q not in sizes] == expect["inexact_R"]
    settings = {"max_num_seqs": 12, "num_speculative_tokens": q - 1}
    report = check(VLLM, "0.33.0", {**settings, "cudagraph_capture_sizes": given["base"]})
    finding = next(f for f in report.findings if f.id == "phantom-requests")
    assert "3..11/2" in finding.text
    fixed = check(VLLM, "0.33.0", settings, finding.fix)
    assert "phantom-requests" not in {f.id for f in fixed.findings}


def test_spec_05_extended_grid() -> None:
    """A grid to 512 requests of 17 tokens has 563 sizes."""
    given, expect = case("D-SPEC-05")
    assert given["max_num_seqs"] * given["query_len"] == given["ceiling"]
    assert len(stepped(given["ceiling"])) == expect["count"]


def test_spec_06_gain_of_the_missing_size() -> None:
    """Throughput 5.3 times, first token 31 times sooner: the same cliff, seen from both ends."""
    given, expect = case("D-SPEC-06")
    slow = 1000 / given["before_tok_s"]
    fast = 1000 / given["after_tok_s"]
    assert cliff(1.0, fast, slow / fast).slowdown == pytest.approx(expect["throughput_x"], abs=0.01)
    before, after = given["ttft_before_s"], given["ttft_after_s"]
    assert cliff(1.0, after, before / after).slowdown == pytest.approx(expect["ttft_x"], abs=0.01)


def test_cfg_01_lmdeploy_normalises() -> None:
    """Positive only, unique, sorted, nothing above the batch limit, and the limit itself."""
    given, expect = case("D-CFG-01")
    settings = {
        "cudagraph_capture_batch_sizes": given["requested"],
        "max_batch_size": given["max_batch"],
    }
    plan = ENGINES["lmdeploy"].plan(None, settings)
    dropped = {d.reason: list(d.sizes) for d in plan.dropped}
    assert list(plan.sizes) == expect["sizes"]
    assert dropped["larger than max_batch_size 128"] == expect["dropped_too_large"]
    assert dropped["not 1 or more"] == expect["rejected"]
    assert list(plan.added) == expect["added"]


def test_cfg_02_trtllm_conflict() -> None:
    """List and maximum disagree: refused, with three ways out."""
    given, expect = case("D-CFG-02")
    text = (
        f"cuda_graph_config:\n  batch_sizes: {given['batch_sizes']}\n"
        f"  max_batch_size: {given['max_batch_size']}\n"
    )
    report = check(TRTLLM, None, None, text)
    assert report.starts is expect["valid"]
    finding = report.findings[0]
    assert finding.id == "start-refused"
    for way in expect["fix_options"]:
        assert way in finding.text


def test_cfg_03_flags_for_one_set() -> None:
    """The same list for four engines, word for word as a shell splits it."""
    given, expect = case("D-CFG-03")
    sizes = given["sizes"]

    def words(text: str) -> list[str]:
        return shlex.split(text)

    assert words(export(VLLM, sizes).text) == words(expect["vllm"])
    assert words(export(SGLANG, sizes, "0.5.8").text) == words(expect["sglang"])
    assert words(export(ENGINES["tgi"], sizes).text) == words(expect["tgi"])
    assert yaml.safe_load(export(TRTLLM, sizes).text) == yaml.safe_load(expect["trtllm_yaml"])


def test_dp_01_one_busy_rank() -> None:
    """384 tokens on one of 8 ranks: every rank runs 384."""
    given, expect = case("D-DP-01")
    step = dispatch_ranks(plan_of(*given["sizes"]), given["tokens"])
    assert len(given["tokens"]) == given["dp"]
    assert step.bucket == expect["bucket"]
    assert (step.processed, step.useful) == (expect["processed"], expect["useful"])
    assert 100 * step.waste == pytest.approx(expect["waste_pct"], abs=0.01)


def test_dp_02_max_against_sum() -> None:
    """The sum rule runs more rows and needs larger graphs."""
    given, expect = case("D-DP-02")
    for rule in (RankRule.MAX, RankRule.SUM):
        step = dispatch_ranks(plan_of(*given["sizes"]), given["tokens"], rule)
        assert step.bucket == expect[rule.value]["bucket"]
        assert step.processed == expect[rule.value]["total_rows"]
        assert step.useful == expect["useful"]


def test_dp_03_one_request_on_eight_ranks() -> None:
    """Seven ranks run a row for nothing."""
    given, expect = case("D-DP-03")
    ranks = [given["global_batch"], *[0] * (given["dp"] - 1)]
    step = dispatch_ranks(plan_of(1, 2, 4), ranks)
    assert step.processed == expect["rows"]
    assert 100 * step.waste == expect["waste_pct"]


def test_lora_01_adapters_double_the_keys() -> None:
    """51 sizes with and without adapters are 102 graphs; memory grows less."""
    given, expect = case("D-LORA-01")
    settings = {"max_num_seqs": 256, "cudagraph_mode": "PIECEWISE", "enable_lora": True}
    plan = VLLM.plan("0.33.0", settings)
    assert len(plan.sizes) == given["sizes"]
    assert plan.counts[0].variants == given["variants"]
    assert plan.graphs == expect["graphs"]
    extra = (given["mem_after_GiB"] - given["mem_before_GiB"]) * GIB
    assert extra / GIB == pytest.approx(expect["extra_GiB"], abs=0.001)
    assert 100 * extra / (given["mem_before_GiB"] * GIB) == pytest.approx(
        expect["extra_pct"], abs=0.1
    )
    report = check(VLLM, "0.33.0", settings)
    assert "graphs-multiplied" in {f.id for f in report.findings}


def test_lora_02_estimate_is_linear_and_says_so() -> None:
    """20 sizes for 5 adapter counts: 100 graphs, 14 s, 600 MiB, a straight-line estimate."""
    given, expect = case("D-LORA-02")
    cases = len(given["adapter_counts"])
    found = captures(
        given["sizes"],
        variants=cases,
        seconds_each=given["seconds_per_graph"],
        bytes_each=given["MiB_per_graph"] * MIB,
    )
    assert GraphCount("piecewise", given["sizes"], cases).graphs == found.graphs
    assert found.graphs == expect["graphs"]
    assert found.seconds == pytest.approx(expect["seconds"])
    assert found.bytes == expect["MiB"] * MIB
    assert type(found).__name__ == "CaptureEstimate"


def test_count_01_objects_of_piecewise_graphs() -> None:
    """9 piecewise sizes of 37 pieces and 5 full ones: 14 keys, 338 objects."""
    given, expect = case("D-COUNT-01")
    counts = (
        GraphCount("piecewise", given["piecewise_sizes"]),
        GraphCount("full", given["full_sizes"]),
    )
    plan = Plan((), SizeUnit.TOKENS, (), counts=counts)
    assert plan.graphs == expect["keys"]
    assert plan.objects(given["layers"]) == expect["objects"]
