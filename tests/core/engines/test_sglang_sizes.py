"""SGLang's capture lists: every vector of the rules, and the filters at capture."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.check import check
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
    settings = {"cuda_graph_max_bs": max_bs, "num_draft_tokens": 4, "max_running_requests": 300}
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


def test_smaller_tier_before_0_5_20() -> None:
    """Cards under 35 GiB had 24 and 80 up to 0.5.19, 16 and 80 in 0.5.4."""
    assert SGLANG.default_sizes("0.5.19", {"gpu_memory_gib": 24}).sizes[-1] == 24
    assert SGLANG.default_sizes("0.5.19", {"gpu_memory_gib": 24, "tp_size": 4}).sizes[-1] == 80
    assert SGLANG.default_sizes("0.5.20", {"gpu_memory_gib": 24}).sizes[-1] == 48
    assert SGLANG.default_sizes("0.5.4", {"gpu_memory_gib": 24}).sizes[-1] == 16


@pytest.mark.parametrize(
    ("settings", "count", "sizes"),
    [
        ({}, 23, "1,2,4,8,16..160/8"),
        ({"disable_cuda_graph_padding": True}, 40, "1..32/1,40..152/16"),
        ({"num_draft_tokens": 4, "max_running_requests": 200}, 28, "1..8/1,10..32/2,40..152/16"),
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
    settings = {"cuda_graph_max_bs_prefill": 4608, "prefill_backend": "tc_piecewise"}
    base = "4..32/4,48..256/16,288..512/32"
    first = SGLANG.default_sizes("0.5.5", settings, StepKind.PREFILL).sizes
    assert first == expand(f"{base},640..4096/128,4352,4608")
    second = SGLANG.default_sizes("0.5.8", settings, StepKind.PREFILL).sizes
    assert second == expand(f"{base},640..1024/64,1280..4096/256,4608")
    third = SGLANG.default_sizes("0.5.9", settings, StepKind.PREFILL).sizes
    assert third == expand(f"{base},576..1024/64,1280..4096/256,4608")
    assert SGLANG.default_sizes("0.5.9", {}, StepKind.PREFILL).sizes == ()
    assert SGLANG.default_sizes("0.5.10", {}, StepKind.PREFILL).sizes[-1] == 8192
    with pytest.raises(SettingError, match="tc_piecewise"):
        SGLANG.plan("0.5.23", settings)
    with pytest.raises(SettingError, match="use tc_piecewise"):
        SGLANG.plan("0.5.13", {"prefill_backend": "breakable"})


def test_what_switches_prefill_graphs_off() -> None:
    """By release, and overruled by a kind that is asked for from 0.5.14 on."""
    dp = {"enable_dp_attention": True, "tp_size": 4, "dp_size": 2}
    for release, settings, on in [
        ("0.5.10", {"num_draft_tokens": 4}, False),
        ("0.5.11", {"num_draft_tokens": 4}, True),
        ("0.5.16", dp, False),
        ("0.5.17", dp, True),
        ("0.5.16", {"enable_lora": True}, False),
        ("0.5.17", {"enable_lora": True}, True),
        ("0.5.14", {"pp_size": 2}, False),
        ("0.5.18", {"pp_size": 2}, True),
        ("0.5.19", {"pp_size": 2}, False),
        ("0.5.19", {"pp_size": 2, "prefill_backend": "breakable"}, True),
        ("0.5.13", {"pp_size": 2, "prefill_backend": "tc_piecewise"}, False),
        ("0.5.13", {"disable_cuda_graph": True}, True),
        ("0.5.5", {"disable_cuda_graph": True, "prefill_backend": "tc_piecewise"}, False),
        ("0.5.6", {"disable_cuda_graph": True, "prefill_backend": "tc_piecewise"}, True),
        ("0.5.9", {"pp_size": 2, "prefill_backend": "tc_piecewise"}, False),
        ("0.5.23", {"disable_cuda_graph": True}, False),
        ("0.5.23", {"disable_cuda_graph": True, "prefill_backend": "full"}, True),
        ("0.5.23", {"disable_decode_cuda_graph": True}, True),
    ]:
        assert bool(SGLANG.plan(release, settings).prefill) is on, (release, settings)


def test_roles() -> None:
    """A prefill server captures no decode graph, a decode server no prefill graph."""
    prefill = SGLANG.plan("0.5.23", {"disaggregation_mode": "prefill"})
    assert (prefill.sizes, bool(prefill.prefill)) == ((), True)
    assert "role" in plan_findings(prefill, str)[0].text
    decode = SGLANG.plan("0.5.23", {"disaggregation_mode": "decode"})
    assert (bool(decode.sizes), decode.prefill) == (True, ())
    older = SGLANG.plan("0.5.13", {"disaggregation_mode": "prefill"})
    assert (older.sizes, older.prefill) == ((), ())


def test_speculation_resets_the_limit_by_its_flags() -> None:
    """`--speculative-algorithm EAGLE` alone: 48 requests, and the finer grid."""
    report = check(
        SGLANG,
        "0.5.23",
        text="python -m sglang.launch_server --model-path m --speculative-algorithm EAGLE "
        "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
    )
    assert report.sizes == expand("1..8/1,10..32/2,40,44,48")
    assert not [flag for flag in report.ignored if "speculative" in flag]
    other = check(SGLANG, "0.5.23", text="python -m sglang.launch_server --speculative-algorithm X")
    assert other.sizes[-1] == 48


def test_attention_groups_share_requests_and_chunk() -> None:
    """3 requests over 4 groups leave 1 a rank; a chunk of 8192 becomes 2048."""
    plan = SGLANG.plan("0.5.23", {"attn_dp_size": 4, "tp_size": 4, "max_running_requests": 3})
    assert plan.sizes == (1,)
    assert plan.prefill[0].sizes[-1] == 2048
    older = {"enable_dp_attention": True, "dp_size": 4, "tp_size": 4, "max_running_requests": 3}
    assert SGLANG.plan("0.5.21", older).sizes == (1,)
    with pytest.raises(SettingError, match="no attn_dp_size"):
        SGLANG.plan("0.5.21", {"attn_dp_size": 4, "tp_size": 4})
    with pytest.raises(SettingError, match="no multiple"):
        SGLANG.plan("0.5.23", {"attn_dp_size": 3, "tp_size": 4})
    with pytest.raises(SettingError, match="captures no decode size"):
        lonely = {"enable_dp_attention": True, "dp_size": 4, "tp_size": 8}
        SGLANG.plan("0.5.9", {**lonely, "max_running_requests": 1})


def test_padding_of_prefill_steps() -> None:
    """From 0.5.16 a step is padded twofold at most; 1 token would run as 4."""
    for release, modes in (("0.5.15", ["piecewise"] * 2), ("0.5.16", ["eager", "piecewise"])):
        step = SGLANG.dispatch_sizes([1, 2], None, release, kind=StepKind.PREFILL)
        assert step.modes.tolist() == modes


def test_list_of_0_4_10() -> None:
    """Wider without padding and on cards above 90 and 156 GiB; no slot beyond the pool."""
    assert SGLANG.plan("0.4.10", {"max_running_requests": 20}).sizes == (1, 2, 4, 8, 16, 20)
    large = SGLANG.plan("0.4.10", {"gpu_memory_gib": 180}).sizes
    assert large == expand("1,2,4,8,16..256/8,272..512/16")
    bare = SGLANG.plan("0.4.10", {"disable_cuda_graph_padding": True}).sizes
    assert bare == expand("1..32/1,48..160/16")


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
    plan = SGLANG.plan("0.5.23", settings, [1, 2, 4, 8, 12, 14, 64])
    assert plan.sizes == (4, 8, 12, 16)  # 30 over 2 groups is 15, rounded up to 16
    assert plan.dropped[0].sizes == (64,)
    assert plan.dropped[1].sizes == (1, 2, 14)


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
