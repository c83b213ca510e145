"""Every format is documented for users."""

from __future__ import annotations

from core.readers import FORMATS
from core.readers.options import COLUMN_ROLES
from core.readers.sniff import formats
from tests.conftest import ROOT


def test_every_format_is_documented() -> None:
    """docs/formats.md names each format with its label, and each role of a column."""
    text = (ROOT / "docs" / "formats.md").read_text("utf-8")
    for name, label in FORMATS.items():
        assert f"`{name}`: {label}" in text, name
    for role in COLUMN_ROLES:
        assert f"`{role}`" in text


def test_formats_are_distinct_and_of_their_own_file() -> None:
    """Names are unique, and every format has a reader whose name begins with read_."""
    found = formats()
    assert len({form.name for form in found}) == len(found) == len(FORMATS)
    assert all(form.read.__name__.startswith("read_") for form in found)
