"""The graph memory of a set is one number, whichever page or file shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app import theme
from app.report.decision_sections import sets_section
from app.report.document import Table
from core.graph_memory import GraphLists, shipped_graph_memory
from core.memory import graph_bytes
from core.records import PoolPolicy, StepHistogram
from core.step_cost import assumed_graph_memory
from core.study.prices import ASSUMED_SHAPE
from tests.app.apptest import KV_TOKENS, open_app, table_row, texts, to_page
from tests.app.report_work import plain_work
from tests.app.session_steps import kept_session
from tests.app.test_compare import compared, own_list, row

pytestmark = pytest.mark.usefixtures("own_database")

SIZES = (1, 2, 4, 8)
POLICIES = (PoolPolicy.PRIVATE, PoolPolicy.SHARED_LARGEST_FIRST)


def by_hand(policy: PoolPolicy) -> float:
    """Pools added up where each graph keeps its own; else the largest alone [bytes]."""
    memory = assumed_graph_memory()
    each = [graph_bytes([size], memory, policy) - memory.fixed_bytes for size in SIZES]
    own = [graph_bytes([size], replace(memory, pool_bytes=0 * memory.pool_bytes), policy)
           - memory.fixed_bytes for size in SIZES]  # fmt: skip
    pools = [whole - alone for whole, alone in zip(each, own, strict=True)]
    taken = sum(pools) if policy is PoolPolicy.PRIVATE else max(pools)
    return memory.fixed_bytes + sum(own) + taken


def of_vllm(policy: PoolPolicy) -> float:
    """vLLM captures each size twice, as a full graph and between the attentions [bytes]."""
    lists = GraphLists(full=SIZES, piecewise=SIZES)
    return shipped_graph_memory("vllm").predict(lists, ASSUMED_SHAPE, policy).total_bytes


def test_private_pools_take_more():
    """Or the tests below could not tell the two apart."""
    assert of_vllm(PoolPolicy.PRIVATE) > 1.01 * of_vllm(PoolPolicy.SHARED_LARGEST_FIRST)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_pages_show_the_memory_of_the_chosen_pool(policy: PoolPolicy):
    """Buckets, Memory and Compare, after the pool is chosen on the Memory page."""
    at, session_id = kept_session()
    own_list(at, "1, 2, 4, 8")
    to_page(at, "memory.py")
    at.selectbox(key="policy").set_value(policy).run()
    expected = theme.bytes_text(of_vllm(policy))
    assert table_row(at, "bucket set", "My list")["graph memory"] == str(expected)
    to_page(at, "buckets.py")
    assert table_row(at, "bucket set", "My list")["graph memory"] == str(expected)
    side = compared(first=session_id, second=session_id)
    side.toggle(key="compare_only").set_value(False).run()
    newest = row(side, "My list", "graph memory")
    assert str(expected) in newest.values()


@pytest.mark.parametrize("policy", POLICIES)
def test_the_engines_list_takes_the_same_in_the_verdict_and_on_every_page(policy: PoolPolicy):
    """What runs today beside vLLM's default on Buckets, Memory and Serve: memory and KV tokens."""
    at = open_app("memory.py", example="1")
    at.selectbox(key="policy").set_value(policy).run()
    memory = table_row(at, "bucket set", "vLLM default")
    to_page(at, "buckets.py")
    today = table_row(at, "list", "today")
    buckets = table_row(at, "bucket set", "vLLM default")
    assert today["graph memory"] == buckets["graph memory"] == memory["graph memory"]
    to_page(at, "serve.py")
    at.button(key="serve").click().run()
    served = table_row(at, "bucket set", "vLLM default")
    assert today["KV tokens"] == memory["KV tokens"] == served["KV tokens"]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_report_shows_the_memory_of_the_chosen_pool(policy: PoolPolicy):
    """The table of its sets, for a list of 1, 2, 4 and 8."""
    work = plain_work(StepHistogram.from_mapping({1: 1, 3: 1, 5: 1, 8: 1}))
    work = replace(work, best=replace(work.best, policy=policy))
    table = next(block for block in sets_section(work).blocks if isinstance(block, Table))
    (shown,) = [r for r in table.rows if r["bucket set"] == "My list"]
    assert str(shown["graph memory"]) == str(theme.bytes_text(by_hand(policy)))


def test_an_engine_that_sizes_its_kv_cache_first_loses_no_kv_token():
    """LMDeploy's graphs use memory that its KV cache leaves: all pages show the whole cache."""
    at = open_app("engine.py", example="1")
    at.selectbox(key="engine").set_value("lmdeploy").run()
    to_page(at, "memory.py")
    row = table_row(at, "bucket set", "Powers of two")
    assert row["KV tokens"] == f"{KV_TOKENS:,}" and row["KV cache lost"] == "0.0 %"
    assert "LMDeploy" in texts(at) and "sized first" in texts(at)
    to_page(at, "buckets.py")
    assert table_row(at, "list", "today")["KV tokens"] == f"{KV_TOKENS:,}"
    to_page(at, "serve.py")
    at.button(key="serve").click().run()
    assert table_row(at, "bucket set", "Powers of two")["KV tokens"] == f"{KV_TOKENS:,}"
