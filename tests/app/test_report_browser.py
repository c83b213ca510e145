"""The report in a real browser without network: charts drawn, no text run, nothing called."""

from __future__ import annotations

import csv
import io
import re
import time
from datetime import UTC, datetime

import pytest

from app.report.build import build_report
from app.report.html import report_html
from core.records import StepHistogram
from tests.app.report_work import hostile_work

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.usefixtures("own_database"),
]
PATIENCE_MS = 60_000
CELLS = """name => {
    for (const table of document.querySelectorAll("table")) {
        const names = Array.from(table.rows[0].cells, cell => cell.textContent);
        for (const row of table.rows)
            if (row.cells[0].textContent === name && names.includes("waste"))
                return Object.fromEntries(names.map((n, i) => [n, row.cells[i].textContent]));
    }
}"""


def until(page, expression: str) -> None:
    """Wait for a truth; Playwright's own waiting runs texts as code, which the policy forbids."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


@pytest.fixture(scope="module")
def hostile() -> str:
    """A report in which every name from outside would do harm."""
    batches = StepHistogram.from_mapping({1: 1, 3: 1, 5: 1, 8: 1}, duration_s=10.0)
    return report_html(build_report(hostile_work(batches), datetime.now(UTC)))


def opened(browser, path, **options):
    """The file in a browser without network; the page and all that it said, asked or ran."""
    context = browser.new_context(offline=True, **options)
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (heard.append("dialog"), dialog.dismiss()))
    page.on("request", lambda r: None if r.url == path.as_uri() else heard.append(r.url))
    page.goto(path.as_uri())
    until(page, "document.documentElement.dataset.drawn")
    return page, heard


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_text_runs_and_every_chart_is_drawn(browser, hostile, tmp_path, scheme):
    """Names that are scripts, images and escapes: shown, never run; no request, no complaint."""
    path = tmp_path / "report.html"
    path.write_text(hostile, "utf-8")
    page, heard = opened(browser, path, color_scheme=scheme)
    charts = page.locator(".chart").count()
    assert charts >= 9
    assert page.locator(".chart > .js-plotly-plot, .chart.js-plotly-plot").count() == charts
    assert page.locator(".main-svg").count() >= 2 * charts
    assert page.evaluate("window.hit") is None
    assert page.locator("svg a").count() == 0 and page.locator("main img").count() == 0
    assert page.evaluate("document.body.innerText").count("window.hit=1</script>") >= 10
    paper = page.evaluate("document.querySelector('.chart')._fullLayout.paper_bgcolor")
    assert paper == {"light": "#ffffff", "dark": "#111714"}[scheme]
    page.emulate_media(color_scheme="light")
    until(page, "document.querySelector('.chart')._fullLayout.paper_bgcolor === '#ffffff'")
    assert heard == []
    page.context.close()


def test_what_a_script_would_do_is_forbidden(browser, hostile, tmp_path):
    """Were a text to get through as an element after all, the policy stops it."""
    broken = hostile.replace("<body>", "<body><script>window.hit=1</script>", 1)
    assert broken != hostile
    path = tmp_path / "broken.html"
    path.write_text(broken, "utf-8")
    page, heard = opened(browser, path)
    assert page.evaluate("window.hit") is None
    assert any("Content Security Policy" in line for line in heard)
    page.context.close()


def test_the_button_gives_the_report_of_the_page(server, browser, tmp_path):
    """One press; the file's numbers are those of the page's own CSV."""
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{server}/buckets?example=1")
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    with page.expect_download() as download:
        page.locator(".st-key-comparison_csv button").first.click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8"))))
    with page.expect_download() as download:
        page.locator(".st-key-report button").first.click()
    assert re.fullmatch(r"bucketwise-[a-z0-9-]+\.html", download.value.suggested_filename)
    path = tmp_path / "report.html"
    download.value.save_as(path)
    page.close()
    report, heard = opened(browser, path)
    assert len(rows) == 3
    for row in rows:
        cells = report.evaluate(CELLS, row["bucket set"])
        assert cells["padded slots"].replace(",", "") == row["padded slots"]
        assert cells["waste"] == f"{float(row['waste [%]']):.1f} %"
        assert cells["mean step"] == f"{float(row['mean step [us]']) / 1000:.2f} ms"
    assert heard == []
    report.context.close()
