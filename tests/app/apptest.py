"""Helpers for AppTest: open pages, read Plotly figures back as numbers."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.conftest import ROOT

TIMEOUT_S = 60
PAGES = tuple(sorted(path.name for path in (ROOT / "app" / "app_pages").glob("[a-z]*.py")))
# 80 GiB * 0.9 - 4 GiB - 2 bytes for each of a Llama 8B's 8,029,995,008 weights, in blocks of
# 16 tokens of 2 * 32 layers * 8 heads * 128 * 2 bytes.
KV_TOKENS = (68 * 2**30 - 2 * 8_029_995_008) // (16 * 131_072) * 16
"""KV cache of the simulated engine where nobody chose a card, a model or a size."""
BATCHES = b"batch,count\n1,1\n3,1\n5,1\n8,1\n"


def open_app(page: str | None = None, **query: str) -> AppTest:
    """The app, run once; `page` is a file name under app/app_pages."""
    at = AppTest.from_file(str(ROOT / "app" / "streamlit_app.py"), default_timeout=TIMEOUT_S)
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    if page is not None:
        at.switch_page(f"app_pages/{page}").run()
    assert not at.exception, at.exception
    return at


def figure(at: AppTest, title: str) -> dict[str, Any]:
    """The one figure whose title holds `title`."""
    specs = [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]
    found = [s for s in specs if title in s["layout"].get("title", {}).get("text", "")]
    titles = [s["layout"].get("title", {}).get("text") for s in specs]
    assert len(found) == 1, f"{title!r} among {titles}"
    return found[0]


def numbers(values: Any) -> list[float]:
    """A list from Plotly's JSON, where arrays are packed as base64."""
    if isinstance(values, dict):
        raw = base64.b64decode(values["bdata"])
        return np.frombuffer(raw, values["dtype"]).tolist()
    return list(values)


def texts(at: AppTest) -> str:
    """Everything written on the page as people read it, for sentences."""
    kinds = (at.markdown, at.caption, at.info, at.warning, at.error, at.title, at.header)
    return shown("\n".join(element.value for kind in kinds for element in kind))


def shown(text: str) -> str:
    """Markdown without its escapes."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def table_row(at: AppTest, column: str, value: object) -> dict[str, Any]:
    """The first row, of any table on the page, whose `column` is `value`."""
    for frame in (element.value for element in at.dataframe):
        if column in frame.columns:
            rows = frame[frame[column] == value]
            if len(rows):
                return rows.iloc[0].to_dict()
    raise AssertionError(f"no table row with {column} = {value!r}")


def with_file(data: bytes, name: str) -> AppTest:
    """The Workload page after an upload."""
    at = open_app()
    at.file_uploader(key="upload").set_value((name, data, "text/csv")).run()
    assert not at.exception, at.exception
    return at


def to_page(at: AppTest, page: str) -> AppTest:
    """The same browser on another page."""
    at.switch_page(f"app_pages/{page}").run()
    assert not at.exception, at.exception
    return at
