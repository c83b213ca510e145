"""vLLM's capture lists: every vector of the rules, release by release."""

from __future__ import annotations

import pytest

from core.engines import ENGINES
from core.engines.plan import Mode
from core.errors import SettingError
from core.records import SizeUnit
from tests.core.engines.notation import expand

VLLM = ENGINES["vllm"]
DEFAULT = "1, 2, 4, 8..256/8, 272..512/16"

VECTORS_0_33 = [
    (dict(max_num_seqs=1), 2, "1, 2"),
    (dict(max_num_seqs=3), 4, "1, 2, 3, 4"),
    (dict(max_num_seqs=8), 5, "1, 2, 4, 8, 16"),
    (dict(max_num_seqs=16), 7, "1, 2, 4, 8..32/8"),
    (dict(max_num_seqs=64), 19, "1, 2, 4, 8..128/8"),
    (dict(max_num_seqs=100), 29, "1, 2, 4, 8..96/8, 100, 104..200/8"),
    (dict(max_num_seqs=128), 35, "1, 2, 4, 8..256/8"),
    (dict(max_num_seqs=200), 44, "1, 2, 4, 8..256/8, 272..400/16"),
    (dict(max_num_seqs=256), 51, DEFAULT),
    (dict(max_num_seqs=1024), 51, DEFAULT),
    (dict(max_num_seqs=257), 52, "1, 2, 4, 8..256/8, 257, 272..512/16"),
    (dict(max_num_seqs=1024, compute_capability=10.0), 83, "1, 2, 4, 8..256/8, 272..1024/16"),
    (
        dict(max_num_seqs=256, max_num_batched_tokens=300),
        38,
        "1, 2, 4, 8..256/8, 272, 288, 300",
    ),
    (dict(max_num_seqs=256, max_cudagraph_capture_size=257), 35, "1, 2, 4, 8..256/8"),
    (dict(max_num_seqs=256, max_cudagraph_capture_size=100), 15, "1, 2, 4, 8..96/8"),
    (
        dict(max_num_seqs=1024, max_cudagraph_capture_size=2048),
        147,
        "1, 2, 4, 8..256/8, 272..2048/16",
    ),
    (
        dict(max_num_seqs=256, performance_mode="interactivity"),
        76,
        "1..32/1, 40..256/8, 272..512/16",
    ),
    (dict(max_num_seqs=8, performance_mode="interactivity"), 16, "1..16/1"),
    (dict(max_num_seqs=16, num_speculative_tokens=3), 19, "1, 2, 4, 8..128/8"),
    (
        dict(max_num_seqs=256, num_speculative_tokens=2),
        60,
        "1,2,3,4,6,8,12,16..272/8,288,304,312,320,336,352,360,368,384,400,408,416,432,448,456,464,"
        "480,496,504,512",
    ),
    (
        dict(max_num_seqs=256, num_speculative_tokens=16),
        55,
        "1,2,4,8,16,17,24,32,34,40..64/8,68,72..256/8,272..400/16,408,416..512/16",
    ),
    (
        dict(max_num_seqs=6, num_speculative_tokens=6, max_cudagraph_capture_size=42),
        8,
        "1,2,4,8,16,24,32,40",
    ),
]


@pytest.mark.parametrize(("settings", "count", "sizes"), VECTORS_0_33)
def test_list_of_0_33(settings: dict[str, object], count: int, sizes: str) -> None:
    """0.33.0 captures exactly these sizes, counted in tokens."""
    answer = VLLM.default_sizes("0.33.0", {"max_num_batched_tokens": 8192, **settings})
    assert answer.sizes == expand(sizes)
    assert len(answer.sizes) == count
    assert answer.unit is SizeUnit.TOKENS
    assert "0.33.0" in answer.source


