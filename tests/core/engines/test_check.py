"""check: flags, JSON and YAML in, what would really happen out."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.check import CheckReport, check
from core.engines.plan import Finding, Severity
from core.errors import FileContentError, SettingError
from core.records import SizeUnit, StepHistogram

VLLM, SGLANG, TRTLLM = (ENGINES[name] for name in ("vllm", "sglang", "trtllm"))


def found(report: CheckReport, name: str) -> Finding:
    """The finding of that id, or a failure that lists those there are."""
    by_id = {finding.id: finding for finding in report.findings}
    assert name in by_id, sorted(by_id)
    return by_id[name]


def ids(report: CheckReport) -> set[str]:
    return {finding.id for finding in report.findings}


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --cudagraph-capture-sizes 1 2 4 8 --max-num-seqs 8",
        "vllm serve m --cudagraph_capture_sizes 1 2 4 8 --max-num-seqs=8",
        "vllm serve m \\\n  --max-num-seqs 8 \\\n  --compilation-config "
        "'{\"cudagraph_capture_sizes\": [1, 2, 4, 8]}'",
        "-cc.cudagraph_capture_sizes='[1,2,4,8]' --max-num-seqs 8",
        "-O3 --max-num-seqs 8 -O.cudagraph_capture_sizes=[1,2,4,8]",
        '{"max_num_seqs": 8, "compilation_config": {"cudagraph_capture_sizes": [1, 2, 4, 8]}}',
        "max-num-seqs: 8\ncudagraph-capture-sizes: [1, 2, 4, 8]\n",
        "max-num-seqs: 8\ncompilation-config:\n  cudagraph_capture_sizes: [1, 2, 4, 8]\n",
        "max-num-seqs: 8\ncompilation-config: '{\"cudagraph_capture_sizes\": [1, 2, 4, 8]}'\n",
    ],
)
def test_every_way_to_write_one_list(text: str) -> None:
    """Flags, short flags, JSON and YAML mean the same."""
    report = check(VLLM, "0.33.0", None, text)
    assert report.sizes == (1, 2, 4, 8)
    assert report.plan is not None and report.plan.full_load == 8
    assert report.starts


def test_what_is_not_read_is_named() -> None:
    """Flags that change no graph are listed; those that look as if they did are findings."""
    report = check(VLLM, None, None, "vllm serve m --port 8000 --cudagraph-capture-size 4")
    assert report.ignored == ("--port",)
    finding = found(report, "unknown-graph-option")
    assert "--cudagraph-capture-size " in finding.text
    assert "cudagraph_capture_sizes" in finding.fix


def test_a_slip_and_a_text_without_settings_are_findings() -> None:
    """A flag one letter off is named with the right one; a text that says nothing is no silence."""
    slip = found(check(VLLM, None, None, "--max-num-sqs 64"), "misspelt-option")
    assert "--max-num-sqs " in slip.text and "max_num_seqs" in slip.fix
    assert "vLLM" in found(check(VLLM, None, None, "complete garbage"), "nothing-read").text
    plain = check(VLLM, None, None, "vllm serve m --port 8000")
    assert not {"nothing-read", "misspelt-option"} & {finding.id for finding in plain.findings}


def test_vllm_truncation_and_cliff() -> None:
    """257 is lost, and decode steps above 256 run eager at full load."""
    steps = StepHistogram.from_mapping({100: 60, 257: 30, 300: 10})
    text = "--max-num-seqs 300 --max-cudagraph-capture-size 257"
    report = check(VLLM, "0.33.0", None, text, steps)
    truncated = found(report, "max-truncated")
    assert (truncated.affected, truncated.share) == ((257, 257), 0.3)
    cliff = found(report, "above-largest")
    assert cliff.affected == (257, 300)
    assert cliff.load == "257 to 300 running requests"
    assert cliff.share == pytest.approx(0.4)
    assert "[1,2,4,8," in cliff.fix and cliff.fix.endswith("256,300]}'")
    assert "at most 256 requests" in cliff.text


def test_fix_removes_the_cliff() -> None:
    """The fix, pasted, covers full load, with no gap above a quarter."""
    settings = {"max_num_seqs": 1000}
    report = check(VLLM, "0.33.0", settings, "--cudagraph-capture-sizes 1 2 32")
    fixed = check(VLLM, "0.33.0", settings, found(report, "above-largest").fix)
    assert "above-largest" not in ids(fixed)
    added = [n for n in fixed.sizes if n >= 32]
    assert all(b <= a * 1.25 + 8 for a, b in zip(added, added[1:], strict=False))


def test_sizes_dropped_without_a_word() -> None:
    """Entries above max_num_batched_tokens go; the finding names them."""
    report = check(VLLM, None, {"max_num_batched_tokens": 64}, "--cudagraph-capture-sizes 8 128")
    finding = found(report, "sizes-dropped")
    assert finding.text.startswith("128 will not be captured")
    assert finding.affected == (128, 128)


def test_sizes_without_use() -> None:
    """vLLM's sizes above full load serve mixed steps; LMDeploy-like ones serve nothing."""
    report = check(VLLM, None, {"max_num_seqs": 8})
    assert "16: no decode step is that wide" in found(report, "mixed-only").text
    text = "--cuda-graph-bs-decode 1 2 4 8 --max-running-requests 4"
    report = check(SGLANG, None, None, text)
    assert "never-used" not in ids(report)  # dropped instead
    assert found(report, "sizes-dropped").affected == (8, 8)
    settings = {"cudagraph_mode": "FULL_DECODE_ONLY", "max_num_seqs": 8}
    never = found(check(VLLM, None, settings, "--cudagraph-capture-sizes 8 16"), "never-used")
    assert never.severity is Severity.WARNING
    assert never.fix.endswith("[8]}'")


