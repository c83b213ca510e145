"""Capture lists of LMDeploy, TGI, FastDeploy, vllm-ascend, mini-sglang and nano-vllm."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.plan import Mode, StepKind
from core.errors import SettingError
from core.records import SizeUnit
from tests.core.engines.notation import expand


@pytest.mark.parametrize(
    ("largest", "sizes"),
    [
        (16, "1,2,4,8,16"),
        (100, "1,2,4,8,16,32,64,100"),
        (256, "1,2,4,8,16,32,64,128,256"),
        (300, "1,2,4,8,16,32,64,128,256,300"),
        (600, "1,2,4,8,16,32,64,128,256,512,600"),
        (1024, "1,2,4,8,16,32,64,128,256,512,768,1024"),
    ],
)
def test_lmdeploy_list(largest: int, sizes: str) -> None:
    """Powers of two to 256, strides of 256, and always the largest batch."""
    answer = ENGINES["lmdeploy"].default_sizes("0.18.0", {"max_batch_size": largest})
    assert answer.sizes == expand(sizes)
    assert answer.unit is SizeUnit.REQUESTS


def test_lmdeploy_piecewise_prefill() -> None:
    """Off by default; multiples of 512 and the cap itself."""
    lmdeploy = ENGINES["lmdeploy"]
    assert lmdeploy.default_sizes(None, {}, StepKind.PREFILL).sizes == ()
    settings = {"piecewise_max_tokens": 2000, "max_prefill_token_num": 1800}
    assert lmdeploy.default_sizes(None, settings, StepKind.PREFILL).sizes == (
        *(512, 1024, 1536),
        1800,
    )


def test_tgi_list() -> None:
    """1 to 32 by powers of two, nothing when quantised or with adapters; 0 is filtered."""
    tgi = ENGINES["tgi"]
    assert tgi.default_sizes().sizes == (1, 2, 4, 8, 16, 32)
    for settings in ({"quantize": "exl2"}, {"lora_adapters": True}, {"cuda_graphs": "0"}):
        plan = tgi.plan(None, settings)
        assert plan.sizes == ()
        assert [f.id for f in plan.findings] == ["graphs-off"]
    assert tgi.default_sizes(None, {"quantize": "exl2", "cuda_graphs": [4]}).sizes == (4,)


def test_tgi_rows_with_speculation() -> None:
    """With 3 drafts a request takes 4 rows; smaller sizes are not captured."""
    plan = ENGINES["tgi"].plan(None, {"speculate": 3, "max_batch_size": 8})
    assert plan.sizes == (4, 8, 16, 32)
    assert plan.dropped[0].sizes == (1, 2)
    assert (plan.tokens_per_request, plan.full_load, plan.unit) == (4, 32, SizeUnit.TOKENS)


def test_fastdeploy_list() -> None:
    """27 sizes at 256; the first version skipped 288 to 512."""
    fastdeploy = ENGINES["fastdeploy"]
    assert fastdeploy.default_sizes("main").sizes == expand("1,2,4,8..128/8,144..256/16")
    wide = fastdeploy.default_sizes("main", {"max_num_seqs": 600}).sizes
    assert wide == expand("1,2,4,8..128/8,144..256/16,288..576/32,600")
    gap = fastdeploy.default_sizes("2.0", {"max_num_seqs": 600}).sizes
    assert gap == expand("1,2,4,8..128/8,144..256/16,544,576,600")
    drafted = {"max_num_seqs": 5, "num_speculative_tokens": 2}
    assert fastdeploy.default_sizes("main", drafted).sizes == (1, 2, 4, 8, 15)


def test_fastdeploy_own_list_and_modes() -> None:
    """The widest step is added to a list; sharded sequences need multiples; level 1 splits."""
    fastdeploy = ENGINES["fastdeploy"]
    plan = fastdeploy.plan("main", {"max_num_seqs": 64}, [8, 32, 100])
    assert plan.sizes == (8, 32, 64)
    assert (plan.added, plan.dropped[0].sizes) == ((64,), (100,))
    tsp = {"max_num_seqs": 8, "enable_tsp": True, "tensor_parallel_size": 4}
    assert fastdeploy.plan("main", tsp).sizes == (4, 8)
    split = fastdeploy.plan("main", {"graph_opt_level": 1, "full_cuda_graph": False})
    assert split.prefill[0].sizes == split.sizes
    assert split.decode[0].mode is Mode.PIECEWISE
    assert split.graphs == 27
    assert fastdeploy.plan("main").prefill == ()
    only = fastdeploy.plan("main", {"cudagraph_only_prefill": True})
    assert (only.decode, only.prefill[0].sizes) == ((), (1, 2, 4, 8))


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ({"max_num_seqs": 8}, "1,2,4,8"),
        ({"max_num_seqs": 12}, "1,2,4,8"),
        ({"max_num_seqs": 28}, "1,2,4,8,16,24"),
        ({"max_num_seqs": 40, "num_speculative_tokens": 3}, "1,2,4,8..160/8"),
        ({"max_num_seqs": 1024}, "1,2,4,8..256/8,272..512/16"),
        ({"max_num_seqs": 24, "tp_aligned": True, "tensor_parallel_size": 8}, "8,16,24"),
        # 23 sizes thinned to 4: places 0, 7, 15, 22 of the list (22/3 = 7.3, 44/3 = 14.7)
        ({"max_num_seqs": 160, "device_950": True}, "1,40,104,160"),
        # 1920 // ((63 + 1) * 2) = 15 of 35 sizes: places 34i/14 = 0, 2.4, 4.9, 7.3, 9.7, 12.1 ...
        (
            {"max_num_seqs": 256, "stream_budget": 1920, "num_layers": 63, "parallel_factor": 2},
            "1,4,24,40,64,80,104,120,136,160,176,200,216,240,256",
        ),
    ],
)
def test_ascend_list(settings: dict[str, object], sizes: str) -> None:
    """vLLM's grid up to the widest decode step, thinned where the device limits graphs."""
    assert ENGINES["ascend"].default_sizes(None, settings).sizes == expand(sizes)


def test_ascend_without_a_multiple() -> None:
    """When sequence parallelism leaves no size, the engine does not start."""
    settings = {"max_num_seqs": 8, "tp_aligned": True, "tensor_parallel_size": 16}
    with pytest.raises(SettingError, match="--cudagraph-capture-sizes 16 32"):
        ENGINES["ascend"].plan(None, settings)


def test_mini_engines() -> None:
    """mini-sglang stops at 160 or 256 by free memory, nano-vllm at the last multiple of 16."""
    mini, nano = ENGINES["mini-sglang"], ENGINES["nano-vllm"]
    assert mini.default_sizes().sizes == expand("1,2,4,8..160/8")
    assert mini.default_sizes(None, {"free_memory_gib": 81}).sizes[-1] == 256
    assert mini.default_sizes(None, {"cuda_graph_max_bs": 20}).sizes == (1, 2, 4, 8, 16)
    assert mini.default_sizes(None, {"cuda_graph_max_bs": 0}).sizes == ()
    assert nano.default_sizes(None, {"max_num_seqs": 50}).sizes == (1, 2, 4, 8, 16, 32, 48)
    assert nano.default_sizes(None, {"max_num_seqs": 1000}).sizes[-1] == 512
