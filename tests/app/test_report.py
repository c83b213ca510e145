"""The report: one file with the numbers of the pages, in which no text does anything."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from app import compute, theme
from app.report.build import SECTIONS, build_report
from app.report.document import Code, Report, Section, Table, said
from app.report.html import report_html
from app.report.markup import Markup, element, escaped
from core.buckets import frontier
from core.records import BucketSet, PoolPolicy, SizeUnit, StepHistogram
from core.simulate import Machine, simulate
from core.study.build import graph_memory_by_size
from core.study.graphs import EngineChoice
from core.study.prices import ASSUMED_SHAPE
from tests.app.apptest import KV_TOKENS, open_app, table_row
from tests.app.report_work import HOSTILE, SHOWN, SIZES, hostile_work, plain_work, with_serving

pytestmark = pytest.mark.usefixtures("own_database")

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
BATCHES = StepHistogram.from_mapping({1: 1, 3: 1, 5: 1, 8: 1}, duration_s=10.0)


class Page(HTMLParser):
    """Elements, attributes and texts of a page; scripts' texts apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        tag = self.tags[-1][0] if self.tags else ""
        if tag == "script":
            self.scripts.append(data)
            return
        self.text += data
        if tag in ("td", "th"):
            self.rows[-1][-1] += data

    def row(self, first: str, column: str) -> str:
        """A cell of the first table with this column that has a row so named."""
        header: list[str] = []
        for cells in self.rows:
            if column in cells:
                header = cells
            elif header and cells and cells[0] == first:
                return cells[header.index(column)]
        raise AssertionError(f"no row {first!r} with {column!r}")


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(report_html(build_report(with_serving(plain_work(BATCHES)), NOW)))


@pytest.fixture(scope="module")
def hostile() -> Page:
    return Page(report_html(build_report(hostile_work(BATCHES), NOW)))


def test_numbers_are_those_of_core(page):
    """Batches 1, 3, 5, 8 on 1, 2, 4, 8: 4 of 21 slots are padding, 19.0 %."""
    assert page.row("My list", "waste") == "19.0 %"
    assert page.row("My list", "padded slots") == "4"
    work = plain_work(BATCHES)
    run = compute.replayed(BATCHES, SIZES)
    assert page.row("My list", "mean step") == theme.us_text(compute.step_us(run, work.view.cost))
    whole = compute.bucket_break_even(BATCHES, SIZES, work.view.cost, 3600.0).whole
    assert whole.saves_from is not None
    assert f"saves from step{whole.saves_from:,}" in page.text


def test_every_part_is_there(page):
    """All sections, the notes and the session's name, version and date."""
    headings = page.text
    for title, _ in SECTIONS:
        assert title.split(":")[0] in headings
    assert "Notes" in headings and "First line\nsecond line" in headings
    assert "version 3, 2026-03-04 05:06 UTC" in headings
    assert "cudagraph_capture_sizes" in headings or "capture-sizes" in headings
    assert page.row("step times", "is") == "assumed"


def test_what_cannot_be_computed_says_why():
    """Without a readable model the section stands with the reason, the others are whole."""
    report = build_report(replace(plain_work(BATCHES), memory=None), NOW)
    (section,) = [s for s in report.sections if s.title == "Memory and KV cache"]
    assert "cannot be read" in section.blocks[0].lines[0]  # pyright: ignore
    assert len(report.sections) >= 8


def test_runs_of_other_settings_are_not_told():
    """Without a run of the present settings there is no serving section."""
    work = with_serving(plain_work(BATCHES))
    assert any(s.title == "Serving" for s in build_report(work, NOW).sections)
    assert work.served is not None
    stale = replace(work, served=replace(work.served, runs=()))
    assert not any(s.title == "Serving" for s in build_report(stale, NOW).sections)