OLDER = [
    ("0.10.2", dict(max_num_seqs=100), 28, "1, 2, 4, 8..200/8"),
    ("0.11.0", dict(max_num_seqs=100), 28, "1, 2, 4, 8..200/8"),
    ("0.10.2", dict(max_num_seqs=256), 67, "1, 2, 4, 8..512/8"),
    ("0.11.2", dict(max_num_seqs=256), 51, DEFAULT),
    ("0.8.5", dict(max_num_seqs=256), 67, "1, 2, 4, 8..512/8"),
    ("0.9.2", dict(max_num_seqs=16), 67, "1, 2, 4, 8..512/8"),
    ("0.10.2", dict(max_cudagraph_capture_size=257), 35, "1, 2, 4, 8..256/8"),
    ("0.9.2", dict(max_cudagraph_capture_size=257), 35, "1, 2, 4, 8..256/8"),
    ("0.10.2", dict(gpt_oss=True), 83, "1, 2, 4, 8..256/8, 272..1024/16"),
    ("0.11.0", dict(gpt_oss=True), 81, "1, 2, 4, 8..256/8, 272..992/16"),
    # q = 3: 2 x 16 x 3 = 96 tokens from 0.13, 2 x 16 = 32 before; then multiples of 3: 8 -> 9,
    # 16 -> 18, ..., and 32 -> 33 is above 32
    (
        "0.13.0",
        dict(max_num_seqs=16, num_speculative_tokens=2),
        14,
        "3, 6, 9, 18, 24, 33, 42, 48, 57, 66, 72, 81, 90, 96",
    ),
    ("0.11.2", dict(max_num_seqs=16, num_speculative_tokens=2), 5, "3, 6, 9, 18, 24"),
    ("0.11.1", dict(max_num_seqs=256), 51, DEFAULT),
    # the cards count beside the drafts in 0.11.1: multiples of 4
    (
        "0.11.1",
        dict(max_num_seqs=8, num_speculative_tokens=1, tensor_parallel_size=4),
        3,
        "4, 8, 16",
    ),
    # 1, 2 and 4 whatever the maximum
    ("0.11.0", dict(max_cudagraph_capture_size=1), 3, "1, 2, 4"),
    ("0.11.1", dict(max_cudagraph_capture_size=1), 1, "1"),
    # gpt-oss: 1024 whatever the number of requests, unless a maximum is given
    ("0.33.0", dict(gpt_oss=True, max_num_seqs=8), 83, "1, 2, 4, 8..256/8, 272..1024/16"),
    ("0.11.1", dict(gpt_oss=True, max_num_seqs=8), 83, "1, 2, 4, 8..256/8, 272..1024/16"),
    ("0.33.0", dict(gpt_oss=True, max_cudagraph_capture_size=16), 5, "1, 2, 4, 8, 16"),
    # 0.24 rounds the list of the second runner too, 0.25 its decode graphs only
    (
        "0.24.0",
        dict(max_num_seqs=4, num_speculative_tokens=2, runner="v2"),
        5,
        "3, 6, 9, 18, 24",
    ),
    (
        "0.25.1",
        dict(max_num_seqs=4, num_speculative_tokens=2, runner="v2"),
        6,
        "1, 2, 4, 8, 16, 24",
    ),
    # exact decode sizes entered with 0.29, max_num_seqs itself with 0.31
    ("0.26.0", dict(max_num_seqs=4, num_speculative_tokens=2), 6, "1, 2, 4, 8, 16, 24"),
    ("0.29.0", dict(max_num_seqs=4, num_speculative_tokens=2), 9, "1, 2, 3, 4, 6, 8, 12, 16, 24"),
    ("0.30.0", dict(max_num_seqs=100), 28, "1, 2, 4, 8..200/8"),
    ("0.31.0", dict(max_num_seqs=100), 29, "1, 2, 4, 8..96/8, 100, 104..200/8"),
    # max_num_batched_tokens itself from 0.20, the cap of 1024 from 0.28
    ("0.19.1", dict(max_num_batched_tokens=300), 37, "1, 2, 4, 8..256/8, 272, 288"),
    ("0.23.0", dict(max_num_batched_tokens=300), 38, "1, 2, 4, 8..256/8, 272, 288, 300"),
    ("0.20.2", dict(max_num_batched_tokens=300), 38, "1, 2, 4, 8..256/8, 272, 288, 300"),
    ("0.27.1", dict(max_num_seqs=1024, compute_capability=10.0), 51, DEFAULT),
    (
        "0.28.0",
        dict(max_num_seqs=1024, compute_capability=10.0),
        83,
        "1, 2, 4, 8..256/8, 272..1024/16",
    ),
    ("0.15.1", dict(performance_mode="interactivity"), 51, DEFAULT),
    ("0.8.5", dict(runner="v0", max_num_seqs=20), 6, "1, 2, 4, 8, 16, 24"),
    ("0.8.5", dict(runner="v0", max_num_seqs=3), 3, "1, 2, 4"),
    # sequence parallelism over 3 cards keeps the multiples of 3 of 1, 2, 4, 8..48/8
    ("0.31.0", dict(max_num_seqs=24, enable_sp=True, tensor_parallel_size=3), 2, "24, 48"),
    ("0.19.1", dict(max_num_seqs=24, mamba_cache_blocks=20), 5, "1, 2, 4, 8, 16"),
]


