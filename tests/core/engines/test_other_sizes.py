"""Capture lists of LMDeploy, TGI, FastDeploy, vllm-ascend, mini-sglang and nano-vllm."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.check import check
from core.engines.export import export
from core.engines.findings import plan_findings
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
    assert fastdeploy.default_sizes("main", drafted).sizes == (3, 6, 12, 15)
    assert fastdeploy.default_sizes("2.0", drafted).sizes == (1, 2, 4, 8, 15)


def test_fastdeploy_drafts() -> None:
    """4 requests of 6 tokens: 1, 2 and 4 of them; with 8, no finding's fix undoes another's."""
    fastdeploy = ENGINES["fastdeploy"]
    plan = fastdeploy.plan("main", {"max_num_seqs": 4, "num_speculative_tokens": 5})
    assert plan.sizes == (6, 12, 24)
    settings = {"max_num_seqs": 8, "num_speculative_tokens": 5}
    sizes = fastdeploy.plan("main", settings).sizes
    assert sizes == (6, 12, 24, 48)
    for _ in range(3):
        fixes = [
            finding.fix
            for finding in plan_findings(
                fastdeploy.plan("main", settings, sizes), lambda n: ",".join(map(str, n))
            )
            if finding.id in ("phantom-requests", "not-a-draft-multiple")
        ]
        if not fixes:
            break
        sizes = tuple(map(int, fixes[0].split(",")))
        assert all(size % 6 == 0 for size in sizes)
    assert sizes == (6, 12, 18, 24, 30, 36, 42, 48)
    odd = plan_findings(
        fastdeploy.plan("main", settings, [1, 2, 4, 48]), lambda n: ",".join(map(str, n))
    )
    fix = next(finding.fix for finding in odd if finding.id == "phantom-requests")
    assert fix == "6,12,18,24,30,36,42,48"


def test_fastdeploy_prefill_list_needs_a_decode_list() -> None:
    """Alone it is replaced by the built-in list; the export gives both."""
    fastdeploy = ENGINES["fastdeploy"]
    only = {"cudagraph_only_prefill": True, "cudagraph_capture_sizes_prefill": [16, 64]}
    alone = fastdeploy.plan("main", {**only, "max_capture_shape_prefill": 40})
    assert alone.prefill[0].sizes == (1, 2, 4, 8, 16, 24, 32, 40)
    text = export(fastdeploy, [16, 64], "main", {"max_num_seqs": 4}, StepKind.PREFILL).text
    report = check(fastdeploy, "main", {"max_num_seqs": 4}, text=f"fastdeploy {text}")
    assert report.plan is not None
    assert report.plan.prefill[0].sizes == (16, 64)


def test_fastdeploy_own_list_and_modes() -> None:
    """A list stays as given up to the widest step, which 2.0 adds; level 1 splits the graph."""
    fastdeploy = ENGINES["fastdeploy"]
    plan = fastdeploy.plan("main", {"max_num_seqs": 64}, [8, 32, 100])
    assert plan.sizes == (8, 32)
    assert (plan.added, plan.dropped[0].sizes) == ((), (100,))
    older = fastdeploy.plan("2.0", {"max_num_seqs": 64}, [8, 32, 100])
    assert (older.sizes, older.added) == ((8, 32, 64), (64,))
    none = fastdeploy.plan("main", {"max_num_seqs": 4}, [8])
    assert (none.sizes, [f.id for f in none.findings]) == ((), ["graphs-off"])
    tsp = {"max_num_seqs": 8, "enable_tsp": True, "tensor_parallel_size": 4}
    assert fastdeploy.plan("main", tsp).sizes == (4, 8)
    split = fastdeploy.plan("main", {"graph_opt_level": 1, "full_cuda_graph": False})
    assert split.prefill[0].sizes == split.sizes
    assert split.decode[0].mode is Mode.PIECEWISE
    assert split.graphs == 27
    assert fastdeploy.plan("main").prefill == ()
    prefill = {"cudagraph_only_prefill": True, "cudagraph_capture_sizes": [8]}
    only = fastdeploy.plan("main", prefill)
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


def test_lmdeploy_refuses_a_list_above_the_batch() -> None:
    """max_batch_size 2 and [8]: nothing of the list is usable."""
    with pytest.raises(SettingError, match="between 1 and max_batch_size 2"):
        ENGINES["lmdeploy"].plan(None, {"max_batch_size": 2}, [8])
    assert ENGINES["lmdeploy"].plan(None, {"max_batch_size": 2}, [1, 8]).sizes == (1, 2)


def test_minisglang_always_starts_with_four() -> None:
    """A maximum of 3 captures 1, 2 and 4 as well; so does the export of a single 1."""
    mini = ENGINES["mini-sglang"]
    for largest in (1, 3, 4, 7):
        plan = mini.plan(None, {"cuda_graph_max_bs": largest})
        assert plan.sizes == (1, 2, 4)
    assert mini.plan(None, {"cuda_graph_max_bs": 0}).sizes == ()
    made = export(mini, [1])
    assert made.text == "--cuda-graph-max-bs 4"
    assert any("this makes it 1, 2, 4" in warning for warning in made.warnings)


@pytest.mark.parametrize("name", ["bitsandbytes-nf4", "bitsandbytes-fp4", "gptq"])
def test_tgi_captures_four_bit_weights(name: str) -> None:
    """Only 8-bit bitsandbytes and exl2 switch the default list off."""
    tgi = ENGINES["tgi"]
    assert check(tgi, text=f"text-generation-launcher --quantize {name}").sizes[-1] == 32
    assert check(tgi, text="text-generation-launcher --quantize bitsandbytes").sizes == ()


def test_ascend_starts_without_a_usable_size() -> None:
    """A list above the token budget leaves no graph; one that the alignment empties is refused."""
    ascend = ENGINES["ascend"]
    plan = ascend.plan(None, {"max_num_batched_tokens": 16}, [32, 64])
    assert (plan.sizes, [f.id for f in plan.findings]) == ((), ["graphs-off"])
    assert plan.dropped[0].sizes == (32, 64)
    with pytest.raises(SettingError, match="multiple of tensor_parallel_size 8"):
        ascend.plan(None, {"tp_aligned": True, "tensor_parallel_size": 8}, [4, 12])