def test_speculation_multiples_missing() -> None:
    """Before 0.11.1 full decode graphs off the multiples are an error, with the exact list."""
    settings = {"num_speculative_tokens": 2, "max_num_seqs": 8}
    report = check(VLLM, "0.11.0", settings, "--cuda-graph-sizes 4 8 24")
    finding = found(report, "not-a-draft-multiple")
    assert finding.severity is Severity.ERROR
    assert finding.fix.endswith("[6,9,24]}'")
    fixed = check(VLLM, "0.11.0", settings, finding.fix)
    assert "not-a-draft-multiple" not in ids(fixed)


def test_a_models_name_decides_the_list() -> None:
    """gpt-oss: 3 + 31 + 49 = 83 sizes to 1024, whatever the number of requests; 5 for others."""
    named = check(VLLM, "0.33.0", None, "--model openai/gpt-oss-120b --max-num-seqs 8")
    assert (len(named.sizes), named.sizes[-1]) == (83, 1024)
    other = check(VLLM, "0.33.0", None, "--model meta-llama/Llama-3.1-8B --max-num-seqs 8")
    assert other.sizes == (1, 2, 4, 8, 16)


def test_drafts_round_a_list_of_your_own() -> None:
    """q = 6, first runner: 1, 2, 4 -> 6, 8 -> 12, 16 -> 18, 32 -> 36, 40 -> 42; 24 and 48 stay."""
    sizes = "1,2,4,8,16,24,32,40,48"
    settings = {"max_num_seqs": 8, "num_speculative_tokens": 5, "cudagraph_capture_sizes": sizes}
    report = check(VLLM, "0.19.1", settings, None)
    assert report.sizes == (6, 12, 18, 24, 36, 42, 48)


def test_advice_for_a_maximum_counts_whole_requests() -> None:
    """q = 4, maximum 6: the advice is 8, since 6 would give no decode graph beyond 4."""
    settings = {"max_num_seqs": 6, "num_speculative_tokens": 3}
    report = check(VLLM, "0.26.0", {**settings, "max_cudagraph_capture_size": 6}, None)
    fix = found(report, "max-truncated").fix
    assert fix.endswith("[1,2,4,8]}'")
    plan = check(VLLM, "0.26.0", settings, fix).plan
    assert plan is not None
    assert plan.decode[0].sizes == (4, 8)


