"""SGLang's capture lists: every vector of the rules, and the filters at capture."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.findings import plan_findings
from core.engines.plan import StepKind
from core.errors import SettingError
from core.records import SizeUnit
from tests.core.engines.notation import expand

SGLANG = ENGINES["sglang"]
TO_512 = "1,2,4,8,12,16,24..256/8,272..512/16"

DECODE = [
    (8, 4, "1,2,4,8"),
    (10, 5, "1,2,4,8,10"),
    (32, 8, "1,2,4,8,12,16,24,32"),
    (48, 10, "1,2,4,8,12,16,24..48/8"),
    (100, 17, "1,2,4,8,12,16,24..96/8,100"),
    (160, 24, "1,2,4,8,12,16,24..160/8"),
    (256, 36, "1,2,4,8,12,16,24..256/8"),
    (512, 52, TO_512),
    (600, 55, f"{TO_512},544,576,600"),
    (1024, 68, f"{TO_512},544..1024/32"),
]


@pytest.mark.parametrize(("max_bs", "count", "sizes"), DECODE)
def test_decode_list(max_bs: int, count: int, sizes: str) -> None:
    """0.5.23 captures exactly these batch sizes, counted in requests."""
    answer = SGLANG.default_sizes("0.5.23", {"cuda_graph_max_bs": max_bs})
    assert answer.sizes == expand(sizes)
    assert len(answer.sizes) == count
    assert answer.unit is SizeUnit.REQUESTS


@pytest.mark.parametrize(
    ("max_bs", "count", "sizes"),
    [
        (48, 23, "1..8/1,10..32/2,40,44,48"),
        (256, 51, "1..8/1,10..32/2,40..64/4,72..256/8"),
    ],
)
def test_speculative_list(max_bs: int, count: int, sizes: str) -> None:
    """With speculation the ladder is finer; it still counts requests."""
    settings = {"cuda_graph_max_bs": max_bs, "num_draft_tokens": 4}
    answer = SGLANG.default_sizes("0.5.23", settings)
    assert answer.sizes == expand(sizes)
    assert len(answer.sizes) == count


PREFILL_1024 = "4..32/4,48..256/16,288..512/32,576..1024/64"


@pytest.mark.parametrize(
    ("largest", "count", "sizes"),
    [
        (2048, 42, f"{PREFILL_1024},1280..2048/256"),
        (8192, 58, f"{PREFILL_1024},1280..4096/256,4608..8192/512"),
        (16384, 74, f"{PREFILL_1024},1280..4096/256,4608..16384/512"),
    ],
)
def test_prefill_list(largest: int, count: int, sizes: str) -> None:
    """Prefill graphs count tokens, up to a chunk."""
    settings = {"chunked_prefill_size": largest}
    answer = SGLANG.default_sizes("0.5.23", settings, StepKind.PREFILL)
    assert answer.sizes == expand(sizes)
    assert len(answer.sizes) == count
    assert answer.unit is SizeUnit.TOKENS


@pytest.mark.parametrize(
    ("gib", "few", "many", "chunk"),
    [
        (16, 8, 8, 2048),
        (24, 48, 160, 4096),
        (48, 32, 160, 4096),
        (80, 256, 512, 8192),
        (141, 256, 512, 8192),
        (192, 512, 512, 16384),
    ],
)
def test_maximum_by_card(gib: float, few: int, many: int, chunk: int) -> None:
    """The largest batch follows the card's memory and the tensor-parallel size."""
    for tp, largest in ((1, few), (4, many)):
        settings = {"gpu_memory_gib": gib, "tp_size": tp}
        assert SGLANG.default_sizes("0.5.23", settings).sizes[-1] == largest
        assert SGLANG.default_sizes("0.5.23", settings, StepKind.PREFILL).sizes[-1] == chunk


def test_smaller_tier_before_0_5_17() -> None:
    """Cards under 35 GiB had 24 and 80 up to 0.5.16."""
    assert SGLANG.default_sizes("0.5.16", {"gpu_memory_gib": 24}).sizes[-1] == 24
    assert SGLANG.default_sizes("0.5.16", {"gpu_memory_gib": 24, "tp_size": 4}).sizes[-1] == 80


