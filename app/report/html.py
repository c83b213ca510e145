"""A report as one HTML file: every text escaped, charts live, and a policy that lets nothing in.

The policy names the digests of the only two scripts that may run, Plotly's own and page.js, and
forbids every connection, so a text that slipped through could neither run nor call anybody.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from app.charts.figure_data import title_of
from app.charts.literal import literal_figure
from app.drawing.quantity import Quantity
from app.report.document import Block, Chart, Code, Facts, Report, Section, Sentences, Table
from app.report.markup import Markup, element, escaped, joined
from core.text.plain_text import file_stem

FOLDER = Path(__file__).parent
LONG_TEXT = 50
NO_SCRIPT = "Charts need JavaScript, which is off here; the tables hold their numbers."


@lru_cache(maxsize=1)
def _packed_plotly() -> tuple[str, str]:
    """Plotly's script, packed for the page, and its digest for the policy.

    The whole script, since plotly.py brings no smaller one: packed it is a third of its size.
    """
    code = get_plotlyjs().encode()
    return base64.b64encode(gzip.compress(code, 9, mtime=0)).decode(), _digest(code)


def _digest(code: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code).digest()).decode()}'"


def report_html(report: Report) -> str:
    """The whole file."""
    packed, plotly_digest = _packed_plotly()
    script = (FOLDER / "page.js").read_text("utf-8")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digest(script.encode())} {plotly_digest}",
            "style-src 'unsafe-inline'",  # Plotly sets styles of the elements it draws
            "img-src data: blob:",  # a chart saved as a picture
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = joined(
        (
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{escaped(policy)}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="referrer" content="no-referrer">'),
            element("title", report.title),
            element("style", Markup((FOLDER / "page.css").read_text("utf-8"))),
        )
    )
    data = (
        element("script", Markup(_specs(report.figures)), type="application/json", id="charts"),
        element("script", Markup(packed), type="text/plain", id="plotly"),
        element("script", Markup(script)),
    )
    body = element("body", _main(report), *data)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>{body}</html>\n'


def _specs(figures: Sequence[go.Figure]) -> str:
    """The figures as JSON that cannot end its script element."""
    specs = [_spec(figure) for figure in figures]
    text = json.dumps(specs, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _spec(figure: go.Figure) -> dict[str, Any]:
    spec: Any = json.loads(literal_figure(figure).to_json() or "{}")
    spec["layout"].pop("template", None)  # Plotly's default look, which page.js replaces
    return {"data": spec["data"], "layout": spec["layout"]}


def _main(report: Report) -> Markup:
    links = (
        element("a", section.title, href=f"#s{i}") for i, section in enumerate(report.sections)
    )
    counter = iter(range(len(report.figures)))
    return joined(
        (
            element("header", element("h1", report.title), element("p", report.subtitle)),
            element("nav", *links),
            element("noscript", element("p", NO_SCRIPT, class_="problem")),
            *(_section(section, i, counter) for i, section in enumerate(report.sections)),
            element(
                "footer",
                "Made by Bucketwise. This file needs no server and no network, and sends nothing.",
            ),
        )
    )


def _section(section: Section, number: int, counter: Any) -> Markup:
    origin = element("p", section.origin, class_="origin") if section.origin else Markup("")
    blocks = (_block(block, counter) for block in section.blocks)
    return element("section", element("h2", section.title), origin, *blocks, id=f"s{number}")


def _block(block: Block, counter: Any) -> Markup:
    match block:
        case Sentences():
            return _sentences(block)
        case Facts():
            pairs = (
                element("div", element("dt", label), element("dd", value))
                for label, value in block.items.items()
            )
            return element("dl", *pairs)
        case Table():
            return _table(block)
        case Code():
            return element("pre", element("code", block.text))
        case Chart():
            name = f"bucketwise-{file_stem(title_of(block.figure))}"
            return element("div", class_="chart", data_chart=str(next(counter)), data_name=name)


def _sentences(block: Sentences) -> Markup:
    style = {"class_": "quiet"} if block.quiet else {}
    if not block.lines:
        return Markup("")
    if len(block.lines) == 1:
        return element("p", block.lines[0], **style)
    return element("ul", *(element("li", line) for line in block.lines), **style)


def _style(cells: Sequence[object]) -> dict[str, str]:
    """Numbers stand at the right; a column of long texts is wide."""
    if any(isinstance(cell, (Quantity, int, float)) for cell in cells):
        return {"class_": "number"}
    return {"class_": "long"} if any(len(str(cell)) > LONG_TEXT for cell in cells) else {}


def _table(block: Table) -> Markup:
    names = list(dict.fromkeys(name for row in block.rows for name in row))
    styles = {name: _style([row.get(name) for row in block.rows]) for name in names}

    def cell(tag: str, name: str, value: object) -> Markup:
        return element(tag, "" if value is None else value, **styles[name])

    head = element("tr", *(cell("th", name, name) for name in names))
    rows = (
        element("tr", *(cell("td", name, row.get(name)) for name in names)) for row in block.rows
    )
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("div", table, class_="table")
