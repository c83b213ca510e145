"""A sweep sent as a job in a real browser, watched and deleted on the Queue page of a phone."""

from __future__ import annotations

import re

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]

PATIENCE_MS = 90_000


def test_a_sweep_is_sent_watched_and_deleted(server, browser):
    """Rows come in without a click; the page is left and the job seen on the Queue page, which is
    no wider than a phone; Delete asks first, and then the job is gone from both pages."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{server}/serve?example=1")
    page.get_by_role("button", name=re.compile("as a job")).click()
    expect(page.get_by_text(re.compile(r"Job done\. \d+ of \d+ runs served"))).to_be_visible(
        timeout=PATIENCE_MS
    )
    expect(page.get_by_text("Best set for this traffic at load x1")).to_be_visible()
    sent = re.search(r"sweep=([0-9a-f]{32})", page.url)
    assert sent, page.url

    page.goto(f"{server}/queue")
    job = page.locator("[data-testid=stVerticalBlock]").filter(
        has=page.locator(f".st-key-open_{sent[1]}")
    )
    expect(job.last).to_contain_text("Sweep of")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    job.last.get_by_role("button", name="Delete").click()
    page.locator(f".st-key-delete_{sent[1]} button").click()
    expect(page.locator(f".st-key-open_{sent[1]}")).to_have_count(0, timeout=PATIENCE_MS)

    page.goto(f"{server}/serve?example=1&sweep={sent[1]}")
    expect(page.get_by_text(re.compile("There is no job"))).to_be_visible(timeout=PATIENCE_MS)
    page.close()
