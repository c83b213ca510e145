"""A run of the Serve page in a real browser: it shows progress and can be cancelled."""

from __future__ import annotations

import re

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PATIENCE_MS = 60_000


def test_a_run_is_cancelled_and_says_what_is_done(server, browser):
    """One seat and drafts make a run of many seconds; Cancel ends it and leaves the page whole."""
    page = browser.new_page(viewport={"width": 1440, "height": 1400})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{server}/serve?example=1&seqs=1")
    page.get_by_text("Advanced: prefill").click()
    drafts = page.get_by_role("spinbutton", name="Draft tokens")
    drafts.fill("1")
    drafts.press("Enter")
    expect(page.get_by_role("spinbutton", name="Acceptance")).to_be_enabled()
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.get_by_role("button", name="Serve the requests with each set").click()
    expect(page.get_by_text(re.compile(r"Serving with .* of \d+"))).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text(re.compile(r"\d of them done with these settings"))).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.get_by_role("button", name="Serve the requests with each set")).to_be_enabled()
    page.close()