def test_decode_without_a_full_graph() -> None:
    """q = 3, list to 16: 15 tokens would need a full graph of 18, so they replay piecewise."""
    settings = {"num_speculative_tokens": 2, "max_num_seqs": 5}
    report = check(VLLM, "0.33.0", settings, "--cudagraph-capture-sizes 4 8 16")
    finding = found(report, "decode-piecewise")
    assert finding.affected == (12, 15)
    assert "4 to 5 running requests" in finding.load


def test_flags_that_are_gone_or_too_new() -> None:
    """Removed, not yet existing and announced as going: each says what to write instead."""
    gone = check(VLLM, "0.13.0", None, "--cuda-graph-sizes 1 2 4")
    assert found(gone, "flag-removed").fix == "Use --cudagraph-capture-sizes."
    assert not gone.starts
    assert gone.sizes == (1, 2, 4)
    going = check(VLLM, "0.11.2", None, "--cuda-graph-sizes 100")
    assert found(going, "flag-deprecated").severity is Severity.WARNING
    assert going.starts
    assert going.sizes[-1] == 96
    early = check(VLLM, "0.10.2", None, "--cudagraph-capture-sizes 1 2")
    assert found(early, "flag-too-new").severity is Severity.ERROR
    removed = check(SGLANG, "0.5.20", None, "--cuda-graph-bs 1 2 --cuda-graph-max-bs 8")
    assert [f.fix for f in removed.findings if f.id == "flag-removed"] == [
        "Use --cuda-graph-bs-decode.",
        "Use --cuda-graph-max-bs-decode.",
    ]
    assert "flag-removed" not in ids(check(SGLANG, "0.5.8", None, "--cuda-graph-bs 1 2"))
    flat = check(TRTLLM, "1.2.1", None, "cuda_graph_batch_sizes: [1, 2]\n")
    assert "batch_sizes" in found(flat, "flag-removed").fix


def test_list_given_twice() -> None:
    """vLLM refuses flag and JSON key together; SGLang lets JSON win and says so."""
    text = "--cudagraph-capture-sizes 1 2 --compilation-config '{\"cudagraph_capture_sizes\":[4]}'"
    twice = found(check(VLLM, None, None, text), "set-twice")
    assert twice.severity is Severity.ERROR
    text = '--cuda-graph-bs-decode 1 2 --cuda-graph-config \'{"decode":{"bs":[4]}}\''
    report = check(SGLANG, None, None, text)
    assert found(report, "set-twice").severity is Severity.WARNING
    assert report.sizes == (4,)


def test_padding_off_by_default() -> None:
    """TensorRT-LLM replays exact sizes only; the share is that of all other sizes."""
    steps = StepHistogram.from_mapping({2: 1, 3: 3})
    report = check(TRTLLM, None, None, "cuda_graph_config:\n  batch_sizes: [1, 2, 4]\n", steps)
    finding = found(report, "padding-off")
    assert finding.share == 0.75
    assert "enable_padding: true" in finding.fix
    off = check(TRTLLM, None, None, "cuda_graph_config: null\n", steps)
    assert found(off, "graphs-off").share == 1.0


def test_sglang_prefill_too_sparse() -> None:
    """A lone bucket of 1024 tokens leaves prompts from 17 to 511 eager."""
    tokens = StepHistogram.from_mapping({100: 3, 600: 1}, unit=SizeUnit.TOKENS)
    text = "--cuda-graph-bs-prefill 16 1024"
    finding = found(check(SGLANG, None, None, text, tokens), "prefill-too-sparse")
    assert finding.affected == (17, 511)
    assert finding.share == 0.75


def test_adapters_and_drafts_multiply() -> None:
    """The finding counts every graph."""
    text = "--speculative-num-draft-tokens 4 --enable-lora --cuda-graph-bs-decode 1 2"
    report = check(SGLANG, None, None, text + " --disable-prefill-cuda-graph")
    assert "2 sizes become 12 graphs" in found(report, "graphs-multiplied").text


def test_nano_vllm_gap_is_an_error() -> None:
    """Steps that find no graph fail; a multiple of 16 mends it."""
    report = check(ENGINES["nano-vllm"], None, {"max_num_seqs": 50})
    finding = found(report, "above-largest")
    assert finding.severity is Severity.ERROR
    assert "fail" in finding.text
    assert "multiple of 16" in finding.fix
    assert report.starts


