"""A tab without a browser speaks to a real Streamlit server, and sees errors as a person would."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.reliability.dashboard import Server
from benchmarks.reliability.processes import STREAMLIT
from benchmarks.reliability.wire import Run, Tab
from tests import own_loop

SCRIPT = """
import streamlit as st

n = st.number_input("n", 1, 100, 16, key="n")
st.plotly_chart({"data": [{"y": list(range(3000))}], "layout": {"title": {"text": f"n = {n}"}}},
                key="chart")
st.plotly_chart({"data": [{"y": list(range(3000))}], "layout": {}}, key="same")
if n == 13:
    st.error("thirteen")
if n == 14:
    raise ValueError("fourteen")
if n == 15:
    st.session_state["again"] = st.session_state.get("again", 0) + 1
    if st.session_state["again"] % 2:
        st.rerun()
file = st.file_uploader("f", key="file")
if file is not None:
    st.error(f"{file.name}: {file.getvalue().decode()}")
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    folder = tempfile.TemporaryDirectory(prefix="bucketwise-wire-")
    script = Path(folder.name) / "page.py"
    script.write_text(SCRIPT)
    command = [*STREAMLIT, str(script), "--server.headless", "true"]
    with Server([*command, "--client.showErrorDetails", "full"], folder) as server:
        yield server.address


def visit(address: str, *numbers: int) -> list[tuple[Run, str]]:
    """A run and the first chart for the first load and each change."""

    async def work() -> list[tuple[Run, str]]:
        async with Tab(address) as tab:
            found = [(await tab.load(), tab.charts["chart"])]
            for number in numbers:
                found.append((await tab.change({"n": number}), tab.charts["chart"]))
            return found

    return own_loop.run(work())


def test_a_change_is_drawn_before_the_run_is_said_to_end(address: str):
    """The chart shows the number of the change, also after a script that starts itself again."""
    charts = [chart for _, chart in visit(address, 3, 15, 4)]
    assert ["n = 16" in charts[0], "n = 3" in charts[1], "n = 15" in charts[2]] == [True] * 3
    assert "n = 4" in charts[3]


def test_what_the_tab_has_is_not_sent_again(address: str):
    """The chart that stays the same comes once, as in a browser: a change costs half the load."""
    (first, _), (second, _) = visit(address, 5)
    assert second.num_bytes < 0.7 * first.num_bytes
    assert first.seconds > 0 and first.errors == second.errors == ()


def test_errors_on_the_page_are_seen(address: str):
    """An error box and an exception, each on its own run."""
    runs = [run for run, _ in visit(address, 13, 14, 2)]
    assert runs[1].errors == ("thirteen",)
    assert runs[2].errors == ("ValueError: fourteen",)
    assert runs[3].errors == ()


def test_a_file_arrives_as_from_a_browser(address: str):
    """Name and bytes come to the script; without the server's own token they would be refused."""

    async def work() -> Run:
        async with Tab(address) as tab:
            await tab.load()
            return await tab.upload("file", "a.txt", b"content")

    assert own_loop.run(work()).errors == ("a.txt: content",)


def test_a_widget_that_is_not_there_is_an_error(address: str):
    """A visitor must not go on as if it had changed something."""

    async def work() -> None:
        async with Tab(address) as tab:
            await tab.load()
            await tab.change({"unheard-of": 1})

    with pytest.raises(KeyError, match="unheard-of"):
        own_loop.run(work())