@pytest.mark.parametrize(
    ("settings", "count", "sizes"),
    [
        ({}, 23, "1,2,4,8,16..160/8"),
        ({"disable_cuda_graph_padding": True}, 40, "1..32/1,40..152/16"),
        ({"num_draft_tokens": 4}, 28, "1..8/1,10..32/2,40..152/16"),
        ({"gpu_memory_gib": 141}, 35, "1,2,4,8,16..256/8"),
        ({"gpu_memory_gib": 24}, 4, "1,2,4,8"),
        ({"cuda_graph_max_bs": 200}, 25, "1,2,4,8,16..160/8,176,192"),
    ],
)
def test_list_of_0_4_6(settings: dict[str, object], count: int, sizes: str) -> None:
    """The older fixed list, and its extension in steps of 16."""
    answer = SGLANG.default_sizes("0.4.6.post5", settings)
    assert answer.sizes == expand(sizes)
    assert len(answer.sizes) == count


def test_maximum_is_not_added_in_0_5_8() -> None:
    """0.5.8 leaves an off-grid maximum out, and says which batches run eager."""
    plan = SGLANG.plan("0.5.8", {"cuda_graph_max_bs": 100})
    assert plan.sizes == expand("1,2,4,8,12,16,24..96/8")
    found = {f.id: f for f in plan_findings(plan, str)}["max-truncated"]
    assert found.affected == (97, 100)
    assert found.fix.endswith("96, 100)")


def test_older_prefill_lists() -> None:
    """Piecewise lists of 0.5.5 and 0.5.8 were coarser beyond 512 and off by default."""
    settings = {"chunked_prefill_size": 4608, "prefill_backend": "tc_piecewise"}
    base = "4..32/4,48..256/16,288..512/32"
    first = SGLANG.default_sizes("0.5.5", settings, StepKind.PREFILL).sizes
    assert first == expand(f"{base},640..4096/128,4352,4608")
    second = SGLANG.default_sizes("0.5.8", settings, StepKind.PREFILL).sizes
    assert second == expand(f"{base},640..1024/64,1280..4096/256,4608")
    assert SGLANG.default_sizes("0.5.8", {}, StepKind.PREFILL).sizes == ()
    with pytest.raises(SettingError, match="tc_piecewise"):
        SGLANG.plan("0.5.23", settings)


def test_request_pool_cuts_the_list() -> None:
    """Sizes above max_running_requests go, and the pool's own size takes their place."""
    plan = SGLANG.plan("0.5.23", {"max_running_requests": 20}, [1, 8, 16, 32, 64])
    assert plan.sizes == (1, 8, 16, 20)
    assert plan.dropped[0].sizes == (32, 64)
    assert plan.added == (20,)


def test_defaulted_maximum_follows_the_pool() -> None:
    """An unset maximum is lowered to max_running_requests without a drop."""
    plan = SGLANG.plan("0.5.23", {"max_running_requests": 10})
    assert plan.sizes == (1, 2, 4, 8, 10)
    assert plan.dropped == ()


def test_alignment_of_data_parallel_attention() -> None:
    """tp 8 over dp 2: attention groups of 4, so only multiples of 4 are captured."""
    settings = {"enable_dp_attention": True, "tp_size": 8, "dp_size": 2, "max_running_requests": 30}
    plan = SGLANG.plan("0.5.23", settings, [1, 2, 4, 8, 12, 30, 64])
    assert plan.sizes == (4, 8, 12, 32)  # the pool of 30 rounds up to 32
    assert plan.dropped[1].sizes == (1, 2, 30)


def test_two_batch_overlap_needs_even_sizes_and_no_prefill_graphs() -> None:
    """Batches are split in two, and prefill graphs are off."""
    plan = SGLANG.plan("0.5.23", {"enable_two_batch_overlap": True}, [1, 2, 3, 4])
    assert plan.sizes == (2, 4)
    assert plan.prefill == ()
    assert any("two-batch overlap" in note for note in plan.notes)


def test_speculation_triples_and_adapters_double() -> None:
    """Verification, draft and draft extend keep the same list; adapters double each."""
    base = {"num_draft_tokens": 4, "prefill_backend": "disabled"}
    assert SGLANG.plan("0.5.23", base, [1, 2]).graphs == 3 * 2
    assert SGLANG.plan("0.5.23", {**base, "enable_lora": True}, [1, 2]).graphs == 3 * 2 * 2


def test_graphs_on_the_cpu() -> None:
    """The CPU's grid: every size to 16, then steps of 2, 4 and 8, and the maximum."""
    answer = SGLANG.default_sizes("0.5.23", {"device": "cpu", "cuda_graph_max_bs": 100})
    assert answer.sizes == expand("1..16/1,18..30/2,32..80/4,84,92,100")