def test_memory_is_accounted() -> None:
    """Each report says what the engine holds back."""
    for engine in ENGINES.values():
        assert found(check(engine), "memory").text


def test_steps_of_another_unit() -> None:
    """Token steps for an engine that captures by requests: a finding, not a crash."""
    tokens = StepHistogram.from_mapping({100: 1}, unit=SizeUnit.TOKENS)
    report = check(ENGINES["lmdeploy"], histogram=tokens)
    assert "requests" in found(report, "other-unit").text


def test_unused_sizes_and_eager_steps_of_the_user() -> None:
    """Sizes the steps never hit, and steps no graph holds where no limit is known."""
    steps = StepHistogram.from_mapping({3: 9, 300: 1})
    report = check(SGLANG, None, {"cuda_graph_bs": [1, 2, 4]}, None, steps)
    assert found(report, "unused-by-your-steps").text.startswith("2 of 3 sizes")
    eager = found(report, "your-steps-eager")
    assert (eager.affected, eager.share) == ((300, 300), 0.1)
    empty = check(SGLANG, None, None, None, StepHistogram.from_mapping({}))
    assert "unused-by-your-steps" not in ids(empty)


def test_combination_that_does_not_start() -> None:
    """List and maximum disagree: no plan, an error first."""
    text = "--cudagraph-capture-sizes 1 2 --max-cudagraph-capture-size 8"
    report = check(VLLM, None, None, text)
    assert report.findings[0].id == "start-refused"
    assert (report.plan, report.sizes, report.unit, report.starts) == (None, (), None, False)


def test_unknown_release_is_a_finding() -> None:
    """The nearest rule answers and the report says so."""
    report = check(VLLM, "0.31.5", None, "--max-num-seqs 8")
    assert "0.31.0" in found(report, "nearest-rule").text
    assert report.version == "0.31.0"


def test_variables_and_docker() -> None:
    """NAME=value words are read, also after docker's -e."""
    text = "docker run -e CUDA_GRAPHS=1,2,4 --gpus all image --model-id m"
    report = check(ENGINES["tgi"], None, None, text)
    assert report.sizes == (1, 2, 4)
    text = (
        "VLLM_BUCKETING_STRATEGY=lin VLLM_DECODE_BS_BUCKET_STEP=16 vllm serve m --max-num-seqs 32"
    )
    report = check(ENGINES["gaudi"], None, None, text)
    assert report.sizes == (1, 2, 4, 8, 16, 32)


def test_settings_override_the_text() -> None:
    """What the user sets beside the text wins."""
    report = check(VLLM, None, {"max_num_seqs": 4}, "--max-num-seqs 100")
    assert report.plan is not None and report.plan.full_load == 4
    common = check(SGLANG, None, {"max_num_seqs": 4}, "--max-running-requests 100")
    assert common.plan is not None and common.plan.full_load == 4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("  ", "empty"),
        ("{not json", "JSON"),
        ("--compilation-config '{1'", "--compilation-config"),
        ("--compilation-config '[1]'", "no object"),
        ("--x 'open", "split"),
        ("a: [1\nb: }", "neither"),
    ],
)
def test_text_that_cannot_be_read(text: str, says: str) -> None:
    """One sentence says what is wrong."""
    with pytest.raises(FileContentError, match=says):
        check(VLLM, None, None, text)


def test_values_that_cannot_be_read() -> None:
    """A value of the wrong kind is refused with its name."""
    with pytest.raises(SettingError, match="max_num_seqs"):
        check(VLLM, None, None, "--max-num-seqs many")
    with pytest.raises(SettingError, match="cuda-graph-sizes"):
        check(VLLM, "0.10.2", None, "--cuda-graph-sizes a b")


def test_a_command_with_json_in_it_is_a_command():
    """ ": " inside a quoted JSON value does not make the command line a YAML mapping."""
    text = """vllm serve m --max-num-seqs 16 --speculative-config '{"num_speculative_tokens": 3}'"""
    report = check(ENGINES["vllm"], "0.33.0", text=text)
    assert report.source == "command line"
    assert report.plan is not None
    assert (report.plan.tokens_per_request, report.plan.full_load) == (4, 64)  # 1 + 3; 16 x 4