@pytest.mark.parametrize(("version", "settings", "count", "sizes"), OLDER)
def test_list_of_older_releases(
    version: str, settings: dict[str, object], count: int, sizes: str
) -> None:
    """Each release keeps its own rule."""
    base = {"max_num_seqs": 256, "max_num_batched_tokens": 8192}
    answer = VLLM.default_sizes(version, {**base, **settings})
    assert answer.sizes == expand(sizes)
    assert len(answer.sizes) == count


@pytest.mark.parametrize(
    ("settings", "largest"),
    [
        ({"gpu_memory_gib": 192}, 512),  # 1024 requests
        ({"gpu_memory_gib": 80, "gpu_name": "NVIDIA A100-SXM4-80GB"}, 512),  # 256 requests
        ({"gpu_memory_gib": 24, "max_num_seqs": 8}, 16),
    ],
)
def test_limits_left_to_the_engine(settings: dict[str, object], largest: int) -> None:
    """Unset limits come from the card's memory, and a note says which."""
    answer = VLLM.default_sizes(None, settings)
    assert answer.sizes[-1] == largest
    assert any("max_num_batched_tokens not given" in note for note in answer.notes)


def test_limits_by_memory() -> None:
    """1024 and 16384 from 160 GiB, 1024 and 8192 from 70 GiB except A100, else 256 and 2048."""

    def notes(**settings: object) -> str:
        return " ".join(VLLM.default_sizes("0.33.0", settings).notes)

    assert "max_num_seqs not given: 1024" in notes(gpu_memory_gib=180)
    assert "tokens not given: 16384" in notes(gpu_memory_gib=180)
    assert "tokens not given: 8192" in notes(gpu_memory_gib=80)
    assert "tokens not given: 16384" in notes(gpu_memory_gib=80, offline=True)
    assert "max_num_seqs not given: 256" in notes(gpu_memory_gib=80, gpu_name="A100")
    assert "tokens not given: 2048" in notes(gpu_memory_gib=24)
    assert "max_num_seqs not given: 2048" in notes(performance_mode="throughput")


def test_own_list() -> None:
    """A list is sorted, freed of repeats and of entries above max_num_batched_tokens, never
    clipped to max_num_seqs."""
    plan = VLLM.plan("0.33.0", dict(max_num_seqs=8, max_num_batched_tokens=64), [64, 8, 8, 100, 1])
    assert plan.sizes == (1, 8, 64)
    assert plan.dropped[0].sizes == (100,)


def test_list_and_maximum_disagree() -> None:
    """With a list and another maximum vLLM does not start."""
    settings = {"cudagraph_capture_sizes": "1,2,4", "max_cudagraph_capture_size": 8}
    with pytest.raises(SettingError, match="disagree.*give the list alone"):
        VLLM.default_sizes("0.33.0", settings)
    assert VLLM.default_sizes("0.33.0", {**settings, "max_cudagraph_capture_size": 4}).sizes == (
        1,
        2,
        4,
    )


def test_full_decode_graphs_of_the_second_runner() -> None:
    """Sizes are rounded up to multiples of q and kept to the widest decode step."""
    plan = VLLM.plan("0.33.0", dict(max_num_seqs=16, num_speculative_tokens=3))
    assert plan.decode[0].mode is Mode.FULL
    assert plan.decode[0].sizes == expand("4, 8..64/8")
    assert plan.prefill[0].sizes == plan.sizes
    plan = VLLM.plan("0.33.0", dict(max_num_seqs=256, num_speculative_tokens=2))
    expected = "3..12/3,18,24,33,42,48,57,66,72,81,90,96,105,114,120,129"
    assert plan.decode[0].sizes[:18] == expand(expected)[:18]
    assert plan.decode[0].sizes[-2:] == (498, 504)


