"""The early end of a page, after which its changes are still saved and its address written.

`st.stop()` would end the whole run: nothing could be told or written after it.
"""

from __future__ import annotations

from typing import NoReturn


class PageEnd(Exception):
    """Caught by app/streamlit_app.py."""


def end_page() -> NoReturn:
    """There is nothing more to draw."""
    raise PageEnd
