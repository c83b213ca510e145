"""TensorRT-LLM's capture lists: every vector of the rules, and the engine's limit."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.check import check
from core.engines.plan import StepKind
from core.errors import SettingError
from core.records import SizeUnit
from tests.core.engines.notation import expand

TRTLLM = ENGINES["trtllm"]
TO_128 = "1,2,4,8..128/8"

VECTORS = [
    ("main", 8, True, 4, "1,2,4,8"),
    ("main", 128, True, 19, TO_128),
    ("main", 200, True, 21, f"{TO_128},192,200"),
    ("main", 256, True, 21, f"{TO_128},192,256"),
    ("1.2.1", 256, True, 20, f"{TO_128},256"),
    ("main", 300, True, 22, f"{TO_128},192,256,300"),
    ("main", 512, True, 25, f"{TO_128},192..512/64"),
    ("1.2.1", 512, True, 21, f"{TO_128},256,512"),
    ("main", 1000, True, 33, f"{TO_128},192..960/64,1000"),
    ("1.0", 1000, True, 21, f"{TO_128},256,1000"),
    ("1.2.1", 1000, True, 22, f"{TO_128},256,512,1000"),
    ("main", 2048, True, 49, f"{TO_128},192..2048/64"),
    ("1.2.1", 2048, True, 23, f"{TO_128},256,512,1024,2048"),
    ("main", 8, False, 8, "1..8/1"),
    ("main", 128, False, 34, "1..32/1,64,128"),
    ("main", 1024, False, 37, "1..32/1,64,128,256,512,1024"),
]


@pytest.mark.parametrize(("version", "largest", "padding", "count", "sizes"), VECTORS)
def test_list(version: str, largest: int, padding: bool, count: int, sizes: str) -> None:
    """The built-in list up to a maximum, with and without padding, counted in requests."""
    settings = {"cuda_graph_max_batch_size": largest, "enable_padding": padding}
    answer = TRTLLM.default_sizes(version, settings)
    assert answer.sizes == expand(sizes)
    assert len(answer.sizes) == count
    assert answer.unit is SizeUnit.REQUESTS


def test_nothing_given() -> None:
    """Without any setting: 34 sizes to 128, and exact sizes only."""
    plan = TRTLLM.plan()
    assert plan.sizes == expand("1..32/1,64,128")
    assert plan.decode[0].exact
    assert [f.id for f in plan.findings] == ["padding-off"]


def test_limit_of_the_engine() -> None:
    """Sizes above min(max_batch_size, max_num_tokens // (1 + drafts)) are cut; with padding the
    limit itself is captured."""
    # 1000 tokens // (1 + 3 drafts) = 250 requests
    settings = {"max_num_tokens": 1000, "num_draft_tokens": 3, "enable_padding": True}
    plan = TRTLLM.plan("main", settings, [1, 128, 256, 300])
    assert plan.sizes == (1, 128, 250)
    assert plan.dropped[0].sizes == (256, 300)
    assert plan.added == (250,)
    plain = TRTLLM.plan("main", {**settings, "enable_padding": False}, [1, 128, 256, 300])
    assert plain.sizes == (1, 128)
    assert plain.added == ()


def test_list_and_maximum_disagree() -> None:
    """Both given, the maximum must be the list's; three ways out are named."""
    settings = {"batch_sizes": [1, 2, 4, 8, 24], "cuda_graph_max_batch_size": 32}
    with pytest.raises(SettingError) as caught:
        TRTLLM.plan("main", settings)
    for way in ("drop max_batch_size", "set it to 24", "append 32 to the list"):
        assert way in str(caught.value)
    assert TRTLLM.plan("main", {**settings, "cuda_graph_max_batch_size": 24}).sizes[-1] == 24
    assert TRTLLM.plan("main", {**settings, "cuda_graph_max_batch_size": 0}).sizes[-1] == 24


def test_draft_schedule_joins_the_list() -> None:
    """Batch sizes of the schedule up to the maximum are captured too."""
    settings = {"enable_padding": True, "draft_len_schedule": [3, 100, 4000]}
    plan = TRTLLM.plan("main", settings)
    assert plan.sizes == tuple(sorted({*expand(TO_128), 3, 100}))


def test_piecewise_list() -> None:
    """Powers of two to 128 and strides of 256 to 3072, clamped to what a step can hold."""
    settings = {"enable_piecewise": True}
    tokens = TRTLLM.default_sizes("main", settings, StepKind.PREFILL)
    assert tokens.sizes == expand("1,2,4,8,16,32,64,128,256..3072/256")
    assert tokens.unit is SizeUnit.TOKENS
    # 4 requests x (101 - 1) tokens
    small = {**settings, "max_batch_size": 4, "max_seq_len": 101}
    clamped = TRTLLM.default_sizes("main", small, StepKind.PREFILL).sizes
    assert clamped == expand("1,2,4,8,16,32,64,128,256,400")
    assert TRTLLM.default_sizes("main", {}, StepKind.PREFILL).sizes == ()


def test_variants_multiply() -> None:
    """Draft lengths, greedy and adapter cases multiply the graphs of each size."""
    settings = {"num_draft_lengths": 3, "capture_greedy": True, "capture_lora": True}
    assert TRTLLM.plan("main", settings, [1, 2]).graphs == 2 * 3 * 2 * 2


def test_draft_depth_by_predicted_layers() -> None:
    """64 requests, 128 tokens, 3 layers of next-token prediction: 128 // 4 = 32 requests."""
    text = """
max_batch_size: 64
max_num_tokens: 128
cuda_graph_config: {enable_padding: true, max_batch_size: 64}
speculative_config: {decoding_type: MTP, num_nextn_predict_layers: 3}
"""
    report = check(TRTLLM, "main", text=text)
    assert report.sizes[-1] == 32
    assert report.settings["num_draft_tokens"] == 3


def test_no_request_fits() -> None:
    """3 tokens hold no request of 4, padded or not: no decode graph, and no size 0."""
    for padding in (True, False):
        settings = {"max_num_tokens": 3, "num_draft_tokens": 3, "enable_padding": padding}
        plan = TRTLLM.plan("main", settings, [1, 2])
        assert (plan.sizes, plan.decode) == ((), ())
        assert [finding.id for finding in plan.findings] == ["graphs-off"]


def test_piecewise_sizes_above_the_budgets() -> None:
    """Main: above max_num_tokens 1000 a size goes; above 4 x (101 - 1) = 400 it becomes 400."""
    settings = {
        "enable_piecewise": True,
        "max_num_tokens": 1000,
        "max_batch_size": 4,
        "capture_num_tokens": [128, 512, 1000, 2048],
    }
    free = TRTLLM.plan("main", settings)
    assert free.prefill[0].sizes == (128, 512, 1000)
    short = TRTLLM.plan("main", {**settings, "max_seq_len": 101})
    assert short.prefill[0].sizes == (128, 400)