def test_first_runner_replaces_the_whole_list() -> None:
    """The first runner rounds every size to a multiple of q; 512 becomes 498 or 510."""
    settings = dict(max_num_seqs=256, num_speculative_tokens=2)
    plan = VLLM.plan("0.13.0", settings)
    assert plan.prefill[0].sizes[-1] == 498
    assert all(n % 3 == 0 for n in plan.prefill[0].sizes)
    wide = VLLM.plan("0.33.0", dict(max_num_seqs=256, num_speculative_tokens=16, runner="v1"))
    assert wide.prefill[0].sizes[-1] == 510
    assert [f.id for f in wide.findings] == ["rounded-to-draft-multiple"]


@pytest.mark.parametrize(
    ("settings", "decode", "prefill"),
    [
        ({}, ["full", "piecewise"], ["piecewise"]),
        ({"cudagraph_mode": "FULL"}, ["full"], ["full"]),
        ({"cudagraph_mode": "full_decode_only"}, ["full"], []),
        ({"optimization_level": 1}, ["piecewise"], ["piecewise"]),
        ({"optimization_level": 0}, [], []),
        ({"enforce_eager": True}, [], []),
        ({"model_kind": "pooling"}, ["piecewise"], ["piecewise"]),
        ({"model_kind": "encoder-decoder"}, ["full"], []),
        ({"layerwise_kv_connector": True}, ["piecewise"], ["piecewise"]),
        ({"attention_support": "never"}, ["piecewise"], ["piecewise"]),
        (
            {"attention_support": "uniform_single_token_decode"},
            ["full", "piecewise"],
            ["piecewise"],
        ),
        (
            {"attention_support": "uniform_single_token_decode", "num_speculative_tokens": 2},
            ["piecewise"],
            ["piecewise"],
        ),
        (
            {"attention_support": "uniform_batch", "cudagraph_mode": "FULL"},
            ["full", "piecewise"],
            ["piecewise"],
        ),
        (
            {"attention_support": "never", "cudagraph_mode": "FULL_DECODE_ONLY"},
            ["piecewise"],
            ["piecewise"],
        ),
    ],
)
def test_modes(settings: dict[str, object], decode: list[str], prefill: list[str]) -> None:
    """What is captured follows mode, level, model kind and attention backend."""
    plan = VLLM.plan("0.33.0", settings)
    assert [graphs.mode.value for graphs in plan.decode] == decode
    assert [graphs.mode.value for graphs in plan.prefill] == prefill


def test_old_releases_capture_piecewise() -> None:
    """Before 0.11 the default mode is piecewise only."""
    assert [g.mode for g in VLLM.plan("0.10.2").decode] == [Mode.PIECEWISE]
    assert [g.mode for g in VLLM.plan("0.11.0").decode] == [Mode.FULL, Mode.PIECEWISE]


@pytest.mark.parametrize(
    ("settings", "cases"),
    [
        ({}, 1),
        ({"enable_lora": True}, 2),
        ({"enable_lora": True, "cudagraph_specialize_lora": False}, 1),
        # 0, 1, 2, 4, 8 and 9
        ({"enable_lora": True, "specialize_active_lora": True, "max_loras": 8}, 6),
    ],
)
def test_adapters_multiply_graphs(settings: dict[str, object], cases: int) -> None:
    """Each size is captured once an adapter case."""
    plain = VLLM.plan("0.33.0", {"max_num_seqs": 256})
    assert plain.graphs == 51 + 35
    assert VLLM.plan("0.33.0", {"max_num_seqs": 256, **settings}).graphs == cases * (51 + 35)


@pytest.mark.parametrize(("version", "runner"), [("0.33.0", "v0"), ("0.19.1", "v2")])
def test_runner_of_another_release(version: str, runner: str) -> None:
    """A runner that the release does not have is refused by name."""
    with pytest.raises(SettingError, match=version.replace(".", r"\.")):
        VLLM.default_sizes(version, {"runner": runner})


def test_more_requests_than_state_blocks() -> None:
    """Hybrid models refuse more requests than state blocks."""
    with pytest.raises(SettingError, match="--max-num-seqs 20"):
        VLLM.default_sizes("0.33.0", {"max_num_seqs": 24, "mamba_cache_blocks": 20})