def test_no_text_becomes_an_element(page, hostile):
    """Harmful names are shown as they are written; no element, link or script comes of them."""
    assert {tag for tag, _ in hostile.tags} == {tag for tag, _ in page.tags}
    assert hostile.text.count(SHOWN) >= 10
    assert "\x1b" not in hostile.text
    for tag, attributes in hostile.tags:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        link = attributes.get("href") or attributes.get("src") or ""
        assert re.fullmatch(r"(#s\d+)?", link), link


def test_the_policy_lets_only_two_scripts_run():
    """Nothing by default, two digests for scripts, no word that would let others in."""
    text = report_html(Report("x", "y", ()))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    parts = dict(part.split(" ", 1) for part in policy.replace("&#x27;", "'").split("; "))
    assert parts["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]{44}' 'sha256-[\w+/=]{44}'", parts["script-src"])
    assert "connect-src" not in parts and "unsafe-eval" not in policy
    assert "http" not in policy


def test_chart_data_cannot_end_its_script(hostile):
    """The JSON of the charts holds no sign that HTML would read; Plotly gets names as entities."""
    (data,) = [text for text in hostile.scripts if text.startswith("[{")]
    assert not set("<>&") & set(data)
    specs = json.loads(data)
    assert len(specs) >= 9
    assert sum("data-chart" in attributes for _, attributes in hostile.tags) == len(specs)
    for trace in (trace for spec in specs for trace in spec["data"]):
        trace.pop("legendgroup", None)  # groups entries, is never drawn
    assert "&lt;b&gt;bold" in json.dumps(specs)
    assert "<b>" not in json.dumps(specs)


def test_markup_is_escaped_once():
    """Text is escaped, markup is not escaped again, attributes are quoted."""
    inner = element("em", "a & b")
    assert element("p", inner, "<", class_='x"y') == (
        '<p class="x&quot;y"><em>a &amp; b</em>&lt;</p>'
    )
    assert escaped(Markup("<i>")) == "<i>"
    assert element("pre", "a\nb") == "<pre>a\nb</pre>"


def test_an_empty_report_is_a_page():
    """Sections without rows or lines do not break it."""
    blocks = (Table([]), said(), Code(""))
    page = Page(report_html(Report(HOSTILE, "", (Section("Empty", blocks),))))
    assert SHOWN in page.text


def test_the_report_tells_what_the_page_shows():
    """The example's comparison table is the same on the Buckets page and in the report."""
    at = open_app("buckets.py", example="1")
    held = at.session_state["bucketwise"]
    shown = table_row(at, "bucket set", "Best possible, K=16")
    work = plain_work(BATCHES)
    trace = held.workload.reading.trace
    sizes = compute.engine_default(
        "vllm", None, {"max_num_seqs": 256, "max_num_batched_tokens": 8192}, SizeUnit.REQUESTS
    ).sizes
    machine = Machine(kv_tokens=KV_TOKENS, max_num_seqs=256, max_num_batched_tokens=8192)
    steps = simulate(trace, machine, work.view.cost, sizes).decode_slots
    best = frontier(steps, max_graphs=64).at(16).sizes
    item = replace(work.sets[0], bucket_set=BucketSet("Best possible, K=16", best))
    vllm = graph_memory_by_size(
        *(EngineChoice("vllm"), ASSUMED_SHAPE, 256, PoolPolicy.SHARED_LARGEST_FIRST)
    )
    view = replace(work.view, memory=vllm)
    made = replace(work, traffic=replace(work.traffic, histogram=steps), sets=(item,), view=view)
    page = Page(report_html(build_report(made, NOW)))
    for column in ("graphs", "waste", "coverage", "padded slots", "mean step", "graph memory"):
        assert page.row("Best possible, K=16", column) == str(shown[column])


def test_the_button_stands_where_there_is_work():
    """On Buckets, Engine and Sessions, once there is traffic; nowhere before."""
    for name in ("buckets.py", "engine.py", "sessions.py"):
        labels = [b.proto.label for b in open_app(name, example="1").get("download_button")]
        assert "Report as HTML" in labels, name
        labels = [b.proto.label for b in open_app(name).get("download_button")]
        assert "Report as HTML" not in labels
