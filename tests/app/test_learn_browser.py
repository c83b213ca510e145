"""The Learn page in a real browser, wide and on a phone."""

from __future__ import annotations

import pytest

from app.learning.lessons import LESSONS

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PATIENCE_MS = 60_000
CHARTS = {
    1: "learn_graph",
    3: "learn_rebound_chart",
    4: "learn_counters",
    6: "learn_kv",
    7: "learn_slots",
    8: "learn_payback",
    9: "learn_budget",
    10: "learn_streams",
    11: "learn_launches",
    12: "learn_hits",
}


def open_learn(browser, server: str, width: int):
    """The page with the example; requests to other addresses are collected."""
    outside: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(PATIENCE_MS)
    allowed = (server, server.replace("http", "ws"), "data:", "blob:")
    page.on("request", lambda r: None if r.url.startswith(allowed) else outside.append(r.url))
    page.goto(f"{server}/learn?example=1")
    heading = page.get_by_role("heading", name="Learn", exact=True)
    expect(heading).to_be_visible(timeout=PATIENCE_MS)
    return page, outside


def choose(page, number: int) -> None:
    """Another lesson, until its heading is there and nothing runs."""
    title = list(LESSONS)[number - 1]
    page.get_by_role("combobox", name="Lesson").click()
    page.get_by_role("combobox", name="Lesson").fill(title)  # the list shows ten at a time
    page.get_by_role("option", name=title, exact=True).click()
    expect(page.get_by_role("heading", name=title)).to_be_visible(timeout=PATIENCE_MS)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def wait_chart(page, key: str) -> None:
    page.wait_for_function(
        """key => {
            const plot = document.querySelector(`.st-key-${key} .js-plotly-plot`);
            return plot && plot._fullLayout && plot.querySelectorAll('.point, .js-line').length > 0;
        }""",
        arg=key,
    )


def test_two_replays_and_a_missing_wait(browser, server):
    """Guess 17 and 10 and be told so; leave a wait out and see wrong orders; fold a derivation
    out; nothing is asked of another address."""
    page, outside = open_learn(browser, server, 1440)
    choose(page, 2)
    page.get_by_role("spinbutton", name="a holds").fill("17")
    page.get_by_role("spinbutton", name="b holds").fill("10")
    page.get_by_role("spinbutton", name="b holds").press("Enter")
    expect(page.get_by_text("Right: a = 17, b = 10")).to_be_visible(timeout=PATIENCE_MS)
    wait_chart(page, "learn_two_replays")
    page.get_by_text("How this follows").click()
    expect(page.get_by_text("other memory, holds")).to_be_visible(timeout=PATIENCE_MS)
    choose(page, 10)
    page.get_by_text("copy waits for replay", exact=True).click()
    expect(page.get_by_text("Right would be 10, 17, 26")).to_be_visible(timeout=PATIENCE_MS)
    page.close()
    assert outside == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_every_lesson_fits_the_screen(browser, server, width):
    """Each lesson draws its chart, shows no error, and is no wider than the screen."""
    page, outside = open_learn(browser, server, width)
    for number in range(1, len(LESSONS) + 1):
        if number > 1:
            choose(page, number)
        if number in CHARTS:
            wait_chart(page, CHARTS[number])
        assert page.locator('[data-testid="stException"]').count() == 0
        found = page.evaluate("document.scrollingElement.scrollWidth")
        assert found <= width, f"lesson {number} is {found} pixels wide"
    page.close()
    assert outside == []
