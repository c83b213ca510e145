"""Charts and tables as the pages draw them: pictures, CSV made late, texts without escapes."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from app.drawing.views import _is_numeric
from app.theme import count_text, us_text
from tests.app.apptest import open_app, to_page

pytestmark = pytest.mark.usefixtures("own_database")


def picture(at) -> dict:
    return json.loads(at.get("plotly_chart")[0].proto.config)["toImageButtonOptions"]


def test_the_camera_saves_what_the_sidebar_says():
    """PNG at twice the size, SVG once chosen, on every page; the file is named by the chart."""
    at = open_app("buckets.py", example="1")
    name = "bucketwise-slots-the-steps-of-each-size-replay"
    assert picture(at) == {"format": "png", "filename": name, "scale": 2}
    at.segmented_control(key="picture_format").set_value("SVG").run()
    assert picture(at)["format"] == "svg"
    to_page(at, "memory.py")
    assert picture(at)["format"] == "svg"
    assert picture(at)["filename"] == "bucketwise-kv-cache-left-beside-the-graphs"


def test_csv_is_made_when_it_is_asked_for(monkeypatch):
    """Drawing a page makes no CSV and no report; a button stands under each chart and table."""

    def made(*_, **__):
        raise AssertionError("made while the page was drawn")

    for name in ("figure_csv", "rows_csv"):
        monkeypatch.setattr(f"app.drawing.views.{name}", made)
    at = open_app("buckets.py", example="1")
    labels = [button.proto.label for button in at.get("download_button")]
    assert labels.count("CSV") == len(at.get("plotly_chart")) + len(at.dataframe) == 5


def test_a_table_shows_no_terminal_escapes():
    """Controls in a text from outside are taken out before it is shown."""

    def page():
        from app.drawing.views import table

        table([{"name": "red \x1b[31mname\x1b[0m\u202e", "n": 1}], "names")

    at = AppTest.from_function(page).run()
    assert not at.exception
    assert at.dataframe[0].value["name"].tolist() == ["red name"]


def test_streamlits_own_export_is_off():
    """It writes formulas as they come; ours does not."""
    import streamlit as st

    assert st.get_option("client.disableDataExport") is True


def test_numbers_stand_to_the_right():
    """A column of numbers, with dashes and "never" among them, is told from one of texts."""
    assert _is_numeric([count_text(3), "never", us_text(None)])
    assert _is_numeric([1, 2.5])
    assert not _is_numeric([count_text(3), "vLLM default"])
    assert not _is_numeric(["never", "–"])
