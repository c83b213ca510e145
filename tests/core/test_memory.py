"""Graph pools and KV capacity: by hand and by the right values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SettingError
from core.memory import capacity_curve, graph_bytes, held_tokens, kv_capacity, kv_tokens
from core.records import GraphMemory, Origin, PoolPolicy
from core.step_cost import assumed_graph_memory
from tests.core.cases import case
from tests.core.strategies import capture_sizes

GIB, MIB = 2**30, 2**20
PRIVATE, LARGEST, SMALLEST = (
    PoolPolicy.PRIVATE,
    PoolPolicy.SHARED_LARGEST_FIRST,
    PoolPolicy.SHARED_SMALLEST_FIRST,
)


def memory_of(pools: dict[int, float], graph: float = 0.0, fixed: float = 0.0) -> GraphMemory:
    return GraphMemory(
        np.array(list(pools)),
        np.array(list(pools.values()), float),
        np.full(len(pools), graph),
        Origin.ASSUMED,
        "by hand",
        fixed,
    )


def test_kv_capacity_by_hand():
    """8 GiB free, 0.5 GiB a graph, 0.25 GiB a request: 4 graphs leave 24 requests, 8 leave 16."""
    # (8 - 4 * 0.5) / 0.25 = 24; (8 - 8 * 0.5) / 0.25 = 16
    assert kv_capacity(8 * GIB, 4 * 0.5 * GIB, 0.25 * GIB) == 24
    assert kv_capacity(8 * GIB, 8 * 0.5 * GIB, 0.25 * GIB) == 16


def test_a_request_holds_whole_blocks():
    """933 tokens are 59 blocks of 16: 944."""
    assert (held_tokens(933), held_tokens(944), held_tokens(1, 64)) == (944, 944, 64)


def test_a_part_of_a_request_does_not_count():
    """Capacity is rounded down, but 0.7 / 0.1 is 7, whatever floats say."""
    assert kv_capacity(10, 0, 3) == 3
    assert 0.7 / 0.1 < 7
    assert kv_capacity(0.7, 0, 0.1) == 7


def test_graphs_beyond_the_free_memory_leave_nothing():
    """Graphs that do not fit leave 0 requests, not fewer."""
    assert kv_capacity(1 * GIB, 2 * GIB, 0.25 * GIB) == 0


@pytest.mark.parametrize("bad", [(-1, 0, 1), (1, -1, 1), (1, 0, 0), (float("nan"), 0, 1)])
def test_impossible_memory_is_refused(bad):
    """Bytes are 0 or more, a request takes more than nothing."""
    with pytest.raises(SettingError):
        kv_capacity(*bad)


def test_pool_policies_by_hand():
    """Private adds up; shared largest first is the largest; each graph adds its own; fixed once."""
    memory = memory_of({1: 10, 2: 20, 4: 40}, graph=3, fixed=5)
    assert graph_bytes([1, 2, 4], memory, PRIVATE) == 70 + 9 + 5
    assert graph_bytes([1, 2, 4], memory, LARGEST) == 40 + 9 + 5
    assert graph_bytes([1, 2, 4], memory, SMALLEST) == 70 + 9 + 5
    # a size between points lies on the line: 3 -> 30
    assert graph_bytes([3], memory, PRIVATE) == 30 + 3 + 5


def test_capture_order_in_one_pool():
    """Smallest first every graph needs a new block; largest first all reuse the first one."""
    given_, expect = case("D-MEM-04")
    memory = memory_of({i + 1: need for i, need in enumerate(given_["needs_MiB"])})
    sizes = range(1, len(given_["needs_MiB"]) + 1)
    assert graph_bytes(list(sizes), memory, LARGEST) == expect["descending_MiB"]
    assert graph_bytes(list(sizes), memory, SMALLEST) == expect["ascending_MiB"]


def test_equal_needs_reuse_even_smallest_first():
    """A freed block that is exactly large enough is reused."""
    assert graph_bytes([1, 2, 3], memory_of({1: 8, 2: 8, 3: 9}), SMALLEST) == 8 + 9


def test_graph_metadata_grows_with_the_count():
    """A fixed cost a graph adds up under every policy."""
    given_, expect = case("D-MEM-01")
    memory = memory_of({1: 0.0}, graph=given_["per_graph_MiB"])
    ladder = [1, 2, 4, *range(8, 2049, 8)]
    assert len(ladder) == given_["counts"][-1]
    totals = [graph_bytes(ladder[:n], memory, LARGEST) for n in given_["counts"]]
    assert totals == expect["MiB"]
    assert [total - totals[0] for total in totals] == expect["extra_MiB"]
    assert totals[-1] / 1024 == pytest.approx(expect["last_GiB"], abs=1e-3)


def test_outputs_kept_alive_add_up():
    """One output a graph adds up; one shared buffer is as large as the largest."""
    given_, expect = case("D-MEM-03")
    row = given_["hidden"] * given_["bytes"]
    memory = memory_of({n: n * row for n in given_["rows_per_graph"]})
    assert graph_bytes(given_["rows_per_graph"], memory, PRIVATE) == expect["own_bytes"]
    assert graph_bytes(given_["rows_per_graph"], memory, LARGEST) == expect["shared_bytes"]


def test_saved_graph_memory_in_tokens():
    """Less graph memory is KV tokens: 2.67 GiB at 128 KiB a token are 21,872 tokens."""
    given_, expect = case("D-MEM-05")
    saved = given_["before_GiB"] - given_["after_GiB"]
    _, tokens = kv_tokens(saved * GIB, 128 * 1024, block_size_tokens=1)
    assert tokens == pytest.approx(expect["kv_tokens"], abs=1)


def test_maximum_concurrency():
    """Tokens over tokens a request; the engine prints the unrounded ratio."""
    given_, expect = case("D-KV-03")
    memory = memory_of({1: 0.0})
    curve = capacity_curve(
        [()],
        free_bytes=given_["kv_tokens"],
        memory=memory,
        policy=PRIVATE,
        bytes_per_token=1,
        tokens_per_request=given_["max_len"],
    )
    assert curve.kv_tokens.tolist() == [given_["kv_tokens"]]
    assert curve.concurrency[0] == pytest.approx(expect["concurrency_x"], abs=0.01)
    assert curve.requests.tolist() == [int(expect["concurrency_x"])]


def test_capacity_curve_by_hand():
    """Each graph more takes its memory from the KV cache, in whole blocks and requests."""
    # 100 bytes free, 1 byte a token, blocks of 16: 96 tokens. One graph of 10: 90 -> 80 tokens.
    curve = capacity_curve(
        [(), (1,), (1, 2)],
        free_bytes=100,
        memory=memory_of({1: 10, 2: 10}),
        policy=PRIVATE,
        bytes_per_token=1,
        tokens_per_request=20,
    )
    assert curve.num_graphs.tolist() == [0, 1, 2]
    assert curve.graph_bytes.tolist() == [0, 10, 20]
    assert curve.kv_blocks.tolist() == [6, 5, 5]
    assert curve.kv_tokens.tolist() == [96, 80, 80]
    # a request of 20 tokens holds 2 blocks
    assert curve.requests.tolist() == [3, 2, 2]
    assert curve.kv_lost.tolist() == pytest.approx([0, 1 / 6, 1 / 6])


def test_no_room_at_all_is_said():
    """Weights that exceed the card are an error with the amount that is missing."""
    with pytest.raises(SettingError, match=r"2\.00 GiB are missing"):
        capacity_curve(
            [()],
            free_bytes=-2 * GIB,
            memory=memory_of({1: 1}),
            policy=PRIVATE,
            bytes_per_token=1,
            tokens_per_request=1,
        )


def test_the_assumed_memory_meets_the_two_runs_it_follows():
    """51 graphs up to 512 took 0.59 GiB and 9 up to 256 took 0.34 GiB in a shared pool."""
    ladder = [1, 2, 4, *range(8, 257, 8), *range(272, 513, 16)]
    assert len(ladder) == 51
    memory = assumed_graph_memory()
    assert graph_bytes(ladder, memory, LARGEST) / GIB == pytest.approx(0.59, abs=0.005)
    powers = [2**i for i in range(9)]
    assert graph_bytes(powers, memory, LARGEST) / GIB == pytest.approx(0.34, abs=0.005)
    assert memory.origin is Origin.ASSUMED


@given(capture_sizes(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_sharing_never_takes_more(sizes, per_row, per_graph):
    """Largest first <= smallest first <= private, and never less than the largest graph."""
    memory = memory_of({1: per_row, 40: 40 * per_row}, graph=per_graph)
    largest, smallest, private = (
        graph_bytes(sizes, memory, p) for p in (LARGEST, SMALLEST, PRIVATE)
    )
    assert largest <= smallest + 1e-6
    assert smallest <= private + 1e-6
    assert largest >= per_row * max(sizes) + per_graph * len(sizes) - 1e-6


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 10**6))
def test_capacity_is_the_most_that_fits(free, graphs, request):
    """That many requests fit beside the graphs, one more does not."""
    n = kv_capacity(free, graphs, request)
    assert n == 0 or graphs + n * request <= free
    assert graphs + (n + 1) * request > free
