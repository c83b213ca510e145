"""Files of the page on graphs that do not pay, in a real browser: an uploader keeps its own."""

from __future__ import annotations

import pytest

from tests.app.navigation import follow
from tests.conftest import DATA

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PATIENCE_MS = 60_000
OFF = "No step replays a graph (enforce_eager=True)"


def test_files_stay_over_pages_until_they_are_forgotten(browser, server):
    """A log that says graphs are off is still in use after a visit elsewhere; forgotten it is gone
    from the uploader too, and can be given again."""
    log = str(DATA / "engine_logs" / "vllm-0.23-h200-eager.log")
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{server}/not_faster?example=1")
    verdict, in_use = page.get_by_text(OFF), page.get_by_text("In use: vllm-0.23-h200-eager.log")
    for visit in ("first", "again"):
        page.set_input_files("input[type=file]", [log])
        expect(verdict).to_be_visible(timeout=PATIENCE_MS)
        follow(page, "Diagnose")
        expect(page.get_by_label("Log or traceback")).to_be_visible(timeout=PATIENCE_MS)
        follow(page, "Not faster?")
        expect(in_use).to_be_visible(timeout=PATIENCE_MS)
        expect(verdict).to_be_visible(timeout=PATIENCE_MS)
        page.get_by_role("button", name="Forget").click()
        expect(in_use, f"{visit} time").to_have_count(0, timeout=PATIENCE_MS)
        expect(page.get_by_text("Your graphs do help")).to_be_visible(timeout=PATIENCE_MS)
    page.close()
