"""The dashboard in a real browser, with a real worker process behind it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.app.navigation import follow
from tests.conftest import DATA

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PATIENCE_MS = 60_000
SHOTS = os.environ.get("BUCKETWISE_SCREENSHOTS")


@pytest.fixture
def page(server, browser):
    """A fresh page; every request that leaves the dashboard's address is remembered."""
    outside = []
    tab = browser.new_page(viewport={"width": 1440, "height": 1000})
    tab.set_default_timeout(PATIENCE_MS)
    allowed = (server, server.replace("http", "ws"), "data:", "blob:")
    tab.on("request", lambda r: None if r.url.startswith(allowed) else outside.append(r.url))
    tab.goto(server)
    yield tab
    tab.close()
    assert outside == [], "the dashboard calls out to no one"


def idle(page) -> None:
    """No script run in progress."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def wait_chart(page, key: str, marks: str) -> None:
    """The chart of that key has drawn marks."""
    page.wait_for_function(
        """([key, marks]) => {
            const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
            return plot && plot._fullLayout && plot.querySelectorAll(marks).length > 0;
        }""",
        arg=[key, marks],
    )


def open_page(page, name: str) -> None:
    follow(page, name)
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible(timeout=PATIENCE_MS)
    idle(page)


def shot(page, name: str) -> None:
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


def azure_slice() -> Path:
    return next((DATA / "traces").rglob("*azure*conv*.csv"))


def test_azure_upload_to_measured_rows(page, server):
    """Upload a real trace, see the three charts, measure with a real worker, see rows arrive."""
    expect(page.get_by_role("heading", name="Workload", exact=True)).to_be_visible(
        timeout=PATIENCE_MS
    )
    page.locator('input[type="file"]').set_input_files(str(azure_slice()))
    expect(page.get_by_text("Azure").first).to_be_visible(timeout=PATIENCE_MS)
    wait_chart(page, "prompt_lengths", ".bars .point")
    wait_chart(page, "steps", ".bars .point")
    idle(page)
    shot(page, "workload")

    open_page(page, "Buckets")
    wait_chart(page, "padding", ".bars .point")
    wait_chart(page, "frontier", ".scatterlayer .point")
    shot(page, "buckets")

    open_page(page, "Break-even")
    wait_chart(page, "cumulative", ".scatterlayer .lines")
    shot(page, "break_even")

    open_page(page, "Memory")
    wait_chart(page, "capacity", ".scatterlayer .lines")
    shot(page, "memory")

    open_page(page, "Measure")
    page.get_by_role("textbox", name="Sizes to measure").fill("1, 2, 4")
    page.get_by_role("spinbutton", name="Samples a size").fill("5")
    page.get_by_test_id("stBaseButton-primaryFormSubmit").click()
    expect(page.get_by_text(re.compile("3 of 3 sizes, done"))).to_be_visible(timeout=PATIENCE_MS)
    wait_chart(page, "measured_times", ".scatterlayer .point")
    expect(page.get_by_text("CUDA graphs: unavailable").first).to_be_visible()
    shot(page, "measure")


def test_a_phone_sees_the_same(browser, server):
    """At 390 pixels the example's charts are drawn and nothing is wider than the screen."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(PATIENCE_MS)
    for name, key, marks in (
        ("", "steps", ".bars .point"),
        ("buckets", "padding", ".bars .point"),
        ("break_even", "cumulative", ".scatterlayer .lines"),
        ("memory", "capacity", ".scatterlayer .lines"),
    ):
        page.goto(f"{server}/{name}?example=1")
        wait_chart(page, key, marks)
        idle(page)
        shot(page, f"phone_{name or 'workload'}")
        width = page.evaluate("document.scrollingElement.scrollWidth")
        assert width <= 390, f"{name or 'workload'} is {width} pixels wide"
    page.close()


def click_mark(page, key: str, marks: str, index: int = 0) -> None:
    """The mouse on a mark: Plotly's drag layer lies above the marks themselves."""
    mark = page.locator(f".st-key-{key} {marks}").nth(index)
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_a_click_edits_the_own_list(page, server):
    """A click on a bar adds its size to the own list; one on the frontier takes its list over."""
    data = b"batch,count\n1,10\n3,10\n5,10\n8,10\n"
    files = [{"name": "batches.csv", "mimeType": "text/csv", "buffer": data}]
    page.locator('input[type="file"]').set_input_files(files=files)
    wait_chart(page, "steps", ".bars .point")
    open_page(page, "Buckets")
    wait_chart(page, "padding", ".bars .point")
    own = page.get_by_role("textbox", name="My list")
    own.fill("1, 8")
    own.press("Enter")
    idle(page)
    page.wait_for_timeout(500)
    click_mark(page, "padding", ".bars .point", index=2)  # size 5, the third bar of the first row
    expect(own).to_have_value("1, 5, 8", timeout=PATIENCE_MS)
    expect(page.get_by_text("Added 5:")).to_be_visible(timeout=PATIENCE_MS)
    idle(page)
    page.get_by_role("radio", name="Step time").click()
    wait_chart(page, "trade_off", ".scatterlayer .point")
    idle(page)
    page.wait_for_timeout(500)
    click_mark(page, "trade_off", ".scatterlayer .point", index=1)  # the best set of two graphs
    expect(own).not_to_have_value("1, 5, 8", timeout=PATIENCE_MS)
