"""The graph memory of a set is one number, whichever page or file shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app import theme
from app.report.decision_sections import sets_section
from app.report.document import Table
from core.memory import graph_bytes
from core.records import PoolPolicy, StepHistogram
from core.step_cost import assumed_graph_memory
from tests.app.apptest import table_row, to_page
from tests.app.report_work import plain_work
from tests.app.session_steps import kept_session
from tests.app.test_compare import compared, own_list, row

pytestmark = pytest.mark.usefixtures("own_database")

SIZES = (1, 2, 4, 8)


def by_hand(policy: PoolPolicy) -> float:
    """Pools added up where each graph keeps its own; else the largest alone [bytes]."""
    memory = assumed_graph_memory()
    each = [graph_bytes([size], memory, policy) - memory.fixed_bytes for size in SIZES]
    own = [graph_bytes([size], replace(memory, pool_bytes=0 * memory.pool_bytes), policy)
           - memory.fixed_bytes for size in SIZES]  # fmt: skip
    pools = [whole - alone for whole, alone in zip(each, own, strict=True)]
    taken = sum(pools) if policy is PoolPolicy.PRIVATE else max(pools)
    return memory.fixed_bytes + sum(own) + taken


@pytest.mark.parametrize("policy", [PoolPolicy.PRIVATE, PoolPolicy.SHARED_LARGEST_FIRST])
def test_the_pages_show_the_memory_of_the_chosen_pool(policy: PoolPolicy):
    """Buckets, Memory and Compare, after the pool is chosen on the Memory page."""
    at, session_id = kept_session()
    own_list(at, "1, 2, 4, 8")
    to_page(at, "memory.py")
    at.selectbox(key="policy").set_value(policy).run()
    expected = theme.bytes_text(by_hand(policy))
    assert table_row(at, "bucket set", "My list")["graph memory"] == str(expected)
    to_page(at, "buckets.py")
    assert table_row(at, "bucket set", "My list")["graph memory"] == str(expected)
    side = compared(first=session_id, second=session_id)
    side.toggle(key="compare_only").set_value(False).run()
    newest = row(side, "My list", "graph memory")
    assert str(expected) in newest.values()


@pytest.mark.parametrize("policy", [PoolPolicy.PRIVATE, PoolPolicy.SHARED_LARGEST_FIRST])
def test_the_report_shows_the_memory_of_the_chosen_pool(policy: PoolPolicy):
    """The table of its sets, for a list of 1, 2, 4 and 8."""
    work = plain_work(StepHistogram.from_mapping({1: 1, 3: 1, 5: 1, 8: 1}))
    work = replace(work, best=replace(work.best, policy=policy))
    table = next(block for block in sets_section(work).blocks if isinstance(block, Table))
    (shown,) = [r for r in table.rows if r["bucket set"] == "My list"]
    assert str(shown["graph memory"]) == str(theme.bytes_text(by_hand(policy)))
