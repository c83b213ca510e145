"""Steps that several tests of sessions take: keep one, share it, open it by link."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from streamlit.testing.v1 import AppTest

from tests.app.apptest import BATCHES, open_app, to_page


def press(at: AppTest, label: str) -> AppTest:
    """Click the one button of that label."""
    next(b for b in at.button if b.label == label).click().run()
    assert not at.exception, at.exception
    return at


def labels(at: AppTest) -> list[str]:
    """Of every button on the page."""
    return [button.label for button in at.button]


def in_address(at: AppTest, name: str) -> str:
    """A parameter of the address bar."""
    found = at.query_params[name]
    return found[0] if isinstance(found, list) else found


def kept_session(data: bytes = BATCHES, name: str = "batches.csv") -> tuple[AppTest, str]:
    """A browser with traffic, kept as a session; the session's id is in its address bar."""
    at = open_app()
    at.file_uploader(key="upload").set_value((name, data, "text/csv")).run()
    to_page(at, "sessions.py")
    press(at, "Keep this work as a session")
    return at, in_address(at, "session")


def share(at: AppTest, role: str) -> str:
    """The key of the link that the owner makes on the Sessions page."""
    to_page(at, "sessions.py")
    before = keys(at)
    press(at, f"Make a link for {role}s")
    (key,) = set(keys(at)) - set(before)
    return key


def keys(at: AppTest) -> list[str]:
    """Keys of the share links that are shown, each as a whole address."""
    queries = [parse_qs(urlsplit(block.value).query) for block in at.code]
    return [query["key"][0] for query in queries if "key" in query]
